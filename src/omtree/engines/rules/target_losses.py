"""How far a proof goes at a time."""

from __future__ import annotations

import math

#: Largest set of rules handed to the MIP for a proof, and largest one where there are smaller steps to take.
PROOF_LIMIT = 60_000
FEW_RULES = 4000
#: Shares of the gap to close in one step of the proof where losses are no whole numbers, tried one after the other;
#: where they are, a step is one of so many, and no smaller than 1.
STAGES = (1.0, 0.25, 0.06, 0.015)
WHOLE_STEPS = 8


def targets(value: float, bound: float, tolerance: float, *, integral: bool) -> list[tuple[float, int]]:
    """Losses to rule out next, the one to fall back on last, each with the most rules to list for it.

    Parameters
    ----------
    value, bound : float
        Of the best model, and what every model costs at least.
    tolerance : float
        Difference of the two that is taken for none.
    integral : bool
        Whether every loss is a whole number.

    Examples
    --------
    >>> targets(110.0, 90.0, 1e-6, integral=True)
    [(92.0, 4000), (90.0, 60000)]
    >>> targets(92.0, 90.0, 1e-6, integral=True)
    [(90.0, 60000)]
    """
    if integral:
        step = math.floor((value - bound) / WHOLE_STEPS)
        return [(bound + step, FEW_RULES)] * (step > 0) + [(bound, PROOF_LIMIT)]
    # Real losses have no next value: as far at once as leaves few rules.
    last = value - 0.05 * tolerance
    losses = [min(last, bound + max(share * (value - bound), tolerance)) for share in STAGES]
    return [*((target, FEW_RULES) for target in losses[:-1]), (losses[-1], PROOF_LIMIT)]
