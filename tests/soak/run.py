"""Everything at random for as long as there is time: ``python tests/soak/run.py --seconds 3600``, or ``make soak``.

Tiny tables are solved under every objective, constraint, structure, scale and pattern of missing cells, and compared
with brute force; large ones are cut short by limits and by Ctrl-C. What is wrong, late or crashed is written with the
kind and the seed that bring it back: ``python tests/soak/run.py --kind scores --seed 17``.
"""

from __future__ import annotations

import argparse
import collections
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import omtree
from engines.reductions.test_conflicts import falls
from estimators import test_every_constraint as constrained
from estimators.test_every_objective import CLASSES, LIMITS, NUMBERS, Case, attained, best_of_all
from helpers.charged_brute import best_charged, tiny_charged
from helpers.damaged_models import damage, fault_of, saved_models
from helpers.reference_demands import DEMANDS
from helpers.tiny_frames import Tiny, code, random_grouped, random_regression
from omtree.constraints import Monotone
from omtree.export.saving import from_json
from soak import limits as cut_short
from soak import real_numbers

#: How the losses grow with the targets.
DEGREES = {"squared": 2, "huber": 2, "absolute": 1, "quantile": 1, "poisson": 1}
#: Bytes of memory; brute force that would need more is passed over, and counted.
MEMORY = 8 << 30
#: Seconds of processor time; brute force that takes longer is passed over as well.
PATIENCE = 30.0
#: Seconds from one table of counts to the next.
EVERY = 300.0
VERDICTS = ("fine", "wrong", "late", "crashed", "unproven", "too large")
#: Those that are no failures.
PASSED = ("fine", "unproven", "too large")
#: Part of the weight that a leaf has at least; no sum of weights is just that.
SHARE = 0.0437


class Wrong(Exception):
    """An answer that is not the right one."""


class Late(Exception):
    """An answer that came too late, or was not proven though there was time."""


class TooLarge(Exception):
    """A brute force that would take too long."""


class Unproven(Exception):
    """A right answer whose search knew when it began that it might not be able to prove it."""


def demand(holds: bool, what: str) -> None:
    """Complain unless it holds."""
    if not holds:
        raise Wrong(what)


def some_weights(rng: np.random.Generator, n: int) -> np.ndarray:
    """All one, whole, fractions, of any size, or all of another scale."""
    kind = rng.integers(5)
    if kind == 0:
        return np.ones(n)
    if kind == 1:
        return rng.integers(1, 6, n).astype(float)
    if kind == 2:
        return np.asarray(rng.uniform(1.0, 3.0, n))
    if kind == 3:
        return rng.integers(1, 6, n) * 10.0 ** rng.integers(-12, 13)
    return rng.integers(1, 13, n) / 4


def with_holes(rng: np.random.Generator, data: Tiny) -> Tiny:
    """Single cells, or none, go missing; a column keeps two values."""
    X = data.X.copy()
    for name in X.columns:
        holes = X[name].mask(rng.random(len(X)) < rng.choice([0.0, 0.0, 0.15]))
        if holes.nunique(dropna=False) > 1 and len(X.assign(**{name: holes}).drop_duplicates()) <= 11:
            X[name] = holes
    return replace(data, X=X)


def some_limits(rng: np.random.Generator) -> dict[str, Any]:
    """Depth, leaves and categories."""
    return dict(LIMITS[rng.integers(len(LIMITS))])


def compare(model: Any, data: Tiny, case: Case, expected: float, scale: float) -> None:
    """The value is the expected one, proven, and what the model attains."""
    certificate = model.certificate_
    if certificate.status not in ("optimal", "stopped"):
        raise Late(f"{certificate.status} after {certificate.total_seconds:.1f} s")
    slack = 1e-9 * max(scale, abs(expected))
    demand(abs(certificate.value - expected) <= slack, f"value {certificate.value}, the least is {expected}")
    demand(certificate.bound <= expected + slack, f"bound {certificate.bound} above {expected}")
    reached = attained(model, data, case)
    demand(abs(reached - certificate.value) <= 1e-8 * max(scale, abs(expected)), f"predictions cost {reached}")
    again = from_json(model.to_json())
    demand(bool((again.predict(data.X) == model.predict(data.X)).all()), "another model after saving")
    if certificate.status == "stopped":
        raise Unproven(f"bound {certificate.bound}")


