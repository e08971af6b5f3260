"""How a fitted model shows itself: the methods that every model has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from omtree.model.policy_value import PolicyValue
    from omtree.report.tree_picture import Direction


class ModelFaces:
    """Text, pictures and the report of a fitted model."""

    def to_text(self) -> str:
        """The model as plain text: the tree where there is one, else the list of its rules."""
        from omtree.model.text import to_text

        check_is_fitted(self, "certificate_")
        return to_text(self)

    def to_svg(self, direction: Direction = "auto", title: str = "") -> str:
        """The model as a self-contained SVG picture.

        A tree is drawn as one; rules that are no tree become a table with bars for how many rows each covers.

        Parameters
        ----------
        direction : {"auto", "down", "right"}
            Where a tree grows; with "auto" wide trees grow to the right.
        title : str
            What a screen reader says first; by default the size of the model.

        Returns
        -------
        str
        """
        from omtree.report.svg import to_svg

        check_is_fitted(self, "certificate_")
        return to_svg(self, direction, title)

    def to_dot(self) -> str:
        """The model in the DOT language, for Graphviz."""
        from omtree.export.dot import to_dot

        check_is_fitted(self, "certificate_")
        return to_dot(self)

    def plot(self, ax: Any = None, direction: Direction = "auto") -> Any:
        """Draw the model with matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default a new figure of a suitable size.
        direction : {"auto", "down", "right"}
            Where a tree grows.

        Returns
        -------
        matplotlib axes
        """
        from omtree.report.plot import plot

        check_is_fitted(self, "certificate_")
        return plot(self, ax, direction)

    def report(
        self,
        path: str | Path,
        X: Any = None,
        y: Any = None,
        X_test: Any = None,
        y_test: Any = None,
        *,
        groups_test: Any = None,
        title: str = "",
        alternatives: int = 0,
        evaluated: PolicyValue | None = None,
    ) -> Path:
        """Write everything there is to see of the model into one HTML file that needs nothing else.

        Parameters
        ----------
        path : str or Path
            Where to write it.
        X, y : array or data frame, and array, optional
            The training data; with them the report shows how the model does on it.
        X_test, y_test : array or data frame, and array, optional
            Data that the model has not seen; what to expect on new rows is then taken from them.
        groups_test : array, series or data frame, optional
            The group columns of constraints for the test data, as in `audit`.
        title : str
            Heading of the report.
        alternatives : int
            How many other good trees to show, with what they test and where they disagree.
        evaluated : PolicyValue, optional
            Of a policy, in place of test data: what `evaluate` found on rows that it was not fitted to.

        Returns
        -------
        Path
            The file.
        """
        from omtree.report.page import write_report

        check_is_fitted(self, "certificate_")
        given: dict[str, Any] = {"title": title, "alternatives": alternatives, "evaluated": evaluated}
        return write_report(self, path, X, y, X_test, y_test, groups_test=groups_test, **given)

    def _html_picture(self) -> str | None:
        """The picture for a notebook, None before the fit."""
        if not hasattr(self, "certificate_"):
            return None
        from omtree.report.notebook import to_html

        return to_html(self)

    def _repr_html_inner(self) -> Any:
        picture = self._html_picture()
        return super()._repr_html_inner() if picture is None else picture  # type: ignore[misc]

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        picture = self._html_picture()
        if picture is not None and "text/html" in bundle:
            bundle["text/html"] = picture
        return bundle
