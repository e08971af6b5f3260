"""The kernel's exact-cover search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from omtree import _native

NO_EXTRA = np.empty(0)


def search(
    cover: np.ndarray,
    loss: np.ndarray,
    reduced: np.ndarray,
    max_rules: int,
    cutoff: float,
    extra: np.ndarray | None = None,
    at_least: np.ndarray = NO_EXTRA,
    seconds: float = 60.0,
    step: float = 1e-9,
) -> tuple[list[int], float, bool]:
    """Calls the kernel with a 0/1 matrix, rules x rows."""
    start = np.concatenate([[0], np.cumsum(cover.sum(axis=1))]).astype(np.int32)
    index = np.nonzero(cover)[1].astype(np.int32)
    extra = np.empty((len(loss), 0)) if extra is None else extra
    rules, value, complete, _ = _native.exact_cover(
        cover.shape[1], start, index, loss, reduced, extra, at_least, 0.0, cutoff, step, max_rules, seconds
    )
    return sorted(rules.tolist()), value, complete


def brute_force(cover: np.ndarray, loss: np.ndarray, max_rules: int, extra: np.ndarray, at_least: np.ndarray) -> float:
    """Least loss over all sets of at most `max_rules` rules that cover every row once and reach the constraints."""
    best = np.inf
    for size in range(1, max_rules + 1):
        for chosen in itertools.combinations(range(len(loss)), size):
            rows = list(chosen)
            if (cover[rows].sum(axis=0) == 1).all() and (extra[rows].sum(axis=0) >= at_least - 1e-9).all():
                best = min(best, float(loss[rows].sum()))
    return best


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rules that are unions of blocks of rows, so that there are many exact covers; some losses are equal."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(3, 9))
    cover = np.unique(rng.random((14, n_rows)) < rng.uniform(0.2, 0.6), axis=0)
    cover = cover[cover.any(axis=1)].astype(int)
    loss = rng.integers(0, 6, len(cover)).astype(float)
    return cover, loss, rng.random(len(cover)) * loss


@pytest.mark.parametrize("seed", range(150))
def test_best_cover(seed: int) -> None:
    """The best exact cover is found whatever the number of rules allowed, with and without constraints."""
    cover, loss, _ = random_case(seed)
    rng = np.random.default_rng(seed + 1000)
    extra = rng.integers(-2, 4, (len(loss), 2)).astype(float)
    for max_rules in (1, 2, 3, 4, 5):
        for at_least in (np.array([-100.0, -100.0]), np.array([1.0, 0.0])):
            wanted = brute_force(cover, loss, max_rules, extra, at_least)
            # The loss itself is a valid reduced cost against duals of zero.
            found, value, complete = search(cover, loss, loss, max_rules, 1000.0, extra, at_least)
            assert complete
            if np.isinf(wanted):
                assert found == []
                continue
            assert value == wanted
            assert (cover[found].sum(axis=0) == 1).all()
            assert loss[found].sum() == wanted


@pytest.mark.parametrize("seed", range(60))
def test_cutoff_and_dead_ends(seed: int) -> None:
    """A cover is found exactly when its loss is within the cutoff; without constraints dead ends are remembered."""
    cover, loss, reduced = random_case(seed)
    nothing = np.empty((len(loss), 0))
    wanted = brute_force(cover, loss, 4, nothing, NO_EXTRA)
    for cutoff in (0.0, 3.0, 6.0, 9.0, 30.0):
        found, value, complete = search(cover, loss, reduced, 4, cutoff, step=1.0)
        assert complete
        assert (found != []) == (wanted <= cutoff)
        if found:
            assert value == wanted


def test_time_limit() -> None:
    """Out of time, the search says that it is not complete."""
    rng = np.random.default_rng(0)
    n_rows = 60
    cover = np.unique(rng.random((4000, n_rows)) < 0.1, axis=0)
    cover = cover[cover.any(axis=1)].astype(int)
    loss = np.ones(len(cover))
    _, _, complete = search(cover, loss, np.zeros(len(cover)), 20, 1000.0, seconds=0.0)
    assert not complete


@pytest.mark.parametrize("seed", range(300))
def test_a_price_of_each_rule(seed: int) -> None:
    """Where each rule has a price, covers of the same rows by fewer rules cost more; dead ends are told apart by it.

    Losses are made from duals: a model of fewer rules than allowed costs more than bound and reduced costs together.
    """
    rng = np.random.default_rng(seed)
    n_rows, most = int(rng.integers(7, 10)), int(rng.integers(5, 8))
    cover = rng.random((14, n_rows)) < rng.uniform(0.1, 0.4)
    cover = np.unique(np.concatenate([cover, np.eye(n_rows, dtype=bool)]), axis=0)
    cover = cover[cover.any(axis=1)].astype(int)
    reduced = rng.choice([0.0, 0.0, 0.0, 1.0], len(cover))
    duals, price = rng.integers(0, 5, n_rows).astype(float), float(rng.integers(1, 4))
    loss = cover @ duals - price + reduced
    bound = duals.sum() - most * price
    wanted = best_by_rows(cover, loss, most)
    start = np.concatenate([[0], np.cumsum(cover.sum(axis=1))]).astype(np.int32)
    for above in (0.0, 1.0, 2.0, 4.0):
        rules, value, complete, _ = _native.exact_cover(
            n_rows,
            start,
            np.nonzero(cover)[1].astype(np.int32),
            loss,
            reduced,
            np.empty((len(loss), 0)),
            NO_EXTRA,
            bound,
            bound + above,
            1.0,
            most,
            60.0,
        )
        assert complete
        assert (len(rules) > 0) == (wanted <= bound + above)
        if len(rules):
            assert value == wanted


def best_by_rows(cover: np.ndarray, loss: np.ndarray, most: int) -> float:
    """Least loss of an exact cover of at most `most` rules: the first open row is covered in every possible way."""

    def best(covered: np.ndarray, left: int) -> float:
        if covered.all():
            return 0.0
        if left == 0:
            return np.inf
        row = int(np.flatnonzero(~covered)[0])
        fitting = (j for j in np.flatnonzero(cover[:, row]) if not (cover[j].astype(bool) & covered).any())
        return min((loss[j] + best(covered | cover[j].astype(bool), left - 1) for j in fitting), default=np.inf)

    return best(np.zeros(cover.shape[1], dtype=bool), most)