def classes(rng: np.random.Generator, names: list[str]) -> None:
    """An objective for classes against brute force."""
    name = str(rng.choice(names))
    case, options = CLASSES[name], some_limits(rng)
    data = with_holes(rng, random_grouped(rng, case.n_classes))
    data = replace(data, weight=some_weights(rng, len(data.y)))
    structure = str(rng.choice(["tree", "rules"]))
    tree = {"splits": str(rng.choice(["multiway", "binary"]))} if structure == "tree" else {}
    model = omtree.OptimalTreeClassifier(
        objective="error" if name == "costs" else name,
        structure=structure,
        binning="exact",
        min_samples_leaf=SHARE,
        **{key: value for key, value in case.parameters.items() if key != "objective"},
        **options,
        **tree,
    )
    # The brute force has leaves of a weight of one.
    least = SHARE * float(data.weight.sum())
    best = best_of_all(replace(data, weight=data.weight / least), code(data.X), case, structure, options, **tree)
    model.fit(data.X, data.y, sample_weight=data.weight)
    by_weight = not case.score and name != "balanced_error"
    expected = 1 - best.value if case.score else best.value * (least if by_weight else 1.0)
    compare(model, data, case, expected, float(data.weight.sum()) if by_weight else 1.0)


def losses(rng: np.random.Generator) -> None:
    """An objective of sums for classes."""
    classes(rng, [name for name, case in CLASSES.items() if not case.score])


def scores(rng: np.random.Generator) -> None:
    """A score of the whole model."""
    classes(rng, [name for name, case in CLASSES.items() if case.score])


def numbers(rng: np.random.Generator) -> None:
    """An objective for numbers against brute force, in any unit."""
    name = str(rng.choice(list(NUMBERS)))
    case, options = NUMBERS[name], some_limits(rng)
    data = with_holes(rng, random_regression(rng, case.counts))
    structure = str(rng.choice(["tree", "rules"]))
    tree = {"splits": str(rng.choice(["multiway", "binary"]))} if structure == "tree" else {}
    best = best_of_all(data, code(data.X), case, structure, options, **tree)
    unit = float(10.0 ** rng.integers(-60, 61)) if rng.random() < 0.5 else 1.0
    weigh = float(10.0 ** rng.integers(-60, 61)) if rng.random() < 0.5 else 1.0
    parameters = dict(case.parameters)
    if "delta" in parameters:
        parameters["delta"] *= unit
    model = omtree.OptimalTreeRegressor(
        objective=name,
        structure=structure,
        binning="exact",
        min_samples_leaf=1.0 / float(data.weight.sum()),
        **parameters,
        **options,
        **tree,
    ).fit(data.X, data.y * unit, sample_weight=data.weight * weigh)
    factor = unit ** DEGREES[name] * weigh
    certificate = model.certificate_
    if certificate.status != "optimal":
        raise Late(f"{certificate.status} after {certificate.total_seconds:.1f} s")
    whole = float(data.weight @ (np.abs(data.y) + 1) ** 2)
    demand(abs(certificate.value / factor - best.value) <= 1e-9 * whole, f"{certificate.value / factor}, {best.value}")
    demand(certificate.bound / factor <= best.value + 1e-9 * whole, f"bound {certificate.bound / factor}")


