"""Other objectives than the error, in one run with a rival: F1, costs with prices of tests, and regression.

`f1`, `prices` and `streed` compare binary trees on the same 0/1 columns with STreeD; `cart` compares regression trees
of the same size with scikit-learn's, on training loss over the same thresholds and on held-out data over thresholds of
its own choice; `flights` times one large fit. Seconds beside STreeD's are those of the processor, so that what else the
machine does does not count, and the least of up to five fits in a row: every fit has one thread. Needs
``pip install omtree[bench]``.

    python benchmarks/objectives.py --data DIR [--part f1 prices streed cart flights]
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.constraints import Budget

F1_SETS = ["breast-cancer", "house-votes-84", "kr-vs-kp", "monk1", "monk2", "monk3", "spect", "tic-tac-toe"]
REGRESSION_SETS = ["airfoil", "auto-mpg", "energy-heating", "bike-sharing-hour", "wine-quality-red"]
DROPPED = {"bike-sharing-hour": ["casual", "registered", "instant", "dteday"], "auto-mpg": ["car_name"]}
#: Thresholds per column in the 0/1 columns of the comparison with STreeD.
THRESHOLDS = 7
#: A fit beside STreeD's is repeated so often, but not once it has taken so many seconds.
TURNS, ENOUGH_SECONDS = 5, 2.0


def timed(model: Any, X: Any, y: Any) -> tuple[Any, float]:
    """A fitted model and the seconds its whole `fit` took."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # constant columns
        model.fit(X, y)
    return model, time.perf_counter() - started


def least_time(fit: Callable[[], Any]) -> float:
    """The least of the processor's seconds that a fit takes, by several turns."""
    seconds: list[float] = []
    while len(seconds) < TURNS and sum(seconds) < ENOUGH_SECONDS:
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # constant columns
            fit()
        seconds.append(time.process_time() - started)
    return min(seconds)


