"""The pool of rules."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.rule_cases import hard, tiny, with_rows
from omtree.engines.rules.pool import ColumnPool, Duals
from omtree.engines.rules.pricing import native_pricer, values_for
from omtree.problem.graph import Condition
from omtree.problem.problem import Path, Problem


def random_paths(problem: Problem, rng: np.random.Generator, n: int) -> list[Path]:
    """Some paths of the graph with random labels, repeats included."""
    paths = list(problem.graph.paths(problem.max_depth))
    chosen = rng.integers(len(paths), size=n)
    labels = rng.integers(problem.table.statistics.shape[1], size=n)
    return [Path(paths[i], int(label)) for i, label in zip(chosen, labels, strict=True)]


@pytest.mark.parametrize("seed", range(10))
def test_columns_are_what_their_rules_say(seed: int) -> None:
    """Rows, loss, parts in constraints and reduced cost of a column follow from its rule; duplicates come once."""
    rng = np.random.default_rng(seed)
    problem = with_rows(seed, 2).problem
    pool = ColumnPool(problem, native_pricer(problem, 1))
    paths = random_paths(problem, rng, 60)
    columns = pool.add_paths(paths)
    duals = Duals.of_each_row(rng.normal(size=problem.table.n_rows), -rng.random(), rng.random(2))
    reduced = pool.reduced_costs(duals)
    values = values_for(problem, duals)
    keys = set()
    for path, column in zip(paths, columns, strict=True):
        rows = path.covers(problem.table.codes)
        keys.add((rows.tobytes(), path.label))
        assert (pool.cover(columns[columns == column][:1]).toarray().ravel() == rows).all()
        assert pool.label[column] == path.label
        assert pool.loss[column] == pytest.approx(problem.row_costs()[rows, path.label].sum())
        extra = [(problem.table.statistics @ row.coefficient)[rows, path.label].sum() for row in problem.model_limits]
        assert pool.extra[column] == pytest.approx(extra)
        expected = pool.loss[column] - duals.own[rows].sum() - duals.leaf - np.dot(extra, duals.rows)
        assert reduced[column] == pytest.approx(expected)
        assert reduced[column] == pytest.approx(values[rows, path.label].sum() - duals.leaf)
        assert (pool.path(column).covers(problem.table.codes) == rows).all()
    assert len(pool) == len(keys)
    assert len(pool.add_paths(paths)) == len(paths)
    assert len(pool) == len(keys)


@pytest.mark.parametrize("seed", range(5))
def test_dropped_columns_can_come_back(seed: int) -> None:
    """What is dropped is gone, the rest stays in order, and a dropped rule may be added again."""
    rng = np.random.default_rng(seed)
    problem = tiny(seed, depth=2).problem
    pool = ColumnPool(problem, native_pricer(problem, 1))
    pool.add_paths(random_paths(problem, rng, 40))
    before = [pool.path(j) for j in range(len(pool))]
    keep = rng.random(len(pool)) < 0.5
    pool.keep(keep)
    kept = [path for path, stays in zip(before, keep, strict=True) if stays]
    assert [pool.path(j) for j in range(len(pool))] == kept
    pool.add_paths(before)
    assert len(pool) == len(before)
    assert [pool.path(j) for j in range(len(kept))] == kept


def test_is_model() -> None:
    """Rules are a model when each row is in exactly one, there are not too many, and constraints hold."""
    problem = hard(0).problem
    pool = ColumnPool(problem, native_pricer(problem, 1))
    level = problem.graph.levels[0]
    codes = [(code,) for code in range(level.feature.n_codes)]
    split = [Path((Condition(level.position, c),), 0) for c in codes]
    columns = pool.add_paths([Path((), 0), *split])
    assert pool.is_model(columns[:1])
    assert pool.is_model(columns[1:])
    assert not pool.is_model(columns)
    assert not pool.is_model(columns[2:])
    assert not pool.is_model([])
    assert not pool.is_model(np.repeat(columns[:1], 2))


def test_fits() -> None:
    """A path fits when its conditions are nodes of the graph, few enough, with enough support."""
    problem = hard(0).problem
    pool = ColumnPool(problem, native_pricer(problem, 1))
    every = tuple(range(problem.table.features[0].n_codes))
    assert pool.fits(Path((), 0))
    assert all(pool.fits(Path((node,), 0)) for node in problem.graph.levels[0].nodes if node.codes)
    assert not pool.fits(Path((Condition(0, every),), 0))
    assert not pool.fits(Path((Condition(0, (7,)),), 0))


def test_duals() -> None:
    """Mixing goes the given share of the way, and the dual objective is linear along it."""
    problem = with_rows(3, 2).problem
    rng = np.random.default_rng(0)
    a, b = (Duals.of_each_row(rng.normal(size=problem.table.n_rows), -rng.random(), rng.random(2)) for _ in range(2))
    c = Duals(np.array([1, 3], dtype=np.int32), rng.normal(size=2), 0.3, -0.5, rng.random(2))
    weight = problem.table.weight
    total = float(weight.sum())
    for one, other in ((a, b), (a, c), (c, b), (c, c)):
        mixed = one.mix(other, 0.25)
        parts = 0.75 * one.value(problem, total) + 0.25 * other.value(problem, total)
        assert mixed.value(problem, total) == pytest.approx(parts)
        assert mixed.cover(weight) == pytest.approx(0.75 * one.cover(weight) + 0.25 * other.cover(weight))
        assert one.mix(other, 0.0).value(problem, total) == pytest.approx(one.value(problem, total))
