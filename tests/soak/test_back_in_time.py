"""A part of the walk over fits that are cut short."""

from __future__ import annotations

import pytest

from soak.limits import Case, run, sample

# The fits that ignored their limit once, and some at random; the whole walk is `python tests/soak/limits.py`.
CASES = sample(12, seed=5)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_back_in_time(case: Case) -> None:
    """A fit is back a second after its limit at the latest, with a bound that is none above its value."""
    outcome = run(case, 0.05)
    assert outcome.ok, outcome


@pytest.mark.parametrize(("case", "limit"), list(zip(CASES[::5], (0.5, 1.0, 0.5, 1.0), strict=True)), ids=str)
def test_back_in_time_with_longer_limits(case: Case, limit: float) -> None:
    """With limits that leave time to search it is no later."""
    outcome = run(case, limit)
    assert outcome.ok, outcome


@pytest.mark.parametrize("case", [*CASES[:3], *CASES[4:6], *CASES[7::3]], ids=str)
def test_back_after_an_interrupt(case: Case) -> None:
    """Ctrl-C ends a fit without a limit within a second."""
    outcome = run(case, 1.0 if case.constraint == "Requires" else 0.3, interrupt=True)
    assert outcome.ok, outcome
