"""Changes to a fitted tree: wishes at its nodes, an exact refit of the rest, and what each wish costs."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from omtree.constraints import Constraint, Force
from omtree.data.table import Feature, Pooled
from omtree.data.wording import text_of
from omtree.deadline import Deadline
from omtree.estimators.refit import features_under, refitted
from omtree.fit.workbench import Workbench
from omtree.model.tree import Tree, TreeNode

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

#: Share of the time for cuts that suit the wishes, where the fit has kept few.
_CUTS_SHARE = 0.3


@dataclass(frozen=True)
class Wish:
    """One change.

    Attributes
    ----------
    text : str
        In words.
    node : int
        Where, as a position in ``tree_.nodes``.
    """

    text: str
    node: int
    _apply: Callable[[_Draft], None] = field(repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class Edit:
    """Changes to a fitted tree; each method gives a longer list of wishes and leaves this one as it is.

    What `OptimalTreeClassifier.edit` gives. Nodes are positions in ``tree_.nodes`` of the model; the tests on the way
    to a node that is named stay as they are.

    Attributes
    ----------
    wishes : tuple of Wish

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from omtree import OptimalTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    >>> other = model.edit().replace(0, "sepal length (cm)", at=[5.5]).refit()
    >>> print(other.prices_[0])
    Test 'sepal length (cm)' first, cut at 5.5, costs 8 errors: without it 3, with it 11.
    """

    _model: OptimalTreeBase
    _bench: Workbench
    _keep: Literal["path", "all"] = "path"
    wishes: tuple[Wish, ...] = ()

    def lock(self, node: int) -> Edit:
        """Keep the test of a node with its cuts, or keep a leaf a leaf.

        Parameters
        ----------
        node : int
        """
        found = self._node(node)
        if found.is_leaf:
            return self._with(f"Keep {self._name(node)} a leaf", node, lambda draft: draft.put(node, {"leaf": True}))
        return self._with(f"Keep the test of {self._name(node)}", node, lambda draft: draft.fix(node))

    def ban(self, feature: str, below: int = 0) -> Edit:
        """Test a column neither at a node nor below it.

        Parameters
        ----------
        feature : str
        below : int
            The node; 0 is the root.
        """
        self._node(below)

        def apply(draft: _Draft) -> None:
            spec = draft.at(below)
            spec["without"] = (*spec.get("without", ()), feature)

        where = "" if below == 0 else f" at and below {self._name(below)}"
        return self._with(f"Do not test {feature!r}{where}", below, apply)

    def replace(
        self,
        node: int,
        feature: str,
        *,
        at: Sequence[Any] | None = None,
        groups: Sequence[Sequence[Any]] | None = None,
    ) -> Edit:
        """Test another column at a node; what is below it is sought anew.

        Parameters
        ----------
        node : int
        feature : str
        at : sequence of numbers, optional
            Its cuts; by default the best ones.
        groups : sequence of sequences, optional
            The values of each child, of a column that is no number.
        """
        self._node(node)
        spec: dict[str, Any] = {"split": feature}
        how = ""
        if at is not None:
            spec["at"], how = list(at), f", cut at {' and '.join(map(text_of, at))},"
        if groups is not None:
            spec["groups"], how = [list(group) for group in groups], ", in these groups,"
        where = "first" if node == 0 else f"at {self._name(node)}"
        return self._with(f"Test {feature!r} {where}{how}", node, lambda draft: draft.put(node, spec))

    def move(self, node: int, at: Sequence[float]) -> Edit:
        """Cut the column of a node at other points; what is below it is sought anew.

        Parameters
        ----------
        node : int
        at : sequence of numbers
        """
        feature = self._split(node)
        spec = {"split": feature.name, "at": list(at)}
        text = f"Cut {feature.name!r} at {' and '.join(map(text_of, at))} at {self._name(node)}"
        return self._with(text, node, lambda draft: draft.put(node, spec))

    def merge(self, node: int) -> Edit:
        """Make a node a leaf: its leaves become one.

        Parameters
        ----------
        node : int
        """
        self._split(node)
        text = f"Make {self._name(node)} a leaf"
        return self._with(text, node, lambda draft: draft.put(node, {"leaf": True}))

    def split(self, node: int, feature: str | None = None) -> Edit:
        """Split a leaf.

        Parameters
        ----------
        node : int
        feature : str, optional
            The column it tests; by default the best one.
        """
        if not self._node(node).is_leaf:
            raise ValueError(f"node={node!r} is no leaf; use replace to give it another test.")
        spec: dict[str, Any] = {"leaf": False} if feature is None else {"split": feature}
        by = "" if feature is None else f" by {feature!r}"
        return self._with(f"Split {self._name(node)}{by}", node, lambda draft: draft.put(node, spec))

    def answer(self, node: int, class_: Any) -> Edit:
        """Make a node a leaf with this answer.

        Parameters
        ----------
        node : int
        class_ : object
            A class of ``y``.
        """
        self._node(node)
        text = f"Answer {text_of(class_)} at {self._name(node)}"
        return self._with(text, node, lambda draft: draft.put(node, {"answer": class_}))

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of the model with all wishes."""
        return self._constraints(self.wishes)

    def refit(self, time_limit: float | None = 60.0) -> OptimalTreeBase:
        """The best tree under the constraints of the model and all wishes, over the same thresholds and given cuts.

        A fit over all cuts of columns with very many values keeps only those of its tree: beside them there are those
        of the tree that a fit with the wishes finds.

        Parameters
        ----------
        time_limit : float or None
            Seconds.

        Returns
        -------
        a fitted model
            ``prices_`` tells what each wish costs.

        Raises
        ------
        InfeasibleError
            When no tree grants all wishes.
        """
        deadline = Deadline(time_limit)
        features = features_under(self._bench, self.constraints, deadline.share(_CUTS_SHARE))
        model = refitted(self._model, self._bench, self.constraints, deadline, features)
        wishes = self.wishes
        others = [[*wishes[:i], *wishes[i + 1 :]] for i in range(len(wishes))]
        model._wishes = tuple((wish.text, self._constraints(rest)) for wish, rest in zip(wishes, others, strict=True))
        return model

    def _constraints(self, wishes: Sequence[Wish]) -> tuple[Constraint, ...]:
        given = self._bench.plan.constraints
        kept = [constraint for constraint in given if not isinstance(constraint, Force)]
        base: Any = next((constraint.tree for constraint in given if isinstance(constraint, Force)), {})
        draft = _Draft(self._tree, copy.deepcopy(_mutable(base)))
        for wish in wishes:
            wish._apply(draft)
        if self._keep == "all":
            draft.keep_others({wish.node for wish in wishes})
        return (*kept, Force(draft.root)) if draft.root else tuple(kept)

    def _with(self, text: str, node: int, apply: Callable[[_Draft], None]) -> Edit:
        longer = replace(self, wishes=(*self.wishes, Wish(text, node, apply)))
        _ = longer.constraints  # complains about wishes that do not go together
        return longer

    @property
    def _tree(self) -> Tree:
        assert self._model.tree_ is not None
        return self._model.tree_

    def _node(self, node: int) -> TreeNode:
        if isinstance(node, bool) or not isinstance(node, int) or not 0 <= node < len(self._tree.nodes):
            raise ValueError(f"node={node!r} is no node of the tree; use 0 to {len(self._tree.nodes) - 1}.")
        return self._tree.nodes[node]

    def _split(self, node: int) -> Feature:
        feature = self._node(node).feature
        if feature is None:
            raise ValueError(f"node={node!r} is a leaf; use an inner node.")
        return self._tree.rules.features[feature]

    def _name(self, node: int) -> str:
        """What a person calls a node: the root, or where it is."""
        found, texts = self._node(node), []
        while found.parent is not None:
            texts.append(str(found.condition))
            found = self._tree.nodes[found.parent]
        return f"the node where {' and '.join(reversed(texts))}" if texts else "the root"