def regression(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features as numbers, rows with missing cells left out for the rivals' sake, and the target."""
    frame = pd.read_csv(folder / f"{name}.csv").drop(columns=DROPPED.get(name, [])).dropna()
    return frame.drop(columns="target").astype(float), frame["target"].to_numpy(dtype=float)


def _cuts(values: pd.Series) -> np.ndarray:
    """Thresholds: quantiles, or all values where there are few."""
    distinct = np.unique(values)
    if len(distinct) <= THRESHOLDS + 1:
        return distinct[1:]
    return np.unique(np.quantile(values, np.arange(1, THRESHOLDS + 1) / (THRESHOLDS + 1)))


def zero_one(X: pd.DataFrame) -> np.ndarray:
    """One column per threshold."""
    columns = [(X[name] >= cut).to_numpy(dtype=int) for name in X for cut in _cuts(X[name])]
    return np.unique(np.stack(columns, axis=1), axis=1)


def f1(folder: Path, depths: list[int]) -> Iterator[tuple[str, ...]]:
    """F1 of the best binary tree, ours and STreeD's."""
    from pystreed import STreeDClassifier

    yield "set", "depth", "F1 ours", "F1 STreeD", "seconds ours", "seconds STreeD", "ratio"
    ratios = []
    for name in F1_SETS:
        frame = pd.read_csv(folder / "binary" / f"{name}_enc.csv")
        X, y = frame.drop(columns="target").to_numpy(dtype=int), pd.factorize(frame["target"], sort=True)[0]
        for depth in depths:
            ours = OptimalTreeClassifier(
                max_depth=depth,
                objective="f1",
                splits="binary",
                binning="exact",
                min_samples_leaf=1,
                time_limit=300,
            )
            rival = STreeDClassifier("f1-score", max_depth=depth, min_leaf_node_size=1, time_limit=300)
            own, theirs = (least_time(partial(model.fit, X, y)) for model in (ours, rival))
            here, there = f1_score(y, ours.predict(X)), f1_score(y, rival.predict(X))
            assert here >= there - 1e-9, f"{name} depth {depth}: F1 {here} is below {there}"
            ratios.append(own / theirs)
            yield (
                name,
                str(depth),
                f"{here:.4f}",
                f"{there:.4f}",
                f"{own:.4f}",
                f"{theirs:.4f}",
                f"{own / theirs:.2f}",
            )
    yield "geometric mean", "", "", "", "", "", f"{math.exp(np.mean(np.log(ratios))):.2f}"


@dataclass(frozen=True)
class Priced:
    """Columns as codes with the price of testing each, classes, and what errors cost.

    In an ordered column every threshold between codes is a test, in another one every code.
    """

    X: pd.DataFrame
    y: np.ndarray
    costs: list[list[float]]
    price: dict[str, float]
    groups: dict[str, tuple[str, float]]
    ordered: bool = True


def priced_sets(folder: Path) -> Iterator[tuple[str, Priced]]:
    """Tables with prices; groups of tests only where the discount is the same for all of a group.

    Elsewhere STreeD's price depends on the order of the tests.
    """
    for name, set_name in (("tictactoe", "cs_tictactoe"), ("annealing", "cs_annealing")):
        frame = pd.read_csv(folder / "costs" / f"{set_name}.csv", dtype=int)
        y = pd.factorize(frame.pop("target"), sort=True)[0]
        lines = (folder / "costs" / f"{name}-middle-costs.csv").read_text().splitlines()
        split = next(i for i, line in enumerate(lines) if line.startswith("Attribute"))
        costs = [[float(cell) for cell in line.split()] for line in lines[:split]]
        price = {line.split()[0]: float(line.split()[1]) for line in lines[split + 1 :] if line.strip()}
        yield name, Priced(frame, y, costs, price, {}, ordered=name == "annealing")
    frame = pd.read_csv(folder / "heart-cleveland.csv").dropna()
    y = (frame.pop("target") > 0).to_numpy(dtype=int)
    tests = pd.read_csv(folder / "heart-test-costs.csv").set_index("feature")
    codes = pd.DataFrame(
        {name: np.searchsorted(_cuts(frame[name]), frame[name].to_numpy(), side="right") for name in frame}
    )
    discounts = (tests["cost"] - tests["cost_once_group_paid"]).groupby(tests["group"]).nunique()
    groups = {
        str(name): (str(test["group"]), float(test["cost_once_group_paid"]))
        for name, test in tests.iterrows()
        if isinstance(test["group"], str) and discounts[test["group"]] == 1
    }
    price = {str(name): float(test["cost"]) for name, test in tests.iterrows()}
    yield "heart-cleveland", Priced(codes, y, [[0.0, 200.0], [400.0, 0.0]], price, groups)


def paid_by(
    node: Any, case: Priced, flags: np.ndarray, owner: list[str], rows: np.ndarray, tested: frozenset[str]
) -> float:
    """What the errors and the tests of STreeD's tree cost."""
    if node.is_leaf_node():
        budget = Budget(case.price, groups=case.groups or None)
        errors = sum(case.costs[label][int(node.label)] for label in case.y[rows])
        return errors + len(rows) * budget.price(list(tested))
    inside = flags[rows, node.feature] == 1
    more = tested | {owner[node.feature]}
    return paid_by(node.left_child, case, flags, owner, rows[~inside], more) + paid_by(
        node.right_child, case, flags, owner, rows[inside], more
    )


def prices(folder: Path, depths: list[int]) -> Iterator[tuple[str, ...]]:
    """Costs of errors and prices of tests together, of the best binary tree, ours and STreeD's."""
    from pystreed import CostSpecifier, FeatureCostSpecifier, STreeDCostSensitiveClassifier

    yield "set", "depth", "cost ours", "cost STreeD", "seconds ours", "seconds STreeD", "ratio"
    ratios = []
    for name, case in priced_sets(folder):
        columns: list[np.ndarray] = []
        owner: list[str] = []
        tests = []
        for column in case.X:
            codes = case.X[column].to_numpy()
            values = np.unique(codes)
            first = len(columns)
            if case.ordered:
                columns += [codes >= value for value in values[1:]]
            else:
                columns += [codes == value for value in values]
            owner += [column] * (len(columns) - first)
            group, again = case.groups.get(column, ("x", case.price[column]))
            if len(columns) > first:
                tests.append(FeatureCostSpecifier(case.price[column], again, group, first, len(columns) - 1))
        flags = np.stack(columns, axis=1).astype(int)
        X = case.X if case.ordered else case.X.astype(str)
        for depth in depths:
            budget = Budget(case.price, groups=case.groups or None, weight=1.0)
            ours = OptimalTreeClassifier(
                max_depth=depth,
                costs=case.costs,
                constraints=[budget],
                splits="binary",
                binning="exact",
                min_samples_leaf=1,
                time_limit=300,
            )
            rival = STreeDCostSensitiveClassifier(max_depth=depth, min_leaf_node_size=1, time_limit=300)
            own = least_time(partial(ours.fit, X, case.y))
            theirs = least_time(partial(rival.fit, flags, case.y, CostSpecifier(case.costs, tests)))
            here = ours.certificate_.value
            there = paid_by(rival.get_tree(), case, flags, owner, np.arange(len(case.y)), frozenset())
            assert here <= there * (1 + 1e-6), f"{name} depth {depth}: {here} is above {there}"
            ratios.append(own / theirs)
            yield (
                name,
                str(depth),
                f"{here:.6g}",
                f"{there:.6g}",
                f"{own:.4f}",
                f"{theirs:.4f}",
                f"{own / theirs:.2f}",
            )
    yield "geometric mean", "", "", "", "", "", f"{math.exp(np.mean(np.log(ratios))):.2f}"


def streed(folder: Path, depths: list[int]) -> Iterator[tuple[str, ...]]:
    """Squared error of the best binary tree, ours and STreeD's, on the same 0/1 columns."""
    from pystreed import STreeDRegressor

    yield "set", "depth", "loss ours", "loss STreeD", "seconds ours", "seconds STreeD", "ratio"
    ratios = []
    for name in REGRESSION_SETS:
        frame, y = regression(folder, name)
        X = zero_one(frame)
        for depth in depths:
            ours = OptimalTreeRegressor(
                max_depth=depth, splits="binary", binning="exact", min_samples_leaf=5, time_limit=300
            )
            rival = STreeDRegressor("regression", max_depth=depth, min_leaf_node_size=5, time_limit=300)
            own, theirs = (least_time(partial(model.fit, X, y)) for model in (ours, rival))
            here, there = ((y - model.predict(X)) ** 2 for model in (ours, rival))
            assert here.sum() <= there.sum() * (1 + 1e-6), f"{name} depth {depth}: {here.sum()} above {there.sum()}"
            ratios.append(own / theirs)
            yield (
                name,
                str(depth),
                f"{here.sum():.6g}",
                f"{there.sum():.6g}",
                f"{own:.4f}",
                f"{theirs:.4f}",
                f"{own / theirs:.2f}",
            )
    yield "geometric mean", "", "", "", "", "", f"{math.exp(np.mean(np.log(ratios))):.2f}"


def cart(folder: Path, depths: list[int]) -> Iterator[tuple[str, ...]]:
    """Training loss over the same thresholds, and R2 on held-out data, beside scikit-learn's tree."""
    yield "set", "depth", "status", "loss / CART's", "R2 train", "R2 test", "R2 test CART", "seconds", "seconds CART"
    for name in REGRESSION_SETS:
        X, y = regression(folder, name)
        for depth in depths:
            fixed, _ = timed(OptimalTreeRegressor(max_depth=depth, binning="quantile", time_limit=60), X, y)
            # The same thresholds for both: CART is given the number of the bin in place of the value.
            binned = np.stack(
                [
                    np.searchsorted(feature.thresholds, X.iloc[:, feature.column], side="right")
                    for feature in fixed.rules_.features
                ],
                axis=1,
            )
            size = {"max_depth": depth, "max_leaf_nodes": 2**depth, "min_samples_leaf": 0.01, "random_state": 0}
            greedy = DecisionTreeRegressor(**size).fit(binned, y)
            loss, other = (
                float(((y - predicted) ** 2).sum()) for predicted in (fixed.predict(X), greedy.predict(binned))
            )
            assert loss <= other * (1 + 1e-9), f"{name} depth {depth}: {loss} is above {other}"
            scores = []
            for seed in range(5):
                train, test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
                ours, own = timed(OptimalTreeRegressor(max_depth=depth, time_limit=60), train, y_train)
                rival, theirs = timed(DecisionTreeRegressor(**size), train, y_train)
                scores.append(
                    (
                        r2_score(y_train, ours.predict(train)),
                        r2_score(y_test, ours.predict(test)),
                        r2_score(y_test, rival.predict(test)),
                        own,
                        theirs,
                    )
                )
            means = np.mean(scores, axis=0)
            yield (
                name,
                str(depth),
                fixed.certificate_.status,
                f"{loss / other:.3f}",
                *(f"{mean:.3f}" for mean in means[:3]),
                f"{means[3]:.2f}",
                f"{means[4]:.3f}",
            )


def flights(folder: Path, depths: list[int]) -> Iterator[tuple[str, ...]]:
    """Arrival delays of three million flights, from the parts of the date, the distance and the airports."""
    frame = pd.read_parquet(folder / "flights-3m.parquet")
    date = frame["date"].dt
    X = pd.DataFrame(
        {
            "month": date.month,
            "day": date.day,
            "weekday": date.day_of_week,
            "hour": date.hour + date.minute / 60,
            "distance": frame["distance"],
            "origin": frame["origin"],
            "destination": frame["destination"],
        }
    )
    y = frame["target"].to_numpy(dtype=float)
    yield "depth", "rows", "status", "R2", "R2 bound", "seconds", "seconds CART", "R2 CART"
    numbers = X.assign(**{name: pd.factorize(X[name])[0] for name in ("origin", "destination")})
    for depth in depths:
        ours, own = timed(OptimalTreeRegressor(max_depth=depth, time_limit=60), X, y)
        rival, theirs = timed(DecisionTreeRegressor(max_depth=depth, min_samples_leaf=0.01), numbers, y)
        whole = float(((y - y.mean()) ** 2).sum())
        certificate = ours.certificate_
        yield (
            str(depth),
            f"{len(y):,}",
            certificate.status,
            f"{1 - certificate.value / whole:.4f}",
            f"{1 - certificate.bound / whole:.4f}",
            f"{own:.1f}",
            f"{theirs:.1f}",
            f"{r2_score(y, rival.predict(numbers)):.4f}",
        )


PARTS = {
    "f1": (f1, [2, 3, 4]),
    "prices": (prices, [3, 4]),
    "streed": (streed, [2, 3, 4]),
    "cart": (cart, [2, 3]),
    "flights": (flights, [2, 3]),
}


def main() -> None:
    """Print one table per part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--depth", nargs="+", type=int)
    arguments = parser.parse_args()
    for part in arguments.part:
        table, depths = PARTS[part]
        print(f"\n## {part}\n")
        for number, cells in enumerate(table(arguments.data, arguments.depth or depths)):
            print("| " + " | ".join(cells) + " |", flush=True)
            if number == 0:
                print("|" + "---|" * len(cells), flush=True)


if __name__ == "__main__":
    main()