def constraints(rng: np.random.Generator) -> None:
    """One or two constraints against brute force."""
    names = [str(name) for name in rng.choice(list(DEMANDS), int(rng.integers(1, 3)), replace=False)]
    if all(name.startswith("Budget") and name.endswith("in the loss") for name in names):
        names = names[:1]  # two prices in one loss are refused
    structure = str(rng.choice(["tree", "rules"]))
    try:
        constrained.check(int(rng.integers(2**31)), structure, tuple(names))
    except AssertionError as error:
        raise Wrong(f"{names} {structure}: {error}") from error
    except ValueError as error:
        if "contradict each other" not in str(error):
            raise  # two that no model can keep are told so before the search


def monotone(rng: np.random.Generator) -> None:
    """No row that can be predicted goes the wrong way, whatever its other cells are."""
    data = with_holes(rng, random_regression(rng))
    regression = bool(rng.integers(2))
    y = data.y if regression else (data.y > np.median(data.y)).astype(int)
    coded = code(data.X)
    ordered = [f.name for f in coded.features if f.kind != "nominal"]
    if not ordered or len(set(y)) < 2:
        return
    direction = int(rng.choice([-1, 1]))
    kind = omtree.OptimalTreeRegressor if regression else omtree.OptimalTreeClassifier
    options = {"max_depth": int(rng.integers(1, 4)), "max_leaves": int(rng.integers(2, 6)), "min_samples_leaf": 1}
    model = kind(binning="exact", constraints=[Monotone(ordered[0], direction)], **options)
    model.fit(data.X, y, sample_weight=data.weight)
    cells: dict[str, list[Any]] = {}
    for feature in coded.features:
        seen = data.X[feature.name].dropna().unique().tolist()
        cells[feature.name] = sorted(seen) if feature.thresholds is not None else list(feature.levels or seen)
        if feature.name != ordered[0]:
            cells[feature.name] += [None] if feature.kind == "numeric" else ["never seen", None]
    wrong = falls(model, {name: cells[name] for name in data.X.columns}, ordered[0], direction)
    demand(not wrong, f"the wrong way at {wrong[:1]}")


def cut(rng: np.random.Generator, *, interrupt: bool) -> None:
    """A fit of a large table that is cut short."""
    cases = list(cut_short.every_case())
    case = cases[rng.integers(len(cases))]
    outcome = cut_short.run(case, float(rng.choice([0.05, 0.2, 0.5])), interrupt=interrupt)
    demand(not outcome.problems, str(outcome))
    if not outcome.ok:
        raise Late(str(outcome))


def damaged(rng: np.random.Generator) -> None:
    """A damaged model file: refused in a sentence, or a model that works."""
    saved = saved_models()[rng.integers(len(saved_models()))]
    text, done = damage(saved.text, rng)
    fault = fault_of(saved, text)
    demand(not fault, f"{saved.name}, {done}: {fault}")


def between(rng: np.random.Generator) -> None:
    """Real numbers: bounds at short limits against long fits, and no tree worse than the greedy one."""
    question = real_numbers.some_question(rng)
    try:
        found = real_numbers.faults(question)
    except ValueError as error:
        if "too many for binning='exact'" not in str(error):
            raise  # all cuts beside missing cells are refused in a sentence
        return
    demand(not found, f"{question.parameters}, {len(question.y)} rows: {'; '.join(found)}")


def policies(rng: np.random.Generator) -> None:
    """What every answer costs for every row, against brute force."""
    cells, _, charges, _ = tiny_charged(int(rng.integers(2**31)), int(rng.integers(2, 4)))
    structure = str(rng.choice(["tree", "rules"]))
    limits = {"max_depth": int(rng.integers(1, 4)), "max_leaves": int(rng.integers(2, 5))}
    model = omtree.OptimalPolicyTree(structure=structure, min_samples_leaf=1, binning="exact", **limits)
    model.fit(cells, rewards=-charges)
    least = best_charged(
        cells, charges - charges.min(axis=1, keepdims=True), np.ones(len(cells)), structure=structure, **limits
    )
    certificate = model.certificate_
    demand(abs(certificate.value - least) <= 1e-9 * max(1.0, least), f"value {certificate.value}, the least is {least}")
    demand(certificate.bound <= least + 1e-9, f"bound {certificate.bound} above {least}")
    if certificate.status != "optimal":
        raise Late(f"{certificate.status} after {certificate.total_seconds:.1f} s")


