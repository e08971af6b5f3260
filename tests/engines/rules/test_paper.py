"""The paper's method: never worse than its start, the best over what it generated, within any limit."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from helpers import datasets
from helpers.rule_cases import check_model, hard, make_problem, tiny, with_rows
from omtree import OptimalTreeClassifier, Paper
from omtree.deadline import Deadline
from omtree.engines.rules import Options, lp_columns, paper, pricing, solve
from omtree.engines.rules.improve import Neighbourhoods
from omtree.engines.rules.paper import PaperRun
from omtree.engines.rules.pool import Duals
from omtree.engines.rules.start import greedy_paths
from omtree.problem.problem import Path, Problem

GREEDY_ORDERS = (False, True)


def greedy_loss(problem: Problem) -> float:
    """The least loss of the greedy trees that are models of the problem."""
    trees = (greedy_paths(problem, 0, single_values=single) for single in GREEDY_ORDERS)
    return min((sum(map(problem.path_loss, paths)) for paths in trees if paths), default=np.inf)


def finished(problem: Problem, options: Options) -> PaperRun:
    """A run of the method, with more time than it can need."""
    run = PaperRun(problem, options, Deadline(60), None)
    run.run(())
    return run


def best_over(run: PaperRun) -> float:
    """The least loss of a model over the generated rules, by looking at every choice of them."""
    cover = run.pool.cover().toarray().astype(bool)
    loss, most = run.pool.loss, run.problem.max_leaves
    best = np.inf

    def choose(covered: np.ndarray, spent: float, left: int) -> None:
        nonlocal best
        if covered.all():
            best = min(best, spent)
            return
        if left == 0:
            return
        row = int(np.flatnonzero(~covered)[0])
        for j in np.flatnonzero(cover[:, row]):
            if not (cover[j] & covered).any():
                choose(covered | cover[j], spent + loss[j], left - 1)

    choose(np.zeros(cover.shape[1], dtype=bool), 0.0, most)
    return best


@pytest.mark.parametrize("seed", range(30))
def test_the_best_model_over_what_was_generated(seed: int) -> None:
    """The model is the best one over the generated rules, and no better than the oracle's over all."""
    case = tiny(seed) if seed % 2 else hard(seed)
    run = finished(
        case.problem, Options.paper(Paper(k=3, max_rounds=3, warm_start=seed % 3 > 0, exact_last=seed % 4 > 1))
    )
    solution = run._solution()
    check_model(case.problem, solution)
    assert run.value == pytest.approx(best_over(run), abs=1e-6)
    best = case.best()
    assert best is not None
    assert solution.bound - 1e-9 <= best <= solution.value + 1e-9
    told = solution.ended
    assert told.endswith("the program over the rules was solved to its end") or told == paper.NOTHING_TO_GAIN
    assert (told == paper.NOTHING_TO_GAIN) <= (solution.status == "optimal")


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("relaxation", ["fast", "full"])
def test_the_relaxation_does_not_matter(seed: int, relaxation: str) -> None:
    """With every rule within its reach the method solves the oracle's LP, whatever enters it and when."""
    case = tiny(seed) if seed % 2 else hard(seed)
    settings = Paper(relaxation=relaxation)  # type: ignore[arg-type]
    solution = solve(case.problem, Options.paper(settings), Deadline(60))
    assert solution.lp_value == pytest.approx(case.lp(), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("seed", range(10))
def test_the_exact_pricer_has_the_last_word(seed: int) -> None:
    """Where the heuristic keeps a single path a node, the LP over all rules is solved all the same, and bounds hold."""
    case = tiny(seed) if seed % 2 else hard(seed)
    solution = solve(case.problem, Options.paper(Paper(k=1, max_rounds=500, warm_start=False)), Deadline(60))
    assert solution.exact_pricing
    assert solution.lp_value == pytest.approx(case.lp(), rel=1e-3, abs=1e-3)
    best = case.best()
    assert best is not None
    assert solution.bound - 1e-6 <= best <= solution.value + 1e-9


def test_few_columns_in_the_lp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that come and go change neither the LP's value nor the model's."""
    monkeypatch.setattr(lp_columns, "FEWEST_COLUMNS", 10)
    monkeypatch.setattr(lp_columns, "COLUMNS_A_ROW", 0.5)
    monkeypatch.setattr(lp_columns, "BATCH", 3)
    for seed in range(12):
        case = hard(seed)
        solution = solve(case.problem, Options.paper(), Deadline(60))
        check_model(case.problem, solution)
        assert solution.lp_value == pytest.approx(case.lp(), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(("most_pairs", "stabilise"), [(0.0, False), (1e9, False), (1e9, True)])
def test_when_the_exact_pricer_is_asked(monkeypatch: pytest.MonkeyPatch, most_pairs: float, stabilise: bool) -> None:
    """Only at the end or from the second round on, at smoothed prices or not: the LP's value is the oracle's."""
    monkeypatch.setattr(pricing, "MOST_PAIRS", most_pairs)
    for seed in range(40):
        case = tiny(seed) if seed % 2 else hard(seed)
        options = dataclasses.replace(Options.paper(Paper(k=5, max_rounds=500)), stabilise=stabilise)
        solution = solve(case.problem, options, Deadline(60))
        check_model(case.problem, solution)
        assert solution.lp_value == pytest.approx(case.lp(), rel=1e-3, abs=1e-3)
        best = case.best()
        assert best is not None
        assert solution.bound - 1e-6 <= best <= solution.value + 1e-9


@pytest.mark.parametrize("exact_last", [False, True])
def test_rules_forgotten_between_rounds(monkeypatch: pytest.MonkeyPatch, exact_last: bool) -> None:
    """Rules of the last LP may be forgotten with the others; what it says of rows is looked at before."""
    monkeypatch.setattr(lp_columns, "FEWEST_COLUMNS", 40)
    monkeypatch.setattr(lp_columns, "COLUMNS_A_ROW", 0.1)
    problem = make_problem(datasets.balance_scale().table(), 1.0 - np.eye(3), 3, 8, 6.25)
    solution = solve(problem, Options.paper(Paper(k=200, max_rules=100, exact_last=exact_last)), Deadline(20))
    check_model(problem, solution)
    assert solution.value <= greedy_loss(problem) + 1e-9


@pytest.mark.parametrize("seconds", [0.05, 0.3, 1.0])
def test_never_worse_than_greedy_trees_or_the_start(seconds: float) -> None:
    """Whatever the limit: no worse than CART's rules, than the rules to start from, and than a single rule."""
    table = datasets.balance_scale().table()
    problems = [tiny(seed).problem for seed in range(6)]
    problems += [make_problem(table, 1.0 - np.eye(3), depth, 2**depth, 6.25) for depth in (2, 4)]
    for problem in problems:
        greedy = greedy_loss(problem)
        start = solve(problem, Options(max_iterations=0, proof=False), Deadline(10)).paths
        for given in ((), start):
            solution = solve(problem, Options.paper(), Deadline(seconds), given)
            check_model(problem, solution)
            assert solution.value <= greedy + 1e-9
            assert solution.value <= sum(map(problem.path_loss, given)) + 1e-9 or not given
            single = min(problem.path_loss(Path((), label)) for label in range(problem.loss.n_labels))
            assert solution.value <= single + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_no_worse_than_cart_on_frames(seed: int) -> None:
    """Fitted with a short limit, the preset makes no more errors on its rows than CART of the same size on them."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{j}": random.integers(0, 4, 300) for j in range(5)})
    y = ((X["x0"] > 1) ^ (X["x1"] == X["x2"])).to_numpy() ^ (random.random(300) < 0.1)
    for depth, limit in itertools.product((2, 3, 4), (0.05, 0.5)):
        cart = DecisionTreeClassifier(max_depth=depth, max_leaf_nodes=2**depth, min_samples_leaf=3, random_state=0)
        model = OptimalTreeClassifier(
            max_depth=depth, min_samples_leaf=3, structure="rules", preset="paper", time_limit=limit
        ).fit(X, y)
        assert model.certificate_.value <= (cart.fit(X, y).predict(X) != y).sum()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (Paper(), paper.NOTHING_TO_GAIN),
        (Paper(warm_start=False), "no further rule was found"),
        (Paper(max_rounds=1, warm_start=False), "the limit of 1 rounds was reached"),
    ],
)
def test_why_it_ended(settings: Paper, why: str) -> None:
    """The certificate says what ended the generation, and the gap of the paper: that to the LP over these rules."""
    frame = pd.DataFrame({"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5, "c": [0, 1, 1, 1, 0] * 4})
    y = (frame["a"] != frame["b"]).to_numpy()
    model = OptimalTreeClassifier(max_depth=2, structure="rules", preset=settings, min_samples_leaf=1).fit(frame, y)
    certificate = model.certificate_
    assert certificate.ended.startswith(why)
    assert certificate.lp_value is not None
    assert certificate.lp_value <= certificate.value
    assert certificate.ended in str(certificate)


def test_out_of_time() -> None:
    """Without time the start is the answer, and the certificate says that the time was up."""
    problem = make_problem(datasets.balance_scale().table(), 1.0 - np.eye(3), 4, 16, 6.25)
    solution = solve(problem, Options.paper(), Deadline(0.0))
    assert solution.status == "time_limit"
    assert solution.ended.startswith("the time was up")
    assert solution.value <= greedy_loss(problem)


@pytest.mark.parametrize("seed", range(12))
def test_constraints_over_the_model(seed: int) -> None:
    """Constraints over the whole model hold in what the preset returns, and its losses are no lower than the best."""
    case = with_rows(seed)
    best = case.best()
    solution = solve(case.problem, Options.paper(), Deadline(30))
    if solution.paths:
        check_model(case.problem, solution)
        assert best is not None
        assert solution.value >= best - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_neighbourhoods(seed: int) -> None:
    """A model is only ever exchanged for a better one over the same rules, and never for one below the best."""
    case = hard(seed)
    run = finished(case.problem, dataclasses.replace(Options.paper(), warm_start=False))
    loss = exchanged(run, Neighbourhoods(run.pool, last_duals(run), 1.0 if run.integral else 1e-9, seed))
    assert loss >= run.value - 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_neighbourhoods_over_all_rules(seed: int) -> None:
    """Where a neighbourhood is the whole table, pricing finds the rules of the best model, whatever the pool lacks."""
    case = (tiny(seed), hard(seed), with_rows(seed))[seed % 3]
    run = PaperRun(case.problem, Options.paper(), Deadline(60), None)
    run._offer_paths([run.pool.with_best_label(Path((), 0))])
    best = case.best()
    if best is not None and np.isfinite(run.value):
        around = Neighbourhoods(run.pool, last_duals(run), run.zero, seed, run.pricer)
        assert exchanged(run, around) * run.unit == pytest.approx(best, abs=1e-6)


def test_sideways_a_rule_does_not_come_back() -> None:
    """A step to a model of the same loss keeps what was to be kept, and leaves out one of the rules that went out."""
    steps = 0
    for seed in range(20):
        run = finished(hard(seed).problem, Options.paper())
        if len(run.best) < 3:
            continue
        around = Neighbourhoods(run.pool, last_duals(run), 1.0 if run.integral else 1e-9, seed, run.pricer)
        view = around._look_around(run.best)
        removed = np.arange(len(run.best)) > 0
        other = around._search(run.best, view, removed, Deadline(10), sideways=True)
        if other is None:
            continue
        steps += 1
        rows = {int(rows) for rows in run.pool.rows_hash[run.best]}
        assert run.pool.is_model(other)
        assert run.best[0] in other
        assert run.pool.loss[other].sum() == pytest.approx(run.value, abs=1e-6)
        assert rows - {int(rows) for rows in run.pool.rows_hash[other]}
    assert steps >= 3


@pytest.mark.parametrize("seed", range(12))
def test_the_relaxation_of_what_was_generated(seed: int) -> None:
    """With the heuristic alone the LP's value is that over all rules of the pool, whenever they came in."""
    run = finished(hard(seed).problem, Options.paper(Paper(k=1, exact_last=False, max_rounds=2)))
    assert run.lp_value is not None
    over_all = run.master.solve(1e-7, Deadline(10)).value
    assert run.lp_value <= over_all + 1e-3 * max(1.0, over_all)
    if run.ended != paper.NOTHING_TO_GAIN:
        assert run.lp_value == pytest.approx(min(over_all, run.value), rel=1e-3, abs=1e-3)


def test_a_relaxation_without_time() -> None:
    """Where the LP cannot be solved in time, what is said of it is no more than its value."""
    for seed in range(6):
        run = finished(hard(seed).problem, Options.paper())
        duals = last_duals(run)
        run.deadline = Deadline(0)
        run._relax_generated(duals)
        assert run.lp_value is not None
        assert run.lp_value <= run.master.solve(1e-7, Deadline(10)).value + 1e-6


def last_duals(run: PaperRun) -> Duals:
    """Those of the LP over what is in the pool."""
    return run.master.solve(1e-6, Deadline(10)).duals


def exchanged(run: PaperRun, around: Neighbourhoods) -> float:
    """The loss of what the single rule for all rows is exchanged for in the end; each step is checked."""
    model = run.pool.add_paths([run.pool.with_best_label(Path((), 0))])
    loss = float(run.pool.loss[model].sum())
    while True:
        better = around.improve(model, Deadline(10))
        if better is model:
            return loss
        assert run.pool.is_model(better)
        assert run.pool.loss[better].sum() < loss
        model, loss = better, float(run.pool.loss[better].sum())


@pytest.mark.parametrize("seed", range(10))
def test_forgotten_rules(seed: int) -> None:
    """However few rules are kept between rounds, the LP over all rules is solved, and bounds and models hold."""
    case = tiny(seed) if seed % 2 else hard(seed)
    solution = solve(case.problem, Options.paper(Paper(k=5, max_rules=6, max_rounds=500, trees=False)), Deadline(60))
    check_model(case.problem, solution)
    assert solution.lp_value == pytest.approx(case.lp(), rel=1e-3, abs=1e-3)


def test_same_model_with_threads() -> None:
    """The search for paths is divided among threads, and the model stays the same."""
    problem = make_problem(datasets.balance_scale().table(), 1.0 - np.eye(3), 3, 8, 6.25)
    one, two = (solve(problem, Options.paper(n_jobs=n), Deadline(60)) for n in (1, 2))
    assert one.paths == two.paths
    assert one.value == two.value
