"""Models as ONNX graphs.

Every column is an input of its own, so numbers and texts can be mixed. A column becomes its code by tests in double
precision (``x >= threshold`` for each threshold, summed), or by a table of its texts. The code picks a row of a table
that says which rules fail, and the rule that fails least often, the heaviest among equals, answers. A tree is the same
with one rule per leaf, of which exactly one never fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import UNKNOWN, Feature, Pooled
from omtree.export.logic import Logic, members, plain, predicts_as_tree

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

_OPSET, _ML_OPSET, _IR_VERSION = 17, 2, 8


def to_onnx(model: OptimalTreeBase) -> Any:
    """The model as an ``onnx.ModelProto``; needs the package `onnx`.

    Inputs have the columns' names and shape (rows, 1): texts where the column's values are texts, doubles everywhere
    else (booleans are 0 and 1). A missing number is NaN, a missing text the empty text. Outputs: ``label`` and
    ``probabilities`` of a classifier (in the order of ``classes_``), ``prediction`` of a regressor. Inputs are what
    columns were read as: numbers, and for a date the days since 1970-01-01 under its own name, and its year, month,
    weekday and hour under names such as ``year of admitted``.

    Parameters
    ----------
    model : fitted model

    Raises
    ------
    ImportError
        Without the package `onnx`.
    ValueError
        Where ONNX cannot carry the model: an empty text that is a value beside missing cells, texts and numbers in
        one column, a column without a name.
    """
    try:
        from onnx import TensorProto, checker, helper
    except ImportError:
        raise ImportError("to_onnx needs the package onnx; install it with pip install 'omtree[onnx]'.") from None
    logic = Logic.of_one_answer(model, "ONNX")
    graph = _Graph(helper, TensorProto, {feature.name for feature in logic.features})
    order, tables = _tables(model)
    failed = [graph.gather(table, graph.code(feature)) for feature, table in tables]
    labels = np.array([logic.predictions[rule] for rule in order])
    outputs = [("label" if logic.classes else "prediction", labels)]
    if logic.shares:
        shares = np.empty((len(order), len(logic.classes)))
        shares[:, model._class_order] = [logic.shares[rule] for rule in order]
        outputs.append(("probabilities", shares))
    if failed:
        total = failed[0]
        for other in failed[1:]:
            total = graph.node("Add", [total, other])
        best = graph.node("ArgMin", [total], axis=1, keepdims=0)
    else:
        best = graph.first_of_each_row(model)
    results = [graph.output(name, values, best) for name, values in outputs]
    proto = helper.make_model(
        helper.make_graph(graph.nodes, "omtree", graph.inputs, results, graph.constants),
        producer_name="omtree",
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)],
        ir_version=_IR_VERSION,
    )
    checker.check_model(proto)
    return proto


def _tables(model: OptimalTreeBase) -> tuple[list[int], list[tuple[Feature, npt.NDArray[np.float32]]]]:
    """The rules, heaviest first, and per feature which of them fail at each code.

    The last row of a table is for values that training did not have.
    """
    rules = model.rules_
    order = sorted(range(len(rules)), key=lambda r: -rules[r].support)
    place = {rule: position for position, rule in enumerate(order)}
    passing: dict[int, list[tuple[int, set[int]]]] = {}
    if predicts_as_tree(model) and model.tree_ is not None:
        nodes = model.tree_.nodes
        for leaf in nodes:
            node = leaf
            while leaf.rule is not None and node.parent is not None:
                above = nodes[node.parent]
                assert above.feature is not None
                assert node.condition is not None
                codes = set(node.condition.codes)
                if above.default == node.index:
                    taken = {code for sibling in above.children for code in _codes(nodes[sibling])}
                    codes |= set(range(UNKNOWN + 1)) - taken
                passing.setdefault(above.feature, []).append((place[leaf.rule], codes))
                node = above
    else:
        for rule, position in place.items():
            for condition in rules[rule].conditions:
                passing.setdefault(condition.feature, []).append((position, set(condition.codes)))
    tables = []
    for position, tests in sorted(passing.items()):
        feature = rules.features[position]
        rows = [*range(feature.n_codes), UNKNOWN]
        table = np.zeros((len(rows), len(rules)), dtype=np.float32)
        for rule, codes in tests:
            table[:, rule] += [row not in codes for row in rows]
        tables.append((feature, table))
    return order, tables


def _codes(node: Any) -> tuple[int, ...]:
    return tuple(node.condition.codes)


def _code_of_rest(feature: Feature, unknown: int) -> int:
    """The code of a text that no level lists."""
    assert feature.levels is not None
    return next(
        (code for code, level in enumerate(feature.levels) if isinstance(level, Pooled) and level.rest), unknown
    )


class _Graph:
    """The parts of an ONNX graph while it is built."""

    def __init__(self, helper: Any, types: Any, taken: set[str]) -> None:
        self.helper, self.types = helper, types
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.constants: list[Any] = []
        self._taken = {*taken, "label", "probabilities", "prediction"}
        self._count = 0

    def code(self, feature: Feature) -> str:
        """The codes of a column, as int64 of shape (rows,)."""
        unknown = feature.n_codes
        missing = feature.n_values if feature.has_missing else unknown
        if not feature.name:
            raise ValueError(f"Column {feature.column} has an empty name, which ONNX does not allow; give it a name.")
        if feature.name in ("label", "probabilities", "prediction"):
            raise ValueError(f"Column {feature.name!r} has the name of an output of the ONNX graph; rename it.")
        levels = None if feature.levels is None else members(feature.levels)
        if levels is not None and any(isinstance(level, str) for level in levels):
            return self._text_code(feature, levels, missing, unknown)
        cell = self._input(feature.name, self.types.DOUBLE)
        if levels is None:
            assert feature.thresholds is not None
            above = self.node("GreaterOrEqual", [cell, self.constant(feature.thresholds.reshape(1, -1))])
            code = self._sum(above, np.ones((len(feature.thresholds), 1), dtype=np.float32))
        else:
            steps = np.array([[self._code_of(feature, level) - unknown] for level in levels], dtype=np.float32)
            equal = self.node("Equal", [cell, self.constant(np.array([levels], dtype=np.float64))])
            code = self.node("Add", [self._sum(equal, steps), self.constant(np.float32(unknown))])
        absent = self.node("IsNaN", [self.node("Cast", [cell], to=self.types.FLOAT)])
        code = self.node("Where", [absent, self.constant(np.float32(missing)), code])
        return self._flat(self.node("Cast", [code], to=self.types.INT64))

    def gather(self, table: npt.NDArray[Any], code: str) -> str:
        """The row of the table at each code."""
        return self.node("Gather", [self.constant(table), code], axis=0)

    def first_of_each_row(self, model: OptimalTreeBase) -> str:
        """Zero for every row of a model that asks nothing; a column of whatever type counts the rows."""
        names = vars(model).get("feature_names_in_")
        name, kind = "x0" if names is None else str(names[0]), self.types.DOUBLE
        for feature in model.rules_.features[:1]:
            levels = () if feature.levels is None else members(feature.levels)
            name, kind = feature.name, self.types.STRING if any(isinstance(each, str) for each in levels) else kind
        rows = self.node("Slice", [self.node("Shape", [self._input(name, kind)]), *map(self.constant, ([0], [1]))])
        return self.node("ConstantOfShape", [rows], value=self.helper.make_tensor("zero", self.types.INT64, [1], [0]))

    def output(self, name: str, values: npt.NDArray[Any], best: str) -> Any:
        """An output that is one of the values, or a row of them, per rule."""
        table = self.constant(values)
        self.nodes.append(self.helper.make_node("Gather", [table, best], [name], axis=0))
        kind = self.constants[-1].data_type
        return self.helper.make_tensor_value_info(name, kind, [None, *values.shape[1:]])

    def node(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        """Append a node with one output."""
        name = self._name(operator)
        self.nodes.append(self.helper.make_node(operator, inputs, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        """A constant tensor."""
        array = np.asarray(value)
        name = self._name("constant")
        if array.dtype.kind in "UO":
            cells = [str(cell).encode() for cell in array.ravel().tolist()]
            tensor = self.helper.make_tensor(name, self.types.STRING, array.shape, cells)
        else:
            kind = self.helper.np_dtype_to_tensor_dtype(array.dtype)
            tensor = self.helper.make_tensor(name, kind, array.shape, array.ravel().tolist())
        self.constants.append(tensor)
        return name

    def _text_code(self, feature: Feature, levels: tuple[Any, ...], missing: int, unknown: int) -> str:
        if not all(isinstance(level, str) for level in levels):
            raise ValueError(f"Column {feature.name!r} has texts and numbers as values; ONNX needs one type of value.")
        texts = list(levels)
        codes = [self._code_of(feature, level) for level in levels]
        if "" not in texts:
            texts.append("")
            codes.append(missing)
        elif feature.has_missing:
            raise ValueError(
                f"Column {feature.name!r} has the empty text as a value beside missing cells, "
                "which ONNX cannot tell apart; rename that value."
            )
        name = self._name("code")
        cell = self._input(feature.name, self.types.STRING)
        self.nodes.append(
            self.helper.make_node(
                "LabelEncoder",
                [cell],
                [name],
                domain="ai.onnx.ml",
                keys_strings=texts,
                values_int64s=codes,
                default_int64=_code_of_rest(feature, unknown),
            )
        )
        return self._flat(name)

    def _code_of(self, feature: Feature, level: Any) -> int:
        assert feature.levels is not None
        return next(code for code, each in enumerate(feature.levels) if level in members([plain(each)]))

    def _input(self, name: str, kind: int) -> str:
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, [None, 1]))
        return name

    def _sum(self, holds: str, steps: npt.NDArray[np.float32]) -> str:
        return self.node("MatMul", [self.node("Cast", [holds], to=self.types.FLOAT), self.constant(steps)])

    def _flat(self, name: str) -> str:
        return self.node("Reshape", [name, self.constant(np.array([-1], dtype=np.int64))])

    def _name(self, stem: str) -> str:
        while True:
            self._count += 1
            name = f"{stem}_{self._count}"
            if name not in self._taken:
                return name
