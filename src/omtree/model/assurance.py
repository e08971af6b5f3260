"""What is known of a constraint for new rows, from rows that were kept apart to test it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from omtree.data.wording import number


@dataclass(frozen=True)
class Assurance:
    """A limit that holds for new rows with some confidence.

    Attributes
    ----------
    name : str
        The constraint, and which of its parts where it has several.
    confidence : float
    sense : {"at least", "at most"}
    limit : float
    value : float
        What the model reaches on the rows kept apart.
    bound : float
        With the confidence that was asked for, the model reaches this on new rows.
    rows : float
        How many of the rows kept apart the value is from; with weights, how many they are worth.
    kept : int
        Rows kept apart in all.
    method : str
        How chance is reckoned with: "Clopper-Pearson", "Newcombe" or "normal".
    sought : float
        The limit that the model had to keep in training.
    attempt, attempts : int
        Which of the limits fixed beforehand this was, and how many there were; the risk is shared among them.

    Examples
    --------
    >>> print(Assurance("Recall", 0.95, "at least", 0.8, 0.9, 0.81, 120.0, 300, "Clopper-Pearson", 0.88, 1, 4))
    Recall: at least 0.81 on new rows with 95 % confidence (0.9 in 120 of 300 rows kept apart, Clopper-Pearson; the \
search kept at least 0.88, attempt 1 of 4)
    """

    name: str
    confidence: float
    sense: Literal["at least", "at most"]
    limit: float
    value: float
    bound: float
    rows: float
    kept: int
    method: str
    sought: float
    attempt: int
    attempts: int

    def __str__(self) -> str:
        return f"{self.name}: {self.words}"

    @property
    def words(self) -> str:
        """All but the name."""
        return (
            f"{self.sense} {number(self.bound)} on new rows with {100 * self.confidence:g} % confidence "
            f"({number(self.value)} in {number(round(self.rows))} of {self.kept:,} rows kept apart, {self.method}; the "
            f"search kept {self.sense} {number(self.sought)}, attempt {self.attempt} of {self.attempts})"
        )
