"""Column generation against the oracle: same optimum, true bounds, whatever is switched on or off."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import datasets
from helpers.rule_cases import Tiny, check_model, hard, make_problem, tiny, with_rows
from omtree import OptimalTreeClassifier
from omtree.data.build import make_features, make_table
from omtree.data.columns import read_columns
from omtree.data.table import Table
from omtree.deadline import Deadline
from omtree.engines.rules import Options, Paper, lp_columns, master, pricing, solve, start
from omtree.engines.rules import column_generation as engine
from omtree.engines.rules import run as steps
from omtree.engines.rules.improve import Neighbourhoods
from omtree.engines.rules.pool import ColumnPool
from omtree.problem.graph import Condition
from omtree.problem.problem import ModelLimit, Path, Problem, Solution

PLAIN = Options(pricing="exact", row_pace=0, stabilise=False, warm_start=False, drop_columns=False)


def run(problem: Problem, options: Options | None = None, start: tuple[Path, ...] = ()) -> Solution:
    """The engine, with more time than it can need: a test that hangs fails instead."""
    return solve(problem, options, Deadline(30), start)


def check_optimal(case: Tiny, solution: Solution) -> None:
    """The oracle's optimum, proven; and its linear relaxation where the engine says that it solved it."""
    best = case.best()
    assert best is not None
    assert solution.status == "optimal"
    assert solution.value == pytest.approx(best, abs=1e-9)
    assert solution.bound == solution.value
    check_model(case.problem, solution)
    if solution.lp_value is not None and solution.exact_pricing:
        assert solution.lp_value == pytest.approx(case.lp(), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("seed", range(40))
def test_optimum_of_random_tables(seed: int) -> None:
    """Any kind of features, weights, costs, missing values and limits: the oracle's optimum, proven."""
    check_optimal(tiny(seed), run(tiny(seed).problem))


@pytest.mark.parametrize("seed", range(24))
def test_optimum_where_the_relaxation_is_loose(seed: int) -> None:
    """The optimum is found and proven also where the linear relaxation is below it."""
    check_optimal(hard(seed), run(hard(seed).problem))


def keep_few_columns(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Columns leave the LP above this number, and the pool above three times as many."""
    monkeypatch.setattr(lp_columns, "FEWEST_COLUMNS", most)
    monkeypatch.setattr(lp_columns, "COLUMNS_A_ROW", 0.0)
    monkeypatch.setattr(engine, "MOST_POOL", 3 * most)


@pytest.mark.parametrize("seed", range(24))
def test_a_pool_that_keeps_few_columns(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows at first and columns dropped all the time: the optimum all the same."""
    keep_few_columns(monkeypatch, 20)
    monkeypatch.setattr(master, "FIRST_ROWS", 3)
    check_optimal(hard(seed), run(hard(seed).problem, Options(warm_start=False)))


@pytest.mark.parametrize("seed", [9, 21, 22, 23, 50, 56])
def test_columns_dropped_when_the_relaxation_is_settled(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relaxation that counts as solved while there are new columns: rows are looked for among the columns it has."""
    keep_few_columns(monkeypatch, 10)
    monkeypatch.setattr(master, "FIRST_ROWS", 5)
    monkeypatch.setattr(engine, "LAST_TOLERANCE", 0.2)
    case = tiny(seed, depth=2, leaves=6, n_features=5, max_values=4, n_rows=60, missing=0.0)
    solution = solve(case.problem, Options(warm_start=False), Deadline(1))
    assert solution.bound <= solution.value
    check_model(case.problem, solution)


def test_relaxations_are_loose() -> None:
    """The hard cases are what they are meant to be: in several the relaxation is below the optimum."""
    loose = [hard(seed) for seed in range(40)]
    assert sum(case.lp() < case.best() - 0.1 for case in loose) >= 5


@pytest.mark.parametrize("n_rows", [1, 2])
@pytest.mark.parametrize("seed", range(24))
def test_constraints_over_the_whole_model(seed: int, n_rows: int) -> None:
    """With global rows the optimum is the oracle's, and infeasible is said exactly when there is no model."""
    case = with_rows(seed, n_rows)
    solution = run(case.problem)
    if case.best() is None:
        assert solution.status == "infeasible"
        assert solution.paths == ()
        assert math.isinf(solution.value)
    else:
        check_optimal(case, solution)


def test_some_constraints_are_infeasible_and_some_bind() -> None:
    """The random constraints are of every sort: infeasible, binding and idle."""
    kinds = set()
    for seed in range(40):
        case = with_rows(seed)
        best, free = case.best(), Tiny(dataclasses.replace(case.problem, model_limits=()), case.categories).best()
        kinds.add("infeasible" if best is None else "binding" if best > free + 1e-9 else "idle")
    assert kinds == {"infeasible", "binding", "idle"}


@pytest.mark.parametrize(
    "options",
    [
        Options(pricing="exact"),
        Options(row_pace=0),
        Options(tables=False),
        Options(stabilise=False),
        Options(warm_start=False),
        Options(drop_columns=False),
        Options(improve=False),
        Options(n_jobs=2),
        Options(batch=2, warm_start=False),
        PLAIN,
    ],
    ids=[
        "exact",
        "all rows",
        "no tables",
        "not stabilised",
        "cold start",
        "no dropping",
        "no neighbourhoods",
        "two threads",
        "small batches",
        "plain",
    ],
)
@pytest.mark.parametrize("rows", ["few rows", "many rows"])
def test_accelerations_do_not_change_the_optimum(options: Options, rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each acceleration off, or all: same optimum; also when row generation starts from three rows."""
    if rows == "few rows":
        monkeypatch.setattr(master, "FIRST_ROWS", 3)
        monkeypatch.setattr(master, "MORE_ROWS", 2)
    for seed in range(4):
        check_optimal(hard(seed), run(hard(seed).problem, options))


@pytest.mark.parametrize("options", [Options(), PLAIN, Options(warm_start=False, k_best=2)])
def test_heuristic_pricing_first(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    """When every exact round counts as expensive, the heuristic goes first and the optimum is still proven."""
    monkeypatch.setattr(pricing, "EXPENSIVE", -1)
    for seed in range(4):
        check_optimal(hard(seed), run(hard(seed).problem, dataclasses.replace(options, pricing="auto")))


def test_dropping_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that must drop columns all the time ends at the same optimum."""
    dropped = []
    keep = ColumnPool.keep

    def counted(pool: ColumnPool, columns: np.ndarray) -> None:
        dropped.append(int((~columns).sum()))
        keep(pool, columns)

    monkeypatch.setattr(ColumnPool, "keep", counted)
    keep_few_columns(monkeypatch, 12)
    for seed in range(5):
        check_optimal(hard(seed), run(hard(seed).problem, Options(warm_start=False)))
    assert sum(dropped) > 0


def test_without_proof() -> None:
    """Without the proof step the model is feasible, the bound valid, and optimal is said only when it is."""
    statuses = set()
    for seed in range(10):
        case = hard(seed)
        solution = run(case.problem, Options(proof=False))
        statuses.add(check_honest(case, solution))
    assert "stopped" in statuses


@pytest.mark.parametrize("limits", [{}, {"max_iterations": 1}, {"max_columns": 5}])
def test_paper_preset(limits: dict[str, int]) -> None:
    """The paper's settings prove nothing by pricing, but give models, and bounds that hold."""
    for seed in range(5):
        solution = run(hard(seed).problem, dataclasses.replace(Options.paper(Paper(exact_last=False)), **limits))
        check_honest(hard(seed), solution)
        assert not solution.exact_pricing


def test_gap() -> None:
    """With a gap allowed the engine may stop early; what it then says is true."""
    for seed in range(8):
        case = hard(seed)
        for gap in (0.1, 0.5):
            solution = run(case.problem, Options(gap=gap))
            assert check_honest(case, solution) in ("optimal", "gap_reached")
            assert solution.value - solution.bound <= gap * solution.value + 1e-9


def check_honest(case: Tiny, solution: Solution) -> str:
    """A feasible model, a bound that holds, and a status that claims no more than is true; the status."""
    best = case.best()
    assert best is not None
    check_model(case.problem, solution)
    assert solution.bound <= best + 1e-6
    assert solution.value >= best - 1e-9
    if solution.status == "optimal":
        assert solution.value == pytest.approx(best, abs=1e-9)
    return solution.status


@pytest.mark.parametrize("seconds", [0.0, 1e-3, 0.05])
def test_deadline(seconds: float) -> None:
    """However little time there is, a model and a valid bound come back, soon."""
    for seed in range(4):
        case = hard(seed)
        deadline = Deadline(seconds)
        solution = solve(case.problem, deadline=deadline)
        assert check_honest(case, solution) in ("optimal", "time_limit")
        assert deadline.elapsed < 5.0


def test_deadline_on_a_larger_table() -> None:
    """The same on a table that needs more time than it gets."""
    problem = make_problem(datasets.tic_tac_toe().table(), 1.0 - np.eye(2), 4, 16, 9.0)
    deadline = Deadline(1.0)
    solution = solve(problem, deadline=deadline)
    assert deadline.elapsed < 8.0
    assert solution.status == "time_limit"
    check_model(problem, solution)
    assert solution.bound < solution.value


def test_unmerged_rows() -> None:
    """Rows with equal codes, merged or not, give the same optimum."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        frame = pd.DataFrame({"a": rng.integers(0, 3, 25), "b": rng.choice(list("xyz"), 25), "c": rng.random(25) < 0.5})
        y = rng.integers(0, 2, 25)
        columns = read_columns(frame)
        features, _ = make_features(columns, y, 2)
        merged, single = (make_table(columns, features, y, 2, merge=merge) for merge in (True, False))
        assert merged.n_rows < single.n_rows == 25
        values = []
        for table in (merged, single):
            problem = make_problem(table, 1.0 - np.eye(2), 2, 4, 2.0)
            solution = run(problem)
            assert solution.status == "optimal"
            check_model(problem, solution)
            values.append(solution.value)
        assert values[0] == values[1]
        assert values[0] == Tiny(make_problem(merged, 1.0 - np.eye(2), 2, 4, 2.0)).best()


@pytest.mark.parametrize("factor", [1e-8, 1e-4, 1 / 3, 1e5, 1e9])
def test_units_of_weight_do_not_matter(factor: float) -> None:
    """Weights in other units give the same model, scaled; nothing counts as zero because weights are small."""
    for seed in range(3):
        case = hard(seed)
        table = case.problem.table
        scaled = Table(table.features, table.codes, table.statistics * factor, table.row_of)
        support = case.problem.min_support * factor
        problem = dataclasses.replace(case.problem, table=scaled, min_support=support)
        for options in (Options(), PLAIN):
            solution = run(problem, options)
            assert solution.status == "optimal"
            assert solution.value == pytest.approx(case.best() * factor, rel=1e-9, abs=0.0)


def test_repeats() -> None:
    """The same problem twice, with one thread or two, gives the same rules."""
    for seed in range(4):
        first, again, threads = (run(hard(seed).problem, Options(n_jobs=n)) for n in (1, 1, 2))
        assert first.paths == again.paths == threads.paths


def test_a_given_start_is_used() -> None:
    """A model passed in is never lost, even when there is time for nothing else."""
    for seed in range(6):
        case = hard(seed)
        best = run(case.problem)
        solution = solve(case.problem, Options(warm_start=False, max_iterations=0), Deadline(0.0), best.paths)
        assert solution.value == best.value


def test_a_start_that_breaks_the_limits_is_no_model() -> None:
    """Given rules with too little support, too many conditions or unknown ones don't get into the answer."""
    table = Table(
        tuple(datasets._feature(i, "nominal", 2, False, np.arange(4) // 2, np.eye(2)[[0, 1, 1, 0]]) for i in range(2)),
        np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.uint8),
        np.eye(2)[[0, 1, 1, 0]],
        np.arange(4, dtype=np.int64),
    )
    xor = [Path((Condition(0, (a,)), Condition(1, (b,))), a ^ b) for a in (0, 1) for b in (0, 1)]
    for depth, support in ((2, 2.0), (1, 1.0)):
        problem = make_problem(table, 1.0 - np.eye(2), depth, 4, support)
        for options in (Options(), Options(warm_start=False, max_iterations=0, proof=False)):
            solution = run(problem, options, tuple(xor))
            check_model(problem, solution)
            assert solution.value == 2.0
    problem = make_problem(table, 1.0 - np.eye(2), 2, 4, 1.0)
    unknown = Path((Condition(0, (0, 1)),), 0)
    assert run(problem, start=(unknown, *xor)).value == 0.0


def test_support_above_all_weight() -> None:
    """When not even one rule for all rows has enough support, there is no model."""
    case = hard(0)
    solution = run(dataclasses.replace(case.problem, min_support=1e6))
    assert solution.status == "infeasible"
    assert solution.paths == ()


@pytest.mark.parametrize("phase", ["start", "lp", "pricing", "improve", "proof"])
def test_interrupt_ends_the_engine(phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in any phase ends the work: the answer is the best model known."""

    def interrupted(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    owner, name = {
        "start": (start, "tree_paths"),
        "lp": (master.Master, "solve"),
        "pricing": (pricing.RulePricer, "price"),
        "improve": (Neighbourhoods, "improve"),
        "proof": (steps, "search_cover"),
    }[phase]
    monkeypatch.setattr(owner, name, interrupted)
    case = next(case for case in map(hard, range(40)) if case.lp() < case.best() - 0.5)
    options = Options(warm_start=phase == "start", improve=phase == "improve")
    solution = run(case.problem, options)
    assert solution.status == "interrupted"
    check_model(case.problem, solution)
    assert solution.bound <= case.best() + 1e-6


# --- known figures ----------------------------------------------------------------------------------------------------


def test_tic_tac_toe() -> None:
    """Single values, 1 % support, depth 2: 288 errors with four rules, while the relaxation is at 285."""
    problem = make_problem(datasets.tic_tac_toe().table(), 1.0 - np.eye(2), 2, 4, 9.58, "values")
    solution = run(problem, Options(warm_start=False))
    assert (solution.status, solution.value) == ("optimal", 288.0)
    assert solution.lp_value == pytest.approx(285.0, abs=0.01)
    check_model(problem, solution)


@pytest.mark.parametrize("first_rows", [5, 150])
def test_balance_scale(first_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Depth 2, 1 % support: rules as good as the best tree's 177 errors or better, whatever rows come first."""
    monkeypatch.setattr(master, "FIRST_ROWS", first_rows)
    problem = make_problem(datasets.balance_scale().table(), 1.0 - np.eye(3), 2, 4, 6.25)
    for options in (Options(), PLAIN):
        solution = run(problem, options)
        assert (solution.status, solution.value) == ("optimal", 177.0)
        check_model(problem, solution)


def test_pure_data() -> None:
    """Data that can be separated gives a loss of zero, proven."""
    problem = make_problem(datasets.monks(1).table(), 1.0 - np.eye(2), 3, 8, 1.0)
    solution = run(problem)
    assert (solution.status, solution.value, solution.bound) == ("optimal", 0.0, 0.0)


def test_recall_on_tic_tac_toe() -> None:
    """A demand on the recall of one class is met, and costs something."""
    table = datasets.tic_tac_toe().table()
    coefficient = np.array([[1.0, 0.0], [0.0, 0.0]])
    row = ModelLimit("recall", coefficient, 0.6 * table.statistics[:, 0].sum())
    problem = make_problem(table, 1.0 - np.eye(2), 2, 4, 9.58, "values", rows=(row,))
    solution = run(problem)
    assert solution.status == "optimal"
    assert solution.value > 288.0
    check_model(problem, solution)


# --- through the estimator --------------------------------------------------------------------------------------------


@st.composite
def frames(draw: st.DrawFn) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """A small frame with mixed columns and missing cells, labels of two classes or more, and weights."""
    n = draw(st.integers(6, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(n) < draw(st.sampled_from([0.0, 0.2])), np.nan, rng.normal(size=n).round(1)),
            "text": rng.choice(["p", "q", "r", "s"], n),
            "flag": rng.random(n) < 0.5,
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True),
        }
    )
    y = rng.integers(0, draw(st.integers(2, 3)), n)
    y[:2] = [0, 1]
    weights = rng.choice([0.25, 0.5, 1.0, 3.0], n) if draw(st.booleans()) else np.ones(n)
    return frame, y, weights


@settings(max_examples=15, deadline=None)
@given(
    data=frames(),
    depth=st.integers(1, 3),
    leaves=st.integers(1, 6),
    support=st.sampled_from([1, 2, 0.05, 0.2]),
    categories=st.sampled_from(["groups", "values"]),
)
def test_estimator_properties(
    data: tuple[pd.DataFrame, np.ndarray, np.ndarray], depth: int, leaves: int, support: float, categories: str
) -> None:
    """Every fitted model covers each row once, keeps support, depth and leaves, and has the loss that it claims."""
    X, y, weights = data
    model = OptimalTreeClassifier(
        structure="rules",
        max_depth=depth,
        max_leaves=leaves,
        min_samples_leaf=support,
        categories=categories,
        n_bins=4,
        time_limit=30,
    )
    model.fit(X, y, sample_weight=weights)
    assert (model.matches(X) == 1).all()
    reached = model.apply(X)
    least = support * weights.sum() if isinstance(support, float) else support
    for rule in range(len(model.rules_)):
        assert weights[reached == rule].sum() >= least - 1e-9
    assert 1 <= len(model.rules_) <= leaves
    assert max(len(rule.conditions) for rule in model.rules_) <= depth
    certificate = model.certificate_
    assert certificate.status == "optimal"
    assert weights[model.predict(X) != y].sum() == pytest.approx(certificate.value, abs=1e-9)
    assert certificate.bound <= certificate.value