KINDS: dict[str, Callable[[np.random.Generator], None]] = {
    "losses": losses,
    "scores": scores,
    "numbers": numbers,
    "constraints": constraints,
    "monotone": monotone,
    "real numbers": between,
    "policies": policies,
    "damaged": damaged,
    "limits": lambda rng: cut(rng, interrupt=False),
    "interrupts": lambda rng: cut(rng, interrupt=True),
}


def _too_large(number: int, frame: FrameType | None) -> None:
    """Ends a brute force that takes too long; anything else goes on."""
    while frame is not None and not Path(frame.f_code.co_filename).is_relative_to(Path(omtree.__file__).parent):
        if "helpers" in Path(frame.f_code.co_filename).parts:
            raise TooLarge
        frame = frame.f_back


def outcome_of(kind: str, seed: int) -> tuple[str, str]:
    """The verdict on a case, one of `VERDICTS`, and what there is to say about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        signal.signal(signal.SIGVTALRM, _too_large)
        signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE, 1.0)
        try:
            KINDS[kind](np.random.default_rng([seed, *kind.encode()]))
        except TooLarge:
            return "too large", ""
        except Wrong as fault:
            return "wrong", str(fault)
        except Late as fault:
            return "late", str(fault)
        except Unproven as fault:
            return "unproven", str(fault)
        except MemoryError as fault:
            traceback.clear_frames(fault.__traceback__)  # what fills the memory, of which telling needs some
            last = traceback.extract_tb(fault.__traceback__)[-1].filename
            return "too large" if "helpers" in Path(last).parts else "crashed", traceback.format_exc(limit=-4)
        except Exception:
            return "crashed", traceback.format_exc(limit=-4)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    return "fine", ""


def table_of(counts: collections.Counter[tuple[str, str]], kinds: list[str]) -> str:
    """Cases by kind and verdict."""
    head = f"{'kind':<14}" + "".join(f"{verdict:>11}" for verdict in VERDICTS)
    return "\n".join([head, *(f"{k:<14}" + "".join(f"{counts[k, v]:>11}" for v in VERDICTS) for k in kinds)])


def main() -> int:
    """Run cases of all kinds in turns until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--kind", choices=sorted(KINDS))
    parser.add_argument("--seed", type=int, help="One case only, of --kind.")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        print(*outcome_of(arguments.kind or "losses", arguments.seed), sep="\n")
        return 0
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    first = int(time.time())
    print(
        f"late means more than {cut_short.GRACE:g} s + {cut_short.SHARE:.0%} of the limit after it, by the clock or by "
        "the processor time of this process, whichever is less: what other processes take does not count.",
        flush=True,
    )
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    started, number = time.monotonic(), 0
    told = started
    kinds = [arguments.kind] if arguments.kind else list(KINDS)
    while time.monotonic() - started < arguments.seconds:
        if time.monotonic() - told > EVERY:
            told = time.monotonic()
            print(f"after {told - started:.0f} s", table_of(counts, kinds), sep="\n", flush=True)
        kind, seed = kinds[number % len(kinds)], first + number // len(kinds)
        verdict, what = outcome_of(kind, seed)
        counts[kind, verdict] += 1
        if verdict not in PASSED:
            print(f"{verdict}: --kind {kind} --seed {seed}\n  {what}", flush=True)
        number += 1
    print(table_of(counts, kinds))
    return int(any(verdict not in PASSED for _, verdict in counts))


if __name__ == "__main__":
    sys.exit(main())
