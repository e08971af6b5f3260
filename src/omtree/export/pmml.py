"""Models as PMML 4.4: a ``TreeModel`` whose nodes may have any number of children."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from omtree.data.table import Feature
from omtree.export.logic import Branching, Logic, Rung, Test, members

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

_SPACE = "http://www.dmg.org/PMML-4_4"
#: Characters that XML cannot hold.
_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ARRAY_TYPES = {"string": "string", "boolean": "string", "integer": "int", "double": "real"}
#: Characters that PMML's lists of texts leave open how to write.
_UNCLEAR = re.compile(r'["\\\t\n\r]')


def to_pmml(model: OptimalTreeBase, target: str = "prediction") -> str:
    """The model as a PMML document.

    Children are tried in order, and the last one takes what is left, values never seen in training included. A set of
    rules is a tree of one level: first the rules themselves, the heaviest first, then all their conditions but one,
    and so on. Fields are what columns were read as: numbers, and for a date the days since 1970-01-01 under its own
    name, and its year, month, weekday and hour under names such as ``year of admitted``.

    Parameters
    ----------
    model : fitted model
    target : str
        What to call the predicted column.
    """
    logic = Logic.of_one_answer(model, "PMML")
    taken = {feature.name for feature in logic.features}
    while target in taken:
        target += "_"
    root = ET.Element("PMML", {"xmlns": _SPACE, "version": "4.4"})
    from omtree import __version__

    ET.SubElement(ET.SubElement(root, "Header"), "Application", {"name": "omtree", "version": __version__})
    _dictionary(root, logic, target)
    function = "classification" if logic.classes else "regression"
    tree = ET.SubElement(
        root,
        "TreeModel",
        {
            "functionName": function,
            "splitCharacteristic": "multiSplit",
            "missingValueStrategy": "none",
            "noTrueChildStrategy": "returnNullPrediction",
        },
    )
    schema = ET.SubElement(tree, "MiningSchema")
    ET.SubElement(schema, "MiningField", {"name": target, "usageType": "target"})
    for feature in logic.features:
        # Values that training did not have are no error: they go where the model sends them.
        ET.SubElement(schema, "MiningField", {"name": feature.name, "invalidValueTreatment": "asIs"})
    _output(tree, logic)
    writer = _Nodes(model, logic)
    if logic.root is not None:
        writer.node(tree, ET.Element("True"), logic.root)
    else:
        writer.ladder(tree, logic.ladder)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", xml_declaration=False)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _dictionary(root: ET.Element, logic: Logic, target: str) -> None:
    dictionary = ET.SubElement(root, "DataDictionary", {"numberOfFields": str(len(logic.features) + 1)})
    if logic.classes:
        field = {"name": target, "optype": "categorical", "dataType": _type(logic.classes)}
    else:
        field = {"name": target, "optype": "continuous", "dataType": "double"}
    _values(ET.SubElement(dictionary, "DataField", field), logic.classes)
    for feature in logic.features:
        optype = {"numeric": "continuous", "ordinal": "ordinal", "nominal": "categorical"}[feature.kind]
        levels = _levels(feature)
        kind = "double" if feature.levels is None else _type(levels)
        field = {"name": _checked(feature.name), "optype": optype, "dataType": kind}
        _values(ET.SubElement(dictionary, "DataField", field), levels)


def _levels(feature: Feature) -> tuple[Any, ...]:
    return () if feature.levels is None else members(feature.levels)


def _values(field: ET.Element, values: Sequence[Any]) -> None:
    for value in values:
        ET.SubElement(field, "Value", {"value": _shown(value)})


def _output(tree: ET.Element, logic: Logic) -> None:
    output = ET.SubElement(tree, "Output")
    kind = _type(logic.classes) if logic.classes else "double"
    optype = "categorical" if logic.classes else "continuous"
    predicted = {"name": "predicted", "optype": optype, "dataType": kind, "feature": "predictedValue"}
    ET.SubElement(output, "OutputField", predicted)
    for label in map(_shown, logic.classes if logic.shares else ()):
        field = {"name": f"probability({label})", "optype": "continuous", "dataType": "double"}
        ET.SubElement(output, "OutputField", {**field, "feature": "probability", "value": label})


class _Nodes:
    """Writes nodes, numbered in the order they are written."""

    def __init__(self, model: OptimalTreeBase, logic: Logic) -> None:
        self.rules = model.rules_
        self.logic = logic
        self.count = itertools.count(1)

    def node(self, above: ET.Element, predicate: ET.Element, node: Branching | int) -> None:
        element = self._element(above, predicate)
        if isinstance(node, int):
            self._leaf(element, node)
            return
        for test, below in node.branches:
            self.node(element, _predicate(test), below)
        self.node(element, ET.Element("True"), node.otherwise)

    def ladder(self, above: ET.Element, ladder: tuple[Rung, ...]) -> None:
        element = self._element(above, ET.Element("True"))
        for rung in ladder[:-1]:
            self._leaf(self._element(element, _rung(rung)), rung.rule)
        self._leaf(self._element(element, ET.Element("True")), ladder[-1].rule)

    def _element(self, above: ET.Element, predicate: ET.Element) -> ET.Element:
        element = ET.SubElement(above, "Node", {"id": str(next(self.count))})
        element.append(predicate)
        return element

    def _leaf(self, element: ET.Element, rule: int) -> None:
        element.set("score", _shown(self.logic.predictions[rule]))
        element.set("recordCount", _shown(float(self.rules[rule].support)))
        for place, label in enumerate(self.logic.classes if self.logic.shares else ()):
            share = {
                "value": _shown(label),
                "recordCount": _shown(float(self.rules[rule].class_weights[place])),
                "probability": _shown(self.logic.shares[rule][place]),
            }
            ET.SubElement(element, "ScoreDistribution", share)


def _rung(rung: Rung) -> ET.Element:
    """At most some of the tests fail: one of the sets of the others holds."""
    size = len(rung.tests) - rung.failures
    ways = itertools.combinations(rung.tests, size)
    return _combined("or", [_combined("and", [_predicate(test) for test in way]) for way in ways])


def _predicate(test: Test) -> ET.Element:
    name = test.feature.name
    parts = []
    for low, high in test.intervals:
        bounds = [] if low is None else [_simple(name, "greaterOrEqual", low)]
        bounds += [] if high is None else [_simple(name, "lessThan", high)]
        parts.append(_combined("and", bounds) if bounds else _simple(name, "isNotMissing"))
    if test.negated:
        return _combined("or", [_none_of(name, test.values), *([_simple(name, "isMissing")] if test.missing else [])])
    clear = [value for value in test.values if not (isinstance(value, str) and (_UNCLEAR.search(value) or not value))]
    if len(clear) > 1:
        kind = {"string": "string", "boolean": "string", "integer": "int", "double": "real"}[
            _type(_levels(test.feature))
        ]
        chosen = ET.Element("SimpleSetPredicate", {"field": name, "booleanOperator": "isIn"})
        array = ET.SubElement(chosen, "Array", {"n": str(len(clear)), "type": kind})
        array.text = " ".join(f'"{_shown(value)}"' if kind == "string" else _shown(value) for value in clear)
        parts.append(chosen)
    else:
        parts += [_simple(name, "equal", value) for value in clear]
    parts += [_simple(name, "equal", value) for value in test.values if value not in clear]
    if test.missing:
        parts.append(_simple(name, "isMissing"))
    return _combined("or", parts)


def _none_of(name: str, values: Sequence[Any]) -> ET.Element:
    """The cell is there, and none of these values."""
    return _combined("and", [_simple(name, "isNotMissing"), *(_simple(name, "notEqual", value) for value in values)])


def _simple(name: str, operator: str, value: Any = None) -> ET.Element:
    asked = {"field": name, "operator": operator}
    return ET.Element("SimplePredicate", asked if value is None else {**asked, "value": _shown(value)})


def _combined(operator: str, parts: list[ET.Element]) -> ET.Element:
    if len(parts) == 1:
        return parts[0]
    whole = ET.Element("CompoundPredicate", {"booleanOperator": operator})
    whole.extend(parts)
    return whole


def _type(values: Sequence[Any]) -> str:
    if all(isinstance(value, bool) for value in values):
        return "boolean"
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return "integer"
    if any(isinstance(value, str) for value in values):
        return "string"
    return "double"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (int, float)) else _checked(str(value))


def _checked(text: str) -> str:
    if _IMPOSSIBLE.search(text):
        raise ValueError(f"{text!r} has a character that PMML cannot hold; rename it, or export to another format.")
    return text
