"""What is kept of a model's losses on some rows, beside those of the answer that needs no model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omtree.data.table import FloatArray


@dataclass(frozen=True)
class Tally:
    """Sums over rows of weight `w`, the model's loss `m` and the baseline's loss `b`.

    The loss of a row is 1 where its class is missed, or the squared distance from its number.

    Attributes
    ----------
    rows : int
        Rows of positive weight.
    weight, weight2 : float
        Sums of ``w`` and of its square.
    model, baseline : float
        Sums of ``w m`` and ``w b``.
    model2, baseline2, both : float
        Sums of ``w m m``, ``w b b`` and ``w m b``.
    """

    rows: int
    weight: float
    weight2: float
    model: float
    baseline: float
    model2: float
    baseline2: float
    both: float

    @classmethod
    def of(cls, model: FloatArray, baseline: FloatArray, weight: FloatArray) -> Tally:
        """The sums over these rows."""
        return cls(
            int(np.count_nonzero(weight)),
            *(
                float(weight @ values)
                for values in (
                    np.ones(len(weight)),
                    weight,
                    model,
                    baseline,
                    model * model,
                    baseline * baseline,
                    model * baseline,
                )
            ),
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def mean(self) -> float:
        """The model's mean loss."""
        return self.model / self.weight

    @property
    def baseline_mean(self) -> float:
        """The baseline's mean loss."""
        return self.baseline / self.weight

    @property
    def effective(self) -> float:
        """How many rows of equal weight these are worth."""
        return self.weight**2 / self.weight2

    def variance(self, model: float, baseline: float) -> float:
        """Variance over rows of ``model * m + baseline * b``."""
        mean = (model * self.model + baseline * self.baseline) / self.weight
        squares = model**2 * self.model2 + 2 * model * baseline * self.both + baseline**2 * self.baseline2
        return max(0.0, squares / self.weight - mean**2)
