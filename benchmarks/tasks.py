"""Costs by row, policies and survival, in one run with a rival.

`costs`, `policy` and `survival` compare binary trees on the same 0/1 columns with STreeD: the objective on the training
rows, computed here from what both predict, and the seconds of the whole fit. `curves` compares multiway trees on the
raw columns of the sets that scikit-survival ships with its greedy `SurvivalTree`: concordance and Brier score on rows
held out, over splits. `limits` has policies under a budget, and under a fairness limit, without a rival. Needs
``pip install omtree[bench] scikit-survival``.

    python benchmarks/tasks.py --data DIR [--part costs policy limits survival curves]
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from omtree import OptimalPolicyTree, OptimalSurvivalTree, OptimalTreeClassifier
from omtree.constraints import AnswerShare, StatisticalParity
from omtree.fit.policy_scores import Scorer
from omtree.model.survival_scores import Censoring, brier_scores, concordance
from omtree.sources.lifetimes import Lifetimes

#: Fits of each model; the quickest counts.
REPEATS = 3
CURVES = ("gbsg2", "whas500", "flchain")
SPLITS = 5


def quickest(make: Callable[[], Any]) -> tuple[Any, float]:
    """A fitted model, and the seconds of the quickest of some fits."""
    best = math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns
        for _ in range(REPEATS):
            started = time.perf_counter()
            model = make()
            best = min(best, time.perf_counter() - started)
            if best > 1.0:
                break
    return model, best


def compared(label: str, depth: int, found: list[tuple[float, float]]) -> tuple[tuple[str, ...], float]:
    """A line about objective and seconds of both, and the ratio of the seconds."""
    (ours, own), (theirs, rival) = found
    line = (label, str(depth), f"{ours:.5f}", f"{theirs:.5f}", f"{own:.3f}", f"{rival:.3f}", f"{own / rival:.2f}")
    return line, own / rival


HEAD = ("task", "depth", "ours", "STreeD", "seconds ours", "seconds STreeD", "ratio")


def _mean(ratios: list[float]) -> tuple[str, ...]:
    return ("geometric mean", "", "", "", "", "", f"{math.exp(np.mean(np.log(ratios))):.2f}")


def costs(folder: Path) -> Iterator[tuple[str, ...]]:
    """Costs of the answers by row."""
    from pystreed import STreeDInstanceCostSensitiveClassifier

    frame = pd.read_csv(folder / "costs-maxsat.csv")
    charges = frame.filter(regex="^cost_").to_numpy()
    X, y = frame.filter(regex=r"^b\d").to_numpy(dtype=int), frame["best"].to_numpy()
    every = np.arange(len(y))
    yield HEAD
    ratios = []
    for depth in (3, 4, 5):
        ours, own = quickest(
            lambda depth=depth: OptimalTreeClassifier(
                max_depth=depth, splits="binary", min_samples_leaf=1, time_limit=None
            ).fit(X, y, costs=charges)
        )
        assert ours.certificate_.status == "optimal"
        theirs, rival = quickest(lambda depth=depth: STreeDInstanceCostSensitiveClassifier(depth).fit(X, charges))
        said = (charges[every, ours.predict(X)].mean(), charges[every, theirs.predict(X)].mean())
        line, ratio = compared("mean cost", depth, [(said[0], own), (said[1], rival)])
        ratios.append(ratio)
        yield line
    yield _mean(ratios)


def policy(folder: Path) -> Iterator[tuple[str, ...]]:
    """Mean reward of policies by the scores of three methods."""
    from pystreed import STreeDPrescriptivePolicyGenerator

    frame = pd.read_csv(folder / "policy-warfarin-train.csv")
    X = frame.filter(regex=r"^b\d").to_numpy(dtype=int)
    names = ["treatment", "outcome", "propensity", "model_0", "model_1", "model_2"]
    taken, outcome, chance = (frame[name].to_numpy() for name in names[:3])
    expected = frame[names[3:]].to_numpy()
    every = np.arange(len(frame))
    yield HEAD
    ratios = []
    for method in ("ipw", "dm", "dr"):
        scorer = Scorer(method, 1e-9, 2, 0)
        rewards = scorer(X, None, taken, outcome.astype(float), np.ones(len(X)), 3, chance, expected).rewards
        for depth in (3, 4):
            ours, own = quickest(
                lambda depth=depth, method=method: OptimalPolicyTree(
                    max_depth=depth, splits="binary", min_samples_leaf=1, time_limit=None, method=method, clip=1e-9
                ).fit(X, taken, outcome, propensity=chance, outcome_model=expected)
            )
            assert ours.certificate_.status == "optimal"
            theirs, rival = quickest(
                lambda depth=depth, method=method: STreeDPrescriptivePolicyGenerator(
                    depth, teacher_method=method.upper()
                ).fit(X, frame[names].to_numpy())
            )
            said = (rewards[every, ours.predict(X)].mean(), rewards[every, theirs.predict(X)].mean())
            line, ratio = compared(f"reward, {method}", depth, [(said[0], own), (said[1], rival)])
            ratios.append(ratio)
            yield line
    yield _mean(ratios)


def limits(folder: Path) -> Iterator[tuple[str, ...]]:
    """Doubly robust policies for warfarin under a limit on dose 1, and parity of it between the values of b1."""
    frame = pd.read_csv(folder / "policy-warfarin-train.csv")
    X = frame.filter(regex=r"^b\d")
    taken, outcome, chance = (frame[name].to_numpy() for name in ("treatment", "outcome", "propensity"))
    expected = frame[["model_0", "model_1", "model_2"]].to_numpy()
    yield "limits", "depth", "reward", "share of dose 1", "difference", "status", "seconds"
    for depth in (2, 3):
        for wanted in ((), (AnswerShare(1, at_most=0.4),), (StatisticalParity("b1", 0.05, class_=1),)):
            model, seconds = quickest(
                lambda depth=depth, wanted=wanted: OptimalPolicyTree(
                    max_depth=depth, splits="binary", time_limit=60, constraints=wanted
                ).fit(X, taken, outcome, propensity=chance, outcome_model=expected)
            )
            said = model.predict(X) == 1
            apart = abs(said[X["b1"] == 1].mean() - said[X["b1"] == 0].mean())
            figures = (f"{model.value_.policy.value:.5f}", f"{said.mean():.4f}", f"{apart:.4f}")
            title = wanted[0].title if wanted else "none"
            yield title, str(depth), *figures, model.certificate_.status, f"{seconds:.2f}"


def survival(folder: Path) -> Iterator[tuple[str, ...]]:
    """Half the mean deviance of survival trees."""
    from pystreed import STreeDSurvivalAnalysis
    from pystreed.cstreed import SAData

    class Runs(STreeDSurvivalAnalysis):  # type: ignore[misc]
        """The same with events that numpy of today can hand over."""

        def _compute_baseline_cumulative_hazard_function(self, events: Any, times: Any) -> Any:
            return super()._compute_baseline_cumulative_hazard_function(np.asarray(events).astype(int), times)

        def _process_extra_data(self, X: Any, events: Any) -> list[Any]:
            return [SAData(1 if events is None else int(event), -1.0) for event in (X if events is None else events)]

    frame = pd.read_csv(folder / "survival-acath.csv")
    X = frame.filter(regex=r"^b\d").to_numpy(dtype=int)
    y = _target(frame["event"].to_numpy(dtype=bool), frame["time"].to_numpy(dtype=float))
    lifetimes = Lifetimes.of(y["time"], y["event"], None, np.ones(len(y)))
    yield HEAD
    ratios = []
    for depth in (2, 3, 4):
        ours, own = quickest(
            lambda depth=depth: OptimalSurvivalTree(
                max_depth=depth, splits="binary", min_samples_leaf=1, time_limit=None
            ).fit(X, y)
        )
        assert ours.certificate_.status == "optimal"
        theirs, rival = quickest(lambda depth=depth: Runs(max_depth=depth).fit(X, y))
        said = (_deviance(lifetimes, ours.predict(X)), _deviance(lifetimes, theirs.predict(X)))
        line, ratio = compared("deviance", depth, [(said[0], own), (said[1], rival)])
        ratios.append(ratio)
        yield line
    yield _mean(ratios)


def _target(events: np.ndarray, times: np.ndarray) -> np.ndarray:
    y = np.zeros(len(times), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = events, times
    return y


def _deviance(lifetimes: Lifetimes, groups: np.ndarray) -> float:
    """Half the mean deviance where rows of equal prediction have a hazard of their own."""
    total = 0.0
    for group in np.unique(groups):
        inside = groups == group
        events, exposure = lifetimes.events[inside], lifetimes.exposure[inside]
        risk = events.sum() / exposure.sum() if exposure.sum() > 0 else 0.0
        logarithm = np.log(np.where(events, risk * exposure, 1.0))
        total += float((risk * exposure - events - logarithm).sum())
    return total / len(groups)


def curves(folder: Path) -> Iterator[tuple[str, ...]]:
    """Concordance and Brier score on held-out rows, of trees whose size is chosen by folds of the training rows."""
    from sksurv.tree import SurvivalTree

    yield "set", "rows", "C ours", "C SurvivalTree", "Brier ours", "Brier SurvivalTree", "leaves ours / theirs"
    for name in CURVES:
        X, y = _shipped(name)
        numbers = pd.get_dummies(X, dtype=float)
        rows = []
        for seed in range(SPLITS):
            train, test = train_test_split(np.arange(len(X)), test_size=0.3, random_state=seed, stratify=y["event"])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ours = OptimalSurvivalTree(max_depth=3, max_leaves="auto", time_limit=60).fit(X.iloc[train], y[train])
                filled = numbers.fillna(numbers.iloc[train].median())
                theirs = _tuned(SurvivalTree, filled.iloc[train], y[train])
            lines = []
            for risk, survive in (
                (ours.predict(X.iloc[test]), ours.predict_survival_function(X.iloc[test])),
                (theirs.predict(filled.iloc[test]), theirs.predict_survival_function(filled.iloc[test])),
            ):
                own = y[test]
                moments = np.quantile(own["time"][own["event"]], np.linspace(0.1, 0.9, 50))
                survival = np.array([curve(moments) for curve in survive])
                censoring = Censoring(own["time"], own["event"])
                scores = brier_scores(censoring, own["time"], own["event"], survival, moments)
                lines += [concordance(own["time"], own["event"], risk), float(scores.mean())]
            rows.append([*lines, len(ours.rules_), theirs.tree_.n_leaves])
        c_own, b_own, c_rival, b_rival, leaves, others = np.mean(rows, axis=0)
        figures = [f"{value:.4f}" for value in (c_own, c_rival, b_own, b_rival)]
        yield name, str(len(X)), *figures, f"{leaves:.1f} / {others:.1f}"


def _shipped(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A set of scikit-survival's, nominal columns as texts."""
    from sksurv import datasets

    X, y = getattr(datasets, f"load_{name}")()
    event, moment = y.dtype.names
    keep = y[moment] > 0
    X = X.drop(columns="chapter", errors="ignore")  # the cause of death is known after it only
    return X[keep].reset_index(drop=True), _target(y[event][keep], y[moment][keep].astype(float))


def _tuned(kind: Any, X: pd.DataFrame, y: np.ndarray) -> Any:
    """The greedy tree of at most three levels, its leaves chosen by concordance over five folds."""
    from sklearn.model_selection import GridSearchCV

    tree = kind(max_depth=3, min_samples_leaf=max(1, len(X) // 100), random_state=0)
    return GridSearchCV(tree, {"max_leaf_nodes": [2, 3, 4, 5, 6, 7, 8]}, cv=5).fit(X, y).best_estimator_


PARTS: dict[str, Callable[[Path], Iterator[tuple[str, ...]]]] = {
    "costs": costs,
    "policy": policy,
    "limits": limits,
    "survival": survival,
    "curves": curves,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("."), help="folder of costs-maxsat.csv and the others")
    parser.add_argument("--part", nargs="+", choices=[*PARTS], default=[*PARTS])
    given = parser.parse_args()
    for part in given.part:
        print(f"\n{part}")
        for line in PARTS[part](given.data):
            print("| " + " | ".join(line) + " |", flush=True)


if __name__ == "__main__":
    main()
