"""Scale does not matter: targets and weights times any factor give the same model and the same proof."""

from __future__ import annotations

import numpy as np
import pytest

import omtree
from estimators.test_every_objective import CLASSES, NUMBERS, best_of_all
from helpers.tiny_frames import Tiny, code, random_grouped, random_regression
from omtree.constraints import MCC, EqualOpportunity, FalsePositiveRate, MinConfidence

#: Powers of ten, tiny to huge; those in between are where tolerances used to lie.
POWERS = (-150, -12, -8, 5, 7, 150)
#: How the losses grow with the targets.
DEGREES = {"squared": 2, "huber": 2, "absolute": 1, "quantile": 1, "poisson": 1}
LIMITS = {"max_depth": 2, "max_leaves": 4}


def regressor(name: str, structure: str, unit: float = 1.0) -> omtree.OptimalTreeRegressor:
    """With leaves of a tenth of the weight; parameters that are targets in the same unit as those."""
    parameters = {**NUMBERS[name].parameters}
    if "delta" in parameters:
        parameters["delta"] *= unit
    return omtree.OptimalTreeRegressor(
        objective=name, structure=structure, binning="exact", min_samples_leaf=0.1, **parameters, **LIMITS
    )


def assert_same(model: omtree.OptimalTreeRegressor, reference: omtree.OptimalTreeRegressor, factor: float) -> None:
    """The losses are those of the reference, times a factor; so are the proofs."""
    found, known = model.certificate_, reference.certificate_
    assert (found.status, known.status) == ("optimal", "optimal")
    # A perfect model has the rounding of all targets together.
    whole = abs(reference.loss_by_leaves_[0]) if reference.certificate_.structure == "tree" else known.weight
    assert found.value / factor == pytest.approx(known.value, rel=1e-9, abs=1e-12 * whole)
    assert found.bound / factor == pytest.approx(known.bound, rel=1e-6, abs=1e-9 * whole)


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("name", NUMBERS)
def test_targets(name: str, structure: str) -> None:
    """Targets times a factor: the same loss, times the factor (squared where the loss is)."""
    for seed, power in enumerate(POWERS):
        data = random_regression(np.random.default_rng([seed, 5]), NUMBERS[name].counts)
        splits = "binary" if seed % 2 else "multiway"
        reference = regressor(name, structure).set_params(splits=splits)
        reference.fit(data.X, data.y, sample_weight=data.weight)
        unit = 10.0**power
        model = regressor(name, structure, unit).set_params(splits=splits)
        model.fit(data.X, data.y * unit, sample_weight=data.weight)
        assert_same(model, reference, unit ** DEGREES[name])


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("name", NUMBERS)
def test_weights_of_numbers(name: str, structure: str) -> None:
    """Weights times a factor: the same loss, times the factor."""
    for seed, power in enumerate(POWERS):
        data = random_regression(np.random.default_rng([seed, 6]), NUMBERS[name].counts)
        reference = regressor(name, structure).fit(data.X, data.y, sample_weight=data.weight)
        model = regressor(name, structure).fit(data.X, data.y, sample_weight=data.weight * 10.0**power)
        assert_same(model, reference, 10.0**power)


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("name", CLASSES)
def test_weights_of_classes(name: str, structure: str) -> None:
    """Weights times a factor: the same loss, times the factor; a score stays what it is."""
    case = CLASSES[name]
    for seed, power in enumerate(POWERS):
        data = random_grouped(np.random.default_rng([seed, 7]), case.n_classes)
        parameters = {"objective": name, **case.parameters, **LIMITS, "min_samples_leaf": 0.1, "binning": "exact"}
        model = omtree.OptimalTreeClassifier(structure=structure, **parameters)
        value = model.fit(data.X, data.y, sample_weight=data.weight).certificate_.value
        found = model.fit(data.X, data.y, sample_weight=data.weight * 10.0**power).certificate_
        factor = 1.0 if case.score or name == "balanced_error" else 10.0**power
        assert found.status == "optimal"
        assert found.value / factor == pytest.approx(value, rel=1e-9, abs=1e-12)
        assert found.bound / factor == pytest.approx(value, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize(
    "constraint",
    [FalsePositiveRate(1, at_most=0.4), EqualOpportunity("group", 0.3), MCC(1, at_least=0.2), MinConfidence(0.6)],
    ids=repr,
)
def test_weights_under_constraints(constraint: omtree.Constraint, structure: str) -> None:
    """Under constraints as well, whether there is a model included."""
    solved = 0
    for seed, power in enumerate(POWERS):
        data = random_grouped(np.random.default_rng([seed, 8]))
        model = omtree.OptimalTreeClassifier(
            structure=structure, constraints=[constraint], binning="exact", min_samples_leaf=0.1, **LIMITS
        )
        values = []
        for unit in (1.0, 10.0**power):
            try:
                model.fit(data.X, data.y, sample_weight=data.weight * unit, groups={"group": data.group})
            except omtree.InfeasibleError:
                values.append(-1.0)
                continue
            assert model.certificate_.status == "optimal"
            values.append(model.certificate_.value / unit)
        assert values[1] == pytest.approx(values[0], rel=1e-9, abs=1e-12)
        solved += values[0] >= 0
    assert solved >= len(POWERS) // 3


@pytest.mark.parametrize("name", ["squared", "absolute", "quantile", "huber"])
@pytest.mark.parametrize("shift", [-1e3, 1e9, 1e13])
def test_shifts(name: str, shift: float) -> None:
    """Targets that are far from zero and still differ: the same loss."""
    for seed in range(4):
        data = random_regression(np.random.default_rng([seed, 9]))
        reference = regressor(name, "tree").fit(data.X, data.y, sample_weight=data.weight)
        assert_same(regressor(name, "tree").fit(data.X, data.y + shift, sample_weight=data.weight), reference, 1.0)


@pytest.mark.parametrize("mean", [1e2, 1e4, 1e6])
def test_counts_that_hardly_differ(mean: float) -> None:
    """Poisson losses of large counts of little variation are the least over all trees, in more digits than doubles."""

    def poisson(y: np.ndarray, w: np.ndarray) -> list[tuple[float, float]]:
        exact, weight = y.astype(np.longdouble), w.astype(np.longdouble)
        centre = weight @ exact / weight.sum()
        return [(float(centre), float(weight @ (exact * np.log(exact / centre) - exact + centre)))]

    case = NUMBERS["poisson"]
    for seed in range(3):
        data = random_regression(np.random.default_rng([seed, 10]), counts=True)
        data = Tiny(data.X, data.y + mean, data.weight)
        for splits in ("multiway", "binary"):
            model = omtree.OptimalTreeRegressor(
                objective="poisson", splits=splits, binning="exact", min_samples_leaf=1, **LIMITS
            ).fit(data.X, data.y, sample_weight=data.weight)
            best = best_of_all(data, code(data.X), type(case)(lambda data: poisson), "tree", LIMITS, splits=splits)
            assert model.certificate_.value == pytest.approx(best.value, rel=1e-7)


@pytest.mark.parametrize(
    ("y", "weight", "parameters", "message"),
    [
        ([1e200, -1e200, 0.0, 5e199], None, {}, "are too large for squared error"),
        ([1e-200, -1e-200, 0.0, 5e-201], None, {}, "are too small for squared error"),
        ([1.0, 2.0, 3.0, 4.0], [1e308] * 4, {}, "sample_weight adds up to more than numbers can be"),
        ([1e200, -1e200, 0.0, 5e199], None, {"objective": "huber"}, "delta=1.0 is nothing beside targets that differ"),
    ],
)
def test_what_cannot_be_represented_is_refused(
    y: list[float], weight: list[float] | None, parameters: dict[str, str], message: str
) -> None:
    """Losses that overflow, or vanish, are no losses."""
    X = [[1], [2], [3], [4]]
    with pytest.raises(ValueError, match=message):
        omtree.OptimalTreeRegressor(**parameters).fit(X, y, sample_weight=weight)


def test_equal_targets_far_from_zero() -> None:
    """Targets that are all the same cost nothing, whatever they are."""
    for value in (0.1, 1e13 + 0.1, 1e-170):
        model = omtree.OptimalTreeRegressor(binning="exact").fit([[1], [2], [3]], [value] * 3)
        assert (model.certificate_.value, model.certificate_.leaves) == (0.0, 1)
        assert model.predict([[1]]).tolist() == [value]
