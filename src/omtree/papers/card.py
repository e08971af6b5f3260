"""The model card: what is known of a model, for those who have to answer for it, with blanks where nobody said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from omtree.papers import card_sections as sections
from omtree.papers.blocks import Blank, Block, Grid, Paper, Paragraph, Section
from omtree.papers.card_items import ANNEX_IV, TRIPOD, where_answered

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase


@dataclass(frozen=True)
class Test:
    """Rows that the model has not seen.

    Attributes
    ----------
    name, sha256 : str
        Of the file.
    X, y : table and array
    columns : mapping of str to list
        The columns to show figures by group for.
    groups : table or None
        The group columns of the model's constraints.
    """

    __test__ = False  # pytest would take the class for tests

    name: str
    sha256: str
    X: Any
    y: Any
    columns: Mapping[str, Sequence[Any]]
    groups: Any = None


@dataclass(frozen=True)
class Evidence:
    """What a card is made of, beside the model.

    Attributes
    ----------
    model_hash : str
        SHA-256 of the model's file; empty where there is none.
    today : str
    test : Test or None
    training : pyarrow.Table or None
        The training rows, for what is missing in them.
    matches : bool
        Whether these are the rows that the model says it was fitted to.
    """

    model_hash: str = ""
    today: str = ""
    test: Test | None = None
    training: Any = None
    matches: bool = field(default=True)

    def with_test(
        self, name: str, sha256: str, X: Any, y: Any, columns: Mapping[str, Sequence[Any]], groups: Any = None
    ) -> Evidence:
        """The evidence with rows that the model has not seen."""
        return replace(self, test=Test(name, sha256, X, y, columns, groups))

    def with_training(self, X: Any, *, matches: bool) -> Evidence:
        """The evidence with the training rows."""
        return replace(self, training=X, matches=matches)


#: Every section: its key, its title, and what it says; sections without blocks are left out.
_SECTIONS: Sequence[tuple[str, str, Callable[[Any, Evidence], list[Block]]]] = (
    ("model", "The model", sections.the_model),
    ("data", "Data", sections.data),
    ("figures", "Figures on new rows", sections.figures),
    ("groups", "Figures by group", sections.groups),
    ("calibration", "Probabilities", sections.calibration),
    ("constraints", "Constraints", sections.constraints),
    ("proof", "What is proven and what is not", sections.proof),
    ("limits", "Limits", sections.limits),
    ("monitoring", "In use", sections.monitoring),
    ("reproduce", "How to reproduce it", sections.reproduce),
)
_NO_CLAIM = (
    "Where this card says something on an item. This is no claim of conformity with anything: whether an answer is "
    "enough, and what is open, those decide who answer for the model."
)


def make_card(model: OptimalTreeBase, evidence: Evidence, *, purpose: str = "", owner: str = "") -> Paper:
    """The card of a fitted model.

    Parameters
    ----------
    model : fitted model
    evidence : Evidence
    purpose, owner : str
        What the model is for and who answers for it; a visible blank where they are not given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from omtree import OptimalTreeClassifier
    >>> from omtree.papers.card_pages import to_markdown
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> card = make_card(OptimalTreeClassifier(max_depth=2).fit(X, y), Evidence(today="2024-05-01"))
    >>> card.open_points[0]
    'the purpose is blank'
    >>> "**Owner:** ____" in to_markdown(card)
    True
    """
    from omtree import __version__

    if "actions_" in vars(model):
        raise ValueError("A card is made for models of classes and of numbers; a policy is judged by its evaluate.")
    target = vars(model).get("target_name_", "")
    blanks: list[Block] = [
        Blank("Purpose", purpose),
        Blank("Who it is for, and who it is not for"),
        Blank("Owner", owner),
        Blank("Date of approval"),
    ]
    made = [("purpose", "Purpose and owner", blanks)]
    made += [(key, title, write(model, evidence)) for key, title, write in _SECTIONS]
    made = [each for each in made if each[2]]
    numbers = {key: place for place, (key, _, _) in enumerate(made, start=1)}
    numbers["signoff"] = len(made) + 2
    unanswered = [] if purpose else ["purpose"]
    if evidence.test is None and not hasattr(model, "expectation_"):
        unanswered.append("figures")
    listed: list[Block] = [Paragraph(_NO_CLAIM)]
    for name, items in (("TRIPOD+AI", TRIPOD), ("Annex IV of Regulation (EU) 2024/1689", ANNEX_IV)):
        lines = where_answered(items, numbers, unanswered)
        listed.append(Grid([name, "topic (in short)", "answered"], lines))
    signed: list[Block] = [Blank(label) for label in ("Made by", "Checked by", "Decision", "Date and signature")]
    whole = [
        *(Section(key, title, blocks) for key, title, blocks in made),
        Section("items", "Where items are answered", listed),
        Section("signoff", "Sign-off", signed),
    ]
    kind = "tree" if model.tree_ is not None else "rules"
    return Paper(
        f"Model card: decision {kind}{f' for {target}' if target else ''}",
        f"omtree {__version__}, {evidence.today}"
        + (f", model {evidence.model_hash[:16]}…" if evidence.model_hash else ""),
        whole,
        _open_points(model, evidence, purpose, owner),
        f"Made with omtree {__version__} on {evidence.today}.",
    )


def _open_points(model: Any, evidence: Evidence, purpose: str, owner: str) -> list[str]:
    points = []
    if not purpose:
        points.append("the purpose is blank")
    if not owner:
        points.append("the owner is blank")
    if evidence.test is None:
        points.append("no test rows: nothing is known from rows kept apart")
    elif not evidence.test.columns and evidence.test.groups is None:
        points.append("no groups: nothing is said about differences between groups of people")
    if evidence.training is not None and not evidence.matches:
        points.append("the training data given are not the file that the model was fitted to")
    return points
