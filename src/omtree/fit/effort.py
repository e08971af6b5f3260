"""How much a fit looks for, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

from omtree.fit.threshold_rounds import EVERY_ROUND, RoundLimits


@dataclass(frozen=True)
class Effort:
    """What is asked of the searches of a fit.

    Attributes
    ----------
    every_size : bool
        Whether the trees of all sizes are wanted at once.
    rounds : RoundLimits
        When the rounds of thresholds end.
    all_cuts : bool
        Whether all cuts are looked at for a moment, beside those of the rounds.
    """

    every_size: bool = False
    rounds: RoundLimits = EVERY_ROUND
    all_cuts: bool = True


USUAL = Effort()
#: Of the folds that compare sizes: there are many, nothing is to be proven of them, and cuts that are finer still move
#: the losses of all sizes alike: a round that may cost as much as the one before has to promise something.
IN_FOLDS = Effort(every_size=True, rounds=RoundLimits(most=3, least_hope=0.001), all_cuts=False)
