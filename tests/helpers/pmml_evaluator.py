"""A small evaluator of PMML tree models, written from the specification and not from the exporter.

Predicates have three values (True, False, None for unknown); a comparison with a missing cell is unknown, which the
missing value strategy "none" takes for false.
"""

from __future__ import annotations

import shlex
import xml.etree.ElementTree as ET
from typing import Any

NS = "{http://www.dmg.org/PMML-4_4}"
ORDER_OF_NODE = ("predicate", "ScoreDistribution", "Node")


def evaluate_pmml(text: str, rows: list[dict[str, Any]]) -> list[tuple[Any, dict[str, float]]]:
    """The score and the class shares of every row; assertions check the structure."""
    root = ET.fromstring(text.encode())
    assert root.tag == f"{NS}PMML"
    assert root.get("version") == "4.4"
    assert [child.tag for child in root] == [f"{NS}Header", f"{NS}DataDictionary", f"{NS}TreeModel"]
    dictionary = {field.get("name"): field for field in root.iter(f"{NS}DataField")}
    assert int(root.find(f"{NS}DataDictionary").get("numberOfFields")) == len(dictionary)
    tree = root.find(f"{NS}TreeModel")
    assert [child.tag for child in tree] == [f"{NS}MiningSchema", f"{NS}Output", f"{NS}Node"]
    assert tree.get("missingValueStrategy") == "none"
    fields = {field.get("name"): field for field in tree.iter(f"{NS}MiningField")}
    assert set(fields) == set(dictionary)
    targets = [name for name, field in fields.items() if field.get("usageType") == "target"]
    assert len(targets) == 1
    for name, field in fields.items():
        if name != targets[0]:
            assert field.get("invalidValueTreatment") == "asIs"
    ids = [node.get("id") for node in tree.iter(f"{NS}Node")]
    assert len(ids) == len(set(ids))
    types = {name: field.get("dataType") for name, field in dictionary.items()}
    return [_descend(tree.find(f"{NS}Node"), row, types, types[targets[0]]) for row in rows]


def _descend(node: ET.Element, row: dict[str, Any], types: dict[str, str], target: str) -> tuple[Any, dict[str, float]]:
    while True:
        kinds = [child.tag.removeprefix(NS) for child in node]
        order = [ORDER_OF_NODE.index(kind) if kind in ORDER_OF_NODE else 0 for kind in kinds]
        assert order == sorted(order)
        children = node.findall(f"{NS}Node")
        if not children:
            distribution = list(node.iter(f"{NS}ScoreDistribution"))
            if distribution:
                assert sum(float(each.get("recordCount")) for each in distribution) == float(node.get("recordCount"))
            shares = {each.get("value"): float(each.get("probability")) for each in distribution}
            return _typed(node.get("score"), target), shares
        node = next(child for child in children if _holds(child[0], row, types) is True)


def _holds(predicate: ET.Element, row: dict[str, Any], types: dict[str, str]) -> bool | None:
    tag = predicate.tag.removeprefix(NS)
    if tag == "True":
        return True
    if tag == "CompoundPredicate":
        parts = [_holds(part, row, types) for part in predicate]
        assert len(parts) >= 2
        deciding = predicate.get("booleanOperator") == "or"
        if deciding in parts:
            return deciding
        return None if None in parts else not deciding
    name = predicate.get("field")
    cell = row[name]
    if tag == "SimplePredicate":
        operator = predicate.get("operator")
        if operator == "isMissing":
            return cell is None
        if operator == "isNotMissing":
            return cell is not None
        if cell is None:
            return None
        value = _typed(predicate.get("value"), types[name])
        match operator:
            case "equal":
                return bool(cell == value)
            case "notEqual":
                return bool(cell != value)
            case "lessThan":
                return bool(cell < value)
            case "greaterOrEqual":
                return bool(cell >= value)
    assert tag == "SimpleSetPredicate"
    assert predicate.get("booleanOperator") == "isIn"
    if cell is None:
        return None
    array = predicate.find(f"{NS}Array")
    values = shlex.split(array.text, posix=True)
    assert int(array.get("n")) == len(values)
    return cell in [_typed(value, types[name]) for value in values]


def _typed(text: str, kind: str) -> Any:
    match kind:
        case "double":
            return float(text)
        case "integer":
            return int(text)
        case "boolean":
            return {"true": True, "false": False}[text]
    assert kind == "string"
    return text
