"""What changed between two trees, in words, in numbers of rows and in a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omtree.data.wording import answer
from omtree.model.tree import Tree, TreeNode


@dataclass(frozen=True)
class Difference:
    """Of two models.

    Attributes
    ----------
    changes : tuple of str
        A sentence for every node that differs, from the root down; what is below a node with another test is new.
    changed : int or None
        How many of the rows given get another answer; None without rows.
    rows : int or None
        How many rows were given.
    """

    changes: tuple[str, ...]
    changed: int | None = None
    rows: int | None = None
    _models: tuple[Any, Any] = field(repr=False, compare=False, default=(None, None))

    def __str__(self) -> str:
        lines = list(self.changes) or ["The trees are the same."]
        if self.changed is not None and self.rows:
            one = "row gets" if self.changed == 1 else "rows get"
            share = 100 * self.changed / self.rows
            lines.append(f"{self.changed:,} of {self.rows:,} {one} another answer ({share:.1f} %).")
        return "\n".join(lines)

    def to_svg(self) -> str:
        """Both trees side by side as one self-contained SVG picture."""
        from omtree.report.side_by_side import side_by_side

        return side_by_side(*self._models, str(self))


def diff(a: Any, b: Any, X: Any = None) -> Difference:
    """What changed from one fitted tree to another.

    Parameters
    ----------
    a, b : fitted models
        The old one and the new one; both trees.
    X : array or data frame, optional
        Rows to answer by both.

    Returns
    -------
    Difference

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from omtree import OptimalTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> large = OptimalTreeClassifier(max_depth=2).fit(X, y)
    >>> print(diff(large, large.with_leaves(3), X))
    At the root: a test of 'petal width (cm)' in place of 'petal length (cm)'.
    5 of 150 rows get another answer (3.3 %).
    """
    trees = [getattr(model, "tree_", None) for model in (a, b)]
    if trees[0] is None or trees[1] is None:
        raise ValueError("diff needs two fitted trees; fit with structure='tree'.")
    changes: list[str] = []
    _compare(trees[0], trees[0].nodes[0], trees[1], trees[1].nodes[0], (), changes)
    if X is None:
        return Difference(tuple(changes), _models=(a, b))
    old, new = np.asarray(a.predict(X)), np.asarray(b.predict(X))
    return Difference(tuple(changes), int((old != new).sum()), len(old), (a, b))


def _compare(a: Tree, old: TreeNode, b: Tree, new: TreeNode, way: tuple[str, ...], changes: list[str]) -> None:
    where = f"Where {' and '.join(way)}" if way else "At the root"
    if old.is_leaf and new.is_leaf:
        before, after = _answer(a, old), _answer(b, new)
        if before != after:
            changes.append(f"{where}: the answer is {after} in place of {before}.")
        return
    if new.is_leaf:
        changes.append(f"{where}: a leaf that answers {_answer(b, new)} in place of a test of {_feature(a, old)!r}.")
        return
    if old.is_leaf:
        changes.append(f"{where}: a test of {_feature(b, new)!r} in place of a leaf that answers {_answer(a, old)}.")
        return
    if _feature(a, old) != _feature(b, new):
        changes.append(f"{where}: a test of {_feature(b, new)!r} in place of {_feature(a, old)!r}.")
        return
    before_by, after_by = _children(a, old), _children(b, new)
    if before_by.keys() != after_by.keys():
        changes.append(
            f"{where}: {_feature(b, new)!r} is split into {_listed(after_by)} in place of {_listed(before_by)}."
        )
    for text, child in after_by.items():
        if text in before_by:
            _compare(a, before_by[text], b, child, (*way, text), changes)


def _children(tree: Tree, node: TreeNode) -> dict[str, TreeNode]:
    return {str(tree.nodes[child].condition): tree.nodes[child] for child in node.children}


def _listed(children: dict[str, TreeNode]) -> str:
    return "; ".join(children)


def _feature(tree: Tree, node: TreeNode) -> str:
    assert node.feature is not None
    return tree.rules.features[node.feature].name


def _answer(tree: Tree, node: TreeNode) -> str:
    assert node.rule is not None
    return answer(tree.rules[node.rule].prediction, tree.rules.classes)
