"""How much a model owes to the very rows it was fitted to: what becomes of it on resamples of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from omtree.deadline import Deadline
from omtree.errors import InfeasibleError
from omtree.fit.held_out import owners
from omtree.model.answering import answered_numbers
from omtree.model.notebook_html import html_table
from omtree.objectives import Objective
from omtree.sources.samples import Training

if TYPE_CHECKING:
    from omtree.data.table import FloatArray
    from omtree.engines.answers import Outcome
    from omtree.fit.plan import Plan


@dataclass(frozen=True)
class Stability:
    """What fits to resamples of the training rows have in common with the model.

    Attributes
    ----------
    resamples : int
        Fits that gave a model; each to as many rows, drawn with replacement.
    roots : mapping of str to float
        Share of those models that test each column first, the most frequent one first; empty for rules that
        are no tree.
    used : mapping of str to float
        Share of those models that test each column at all.
    change : float
        Share of the training rows, by weight, that another of those models answers otherwise than this one, on average;
        for numbers the mean distance of the answers, in standard deviations of the target.
    number : bool
        Whether answers are numbers.

    Examples
    --------
    >>> print(Stability(20, {"age": 0.9, "income": 0.1}, {"age": 1.0, "income": 0.4}, 0.031, False))
    over 20 resamples of the training rows:
      answers that change  3.1 % of the rows
      first test           age 90 %, income 10 %
      tested at all        age 100 %, income 40 %
    """

    resamples: int
    roots: Mapping[str, float]
    used: Mapping[str, float]
    change: float
    number: bool

    @property
    def lines(self) -> list[tuple[str, str]]:
        """What is known, in words: a name and a text each."""
        moved = f"{self.change:.2f} standard deviations" if self.number else f"{100 * self.change:.1f} % of the rows"
        lines = [("answers that change", moved)]
        for name, shares in (("first test", self.roots), ("tested at all", self.used)):
            if shares:
                lines.append((name, ", ".join(f"{column} {100 * share:.0f} %" for column, share in shares.items())))
        return lines

    def __str__(self) -> str:
        lines = [f"  {name:<19}  {text}" for name, text in self.lines]
        return "\n".join([f"over {self.resamples} resamples of the training rows:", *lines])

    def _repr_html_(self) -> str:
        return html_table((), self.lines, f"over {self.resamples} resamples of the training rows")


def stability_of(
    plan: Plan, outcome: Outcome, training: Training, objective: Objective, resamples: int, seconds: float | None
) -> Stability:
    """Fit resamples of the training rows and compare the models with the one of all of them.

    Parameters
    ----------
    plan : Plan
        With the size that was chosen.
    outcome : Outcome
        The model.
    training : Training
        In memory.
    objective : Objective
    resamples : int
    seconds : float or None
        Limit of every fit.
    """
    rng = np.random.default_rng(plan.seed)
    given = _answers(outcome, training)
    share = training.weight / training.weight.sum()
    number = training.target.is_number
    spread = math.sqrt(share @ (training.target.values - share @ training.target.values) ** 2) if number else 1.0
    roots: Counter[str] = Counter()
    used: Counter[str] = Counter()
    changes = []
    for _ in range(resamples):
        part = training.part(np.sort(rng.integers(0, len(training), len(training))))
        try:
            other, _ = plan.solve(part, objective, Deadline(seconds))
        except (InfeasibleError, ValueError):
            # No model meets the constraints there, or too few kinds of rows were drawn.
            continue
        if other.found.status == "interrupted":
            raise KeyboardInterrupt
        names = [feature.name for feature in other.rules.features]
        if other.tree is not None and other.tree.nodes[0].feature is not None:
            roots[names[other.tree.nodes[0].feature]] += 1
        used.update({names[condition.feature] for rule in other.rules for condition in rule.conditions})
        answers = _answers(other, training)
        moved = np.abs(answers - given) / (spread or 1.0) if number else answers != given
        changes.append(float(share @ moved))
    if not changes:
        raise ValueError(
            "stability has no resample that a model can be fitted to; lower min_samples_leaf or leave it out."
        )
    n = len(changes)
    shares = [{name: count / n for name, count in counter.most_common()} for counter in (roots, used)]
    return Stability(n, shares[0], shares[1], float(np.mean(changes)), number)


def _answers(outcome: Outcome, samples: Training) -> FloatArray:
    rules, owner = outcome.rules, owners(outcome.rules, outcome.tree, samples)
    if samples.target.is_number:
        return answered_numbers(rules, owner, lambda: samples.columns)
    return np.array([rule.label for rule in rules], dtype=np.float64)[owner]
