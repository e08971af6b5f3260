"""What a policy brings, beside the same action for all and what was done before."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray
from omtree.data.wording import text_of
from omtree.model.expectation import Figure, short
from omtree.model.intervals import Z95


@dataclass(frozen=True)
class PolicyValue:
    """The mean reward of a policy on some rows, with 95 % intervals.

    Attributes
    ----------
    policy : Figure
        What the policy brings a row, on average.
    single : mapping of object to Figure
        What each action would bring if all rows had it.
    history : Figure or None
        What was done brought so much; None where that is not known.
    gain : mapping of str to Figure
        By how much the policy is above each of those: ``"all ACTION"``, and ``"history"``.
    shares : mapping of object to float
        The share of the rows that the policy gives each action.
    rows : int
    how : str
        What rows these are, and how rewards were estimated.
    """

    policy: Figure
    single: Mapping[Any, Figure]
    history: Figure | None
    gain: Mapping[str, Figure]
    shares: Mapping[Any, float]
    rows: int
    how: str

    @classmethod
    def of(
        cls,
        rewards: FloatArray,
        said: npt.NDArray[np.intp],
        weight: FloatArray,
        actions: Sequence[Any],
        outcome: FloatArray | None,
        how: str,
    ) -> PolicyValue:
        """From the rewards of all actions, and the action that the policy gives each row."""
        own = rewards[np.arange(len(said)), said]
        single = {action: rewards[:, place] for place, action in enumerate(actions)}
        others = {f"all {text_of(action)}": column for action, column in single.items()}
        if outcome is not None:
            others["history"] = outcome
        return cls(
            _mean(own, weight),
            {action: _mean(column, weight) for action, column in single.items()},
            None if outcome is None else _mean(outcome, weight),
            {name: _mean(own - column, weight) for name, column in others.items()},
            {action: float(weight[said == place].sum() / weight.sum()) for place, action in enumerate(actions)},
            int(np.count_nonzero(weight)),
            how,
        )

    @classmethod
    def of_batches(
        cls, batches: Iterable[tuple[FloatArray, npt.NDArray[np.intp], FloatArray]], actions: Sequence[Any], how: str
    ) -> PolicyValue:
        """The same of rows that come in parts: rewards, actions and weights of each."""
        sums = _Sums()
        shares = np.zeros(len(actions))
        rows = 0
        for rewards, said, weight in batches:
            own = rewards[np.arange(len(said)), said][:, None]
            sums.add(np.concatenate([own, rewards, own - rewards], axis=1), weight)
            shares += np.bincount(said, weights=weight, minlength=len(actions))
            rows += int(np.count_nonzero(weight))
        policy, *others = sums.figures()
        n = len(actions)
        return cls(
            policy,
            dict(zip(actions, others[:n], strict=True)),
            None,
            {f"all {text_of(action)}": gain for action, gain in zip(actions, others[n:], strict=True)},
            dict(zip(actions, (shares / shares.sum()).tolist(), strict=True)),
            rows,
            how,
        )

    def __str__(self) -> str:
        lines: list[tuple[str, Figure, Figure | None]] = [("this policy", self.policy, None)]
        lines += [
            (f"all {text_of(action)}", figure, self.gain[f"all {text_of(action)}"])
            for action, figure in self.single.items()
        ]
        if self.history is not None:
            lines.append(("history", self.history, self.gain["history"]))
        width = max(len(name) for name, _, _ in lines)
        texts = [f"mean reward on {self.rows:,} rows, {self.how}"]
        for name, figure, gain in lines:
            text = f"  {name:<{width}}  {_words(figure)}"
            texts.append(text if gain is None else f"{text}, the policy is {_words(gain)} above")
        return "\n".join(texts)


class _Sums:
    """What means and their intervals are made of, for several columns at once."""

    def __init__(self) -> None:
        self._shift: FloatArray | None = None
        self._weight = self._squared = 0.0
        self._sums: FloatArray = np.zeros((3, 1))

    def add(self, columns: FloatArray, weight: FloatArray) -> None:
        """Some more rows."""
        if self._shift is None:
            # Near the mean squares lose no digits.
            self._shift = columns.mean(axis=0) if len(columns) else np.zeros(columns.shape[1])
        away = columns - self._shift
        self._weight += float(weight.sum())
        self._squared += float(weight @ weight)
        self._sums = self._sums + np.stack([weight @ away, weight**2 @ away, weight**2 @ away**2])

    def figures(self) -> list[Figure]:
        """The weighted mean of each column, with its interval."""
        assert self._shift is not None
        found = []
        for shift, first, second, third in zip(self._shift, *self._sums, strict=True):
            mean = first / self._weight
            spread = max(0.0, third - 2.0 * mean * second + mean * mean * self._squared)
            half = Z95 * math.sqrt(spread) / self._weight
            found.append(Figure(float(shift + mean), float(shift + mean - half), float(shift + mean + half)))
        return found


def _words(figure: Figure) -> str:
    return f"{short(figure.value)} ({short(figure.low)} to {short(figure.high)})"


def _mean(values: FloatArray, weight: FloatArray) -> Figure:
    """The weighted mean, with its interval."""
    mean = float(weight @ values / weight.sum())
    half = Z95 * math.sqrt(float(weight**2 @ (values - mean) ** 2)) / float(weight.sum())
    return Figure(mean, mean - half, mean + half)