class _Draft:
    """A part of a tree that is given, as it grows wish by wish."""

    def __init__(self, tree: Tree, root: dict[str, Any]) -> None:
        self.tree = tree
        self.root = root

    def at(self, index: int) -> dict[str, Any]:
        """What is given of a node, after the tests on the way to it."""
        node = self.tree.nodes[index]
        if node.parent is None:
            return self.root
        self.fix(node.parent)
        spec = self.at(node.parent)
        place = self._places(self.tree.nodes[node.parent])[index]
        if place is None:
            raise ValueError(f"node={index!r} has the missing cells alone, which cannot be kept; name another node.")
        found: dict[str, Any] = spec["below"][place]
        return found

    def put(self, index: int, given: dict[str, Any]) -> None:
        """Give a node other contents; columns that are banned there stay so."""
        spec = self.at(index)
        without = spec.get("without")
        if "split" in spec and "below" in spec and any(spec["below"]):
            raise ValueError(f"Wishes for node {index} and for nodes below it do not go together; leave one out.")
        spec.clear()
        spec.update(given)
        if without:
            spec["without"] = without

    def fix(self, index: int) -> None:
        """Keep the test of a node."""
        spec, node = self.at(index), self.tree.nodes[index]
        split = self._split(node)
        known = {key: value for key, value in spec.items() if key in ("split", "at", "groups", "leaf", "answer")}
        if known.get("leaf") is False:
            known = {}
        plain = {key: split[key] for key in known if key in split}
        if known and _comparable(known) != _comparable(plain):
            raise ValueError(f"Node {index} has another test by one of the wishes, and is needed by another one.")
        below = list(spec.get("below", ()))
        spec.pop("leaf", None)
        spec.update(split)
        spec["below"] = [*below, *({} for _ in range(len(node.children)))][: self._n_parts(node)]

    def keep_others(self, edited: set[int]) -> None:
        """Keep all nodes that are neither edited nor below one that is."""
        open_: set[int] = set()
        for node in self.tree.nodes:
            if node.index in edited or node.parent in open_:
                open_.add(node.index)
        for node in self.tree.nodes:
            if node.index in open_:
                continue
            if node.is_leaf:
                if node.parent is None or self._places(self.tree.nodes[node.parent])[node.index] is not None:
                    self.at(node.index)["leaf"] = True
            else:
                self.fix(node.index)

    def _places(self, node: TreeNode) -> dict[int, int | None]:
        """The place of every child among the parts; None where it has the missing cells alone."""
        feature = self._feature(node)
        missing = feature.n_values if feature.has_missing and feature.ordered else -1
        codes = {child: sorted(set(self._codes(child)) - {missing}) for child in node.children}
        firsts = sorted((own[0], child) for child, own in codes.items() if own)
        order = [child for _, child in firsts]
        return {child: order.index(child) if child in order else None for child in node.children}

    def _n_parts(self, node: TreeNode) -> int:
        return sum(place is not None for place in self._places(node).values())

    def _split(self, node: TreeNode) -> dict[str, Any]:
        """The test of a node in the terms of Force."""
        feature, places = self._feature(node), self._places(node)
        parts: list[list[int]] = [[] for place in places.values() if place is not None]
        spec: dict[str, Any] = {"split": feature.name}
        missing = feature.n_values if feature.has_missing and feature.ordered else -1
        for child, place in places.items():
            if place is not None:
                parts[place] = sorted(set(self._codes(child)) - {missing})
                if missing in self._codes(child):
                    spec["missing"] = place
        if len(parts) < 2:
            raise ValueError(f"Node {node.index} parts the missing cells from all others, which cannot be kept.")
        if feature.thresholds is not None:
            spec["at"] = tuple(float(feature.thresholds[part[-1]]) for part in parts[:-1])
            return spec
        # Values that do not come to the node may be in any group.
        elsewhere = set(range(feature.n_codes)) - {code for part in parts for code in part} - {missing}
        if feature.ordered:
            firsts = [0, *(part[0] for part in parts[1:]), feature.n_values]
            parts = [list(range(low, high)) for low, high in itertools.pairwise(firsts)]
        else:
            parts[0] = sorted({*parts[0], *elsewhere})
        spec["groups"] = tuple(tuple(_value(feature, code) for code in part) for part in parts)
        return spec

    def _codes(self, child: int) -> tuple[int, ...]:
        condition = self.tree.nodes[child].condition
        assert condition is not None
        return condition.codes

    def _feature(self, node: TreeNode) -> Feature:
        assert node.feature is not None
        return self.tree.rules.features[node.feature]


def _value(feature: Feature, code: int) -> Any:
    assert feature.levels is not None
    if code == feature.n_values:
        return None if "missing" in feature.levels else "missing"
    level = feature.levels[code]
    return str(level) if isinstance(level, Pooled) else level


def _mutable(node: Any) -> dict[str, Any]:
    return {key: [_mutable(child) for child in value] if key == "below" else value for key, value in node.items()}


def _comparable(spec: dict[str, Any]) -> dict[str, Any]:
    def listed(value: Any) -> Any:
        return [listed(item) for item in value] if isinstance(value, (list, tuple)) else value

    return {key: listed(value) for key, value in spec.items()}
