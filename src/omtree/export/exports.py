"""What a fitted model can be turned into for use elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    from omtree.export.sql_dialects import DialectName
    from omtree.model.explain import Explanations
    from omtree.model.reason_codes import ReasonCodes
    from omtree.model.reasons import Reason


class Exports:
    """Files and languages; every export answers as `predict` does, missing and never seen values included."""

    def to_json(self, *, sizes: bool = True) -> str:
        """The whole model as JSON text: rules, tree, the trees of every size, certificate and parameters.

        Parameters
        ----------
        sizes : bool
            Whether to keep the best trees of every size, for `with_leaves`. Those that nobody has asked for yet are
            searched for first, which can take as long as the fit.
        """
        from omtree.export import saving

        return saving.to_json(_fitted(self), sizes=sizes)

    def save(self, path: str | os.PathLike[str], *, sizes: bool = True) -> None:
        """Write the model to a JSON file, for `omtree.load`; an old file is replaced in one step.

        Parameters
        ----------
        path : str or path
        sizes : bool
            Whether to keep the best trees of every size, as in `to_json`.
        """
        from omtree.export import saving

        saving.save(_fitted(self), path, sizes=sizes)

    def to_sql(
        self,
        table: str | None = None,
        *,
        probability_of: Any = None,
        dialect: DialectName = "ansi",
        reasons: int = 0,
        reason_codes: ReasonCodes | str | os.PathLike[str] | None = None,
    ) -> str:
        """The model as a SQL ``CASE`` expression, or as a query over a table.

        Missing cells are NULL.

        Parameters
        ----------
        table : str, optional
            With a table, the result is a query with all its columns and one more, ``prediction`` (or
            ``probability``); of several targets one for each, ``prediction_`` and its name.
        probability_of : optional
            A class, for its share in the training rows of the row's rule in place of the prediction.
        dialect : {"ansi", "postgres", "sqlite", "duckdb", "mysql", "bigquery", "snowflake", "tsql"}
            The database it is for: they quote names and texts in different ways.
        reasons : int
            With a table: so many more columns, ``reason_1`` and so on, with the weightiest reasons for the prediction,
            as codes where there is one, else as sentences; NULL where there are fewer.
        reason_codes : ReasonCodes or path, optional
            From conditions to codes, as in `reasons`.
        """
        from omtree.export import sql

        return sql.to_sql(
            _fitted(self),
            table,
            probability_of=probability_of,
            dialect=dialect,
            reasons=reasons,
            reason_codes=reason_codes,
        )

    def to_python(self, *, reasons: int = 0, reason_codes: ReasonCodes | str | os.PathLike[str] | None = None) -> str:
        """The model as a Python module that needs nothing but Python.

        It has ``predict(row)`` and, for classes, ``predict_proba(row)``; a row is a dict of cells by column.

        Parameters
        ----------
        reasons : int
            With a number it also has ``reasons(row)``: so many pairs of code and sentence, the weightiest first.
        reason_codes : ReasonCodes or path, optional
            From conditions to codes, as in `reasons`.
        """
        from omtree.export import python_source

        return python_source.to_python(_fitted(self), reasons, reason_codes)

    def to_pmml(self, target: str = "prediction") -> str:
        """The model as a PMML 4.4 document with multiway splits.

        Parameters
        ----------
        target : str
            What to call the predicted column.
        """
        from omtree.export import pmml

        return pmml.to_pmml(_fitted(self), target)

    def to_onnx(self) -> Any:
        """The model as an ``onnx.ModelProto``; needs ``omtree[onnx]``.

        Inputs have the columns' names and shape (rows, 1): texts where the column's values are texts, doubles
        everywhere else (booleans are 0 and 1). A missing number is NaN, a missing text the empty text.
        """
        from omtree.export import onnx

        return onnx.to_onnx(_fitted(self))

    def to_sklearn(self) -> DecisionTreeClassifier | DecisionTreeRegressor:
        """The tree as a fitted tree of scikit-learn, for tools that are written for those.

        The columns it asks about must be numbers; splits into more than two parts become several splits. Scikit-learn
        reads cells as 32-bit numbers, so a cell that is next to a cut within that precision may fall on its other
        side, and numbers that stood for values of their own go with the nearest one if training did not have them.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from omtree import OptimalTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = OptimalTreeClassifier(max_depth=2).fit(X, y)
        >>> bool((model.to_sklearn().predict(X) == model.predict(X)).all())
        True
        """
        from omtree.export import sklearn_tree

        return sklearn_tree.to_sklearn(_fitted(self))

    def to_mermaid(self, direction: Literal["TD", "LR"] = "TD") -> str:
        """The model as a Mermaid flowchart.

        Parameters
        ----------
        direction : {"TD", "LR"}
            Whether the chart grows downwards or to the right.
        """
        from omtree.export import mermaid

        return mermaid.to_mermaid(_fitted(self), direction)

    def explain(self, X: Any, fixed: Sequence[str] = ()) -> Explanations:
        """Why the model says what it says of each row, and the smallest change that would change its mind.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
        fixed : sequence of str
            Columns that cannot be changed, such as an age: the change does without them.

        Returns
        -------
        Explanations
            A list with an Explanation for each row; ``print`` shows all of them, or one, in words.
        """
        from omtree.model.explain import explain

        return explain(_fitted(self), X, fixed)

    def reasons(
        self, X: Any, n: int = 4, codes: ReasonCodes | str | os.PathLike[str] | None = None
    ) -> list[tuple[Reason, ...]]:
        """The conditions that decided about each row, the weightiest first.

        In a tree they are ordered by how much they moved the answer away from the average one (exact Shapley values of
        the leaf's conditions), and those that spoke against it are left out. In a set of rules they stand in the order
        of the rule.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
        n : int
            At most so many for a row.
        codes : ReasonCodes or path, optional
            A table from conditions to codes and sentences, or its TOML file.

        Returns
        -------
        list of tuple of Reason
        """
        from omtree.model.reasons import reasons

        return reasons(_fitted(self), X, n, codes)


def _fitted(model: Any) -> Any:
    check_is_fitted(model, "certificate_")
    return model
