"""A fitted model as one JSON document, and back.

Version 1 holds, besides the format's name and version: ``kind`` (classifier, regressor, policy or survival),
``parameters``, ``columns`` (number, names, kinds, and the target's name where it is known), ``classes`` (of a policy
its actions), ``features``, ``graph``, ``model`` (rules and tree), ``sizes`` (the best trees of every size),
``certificate``, ``code_shares`` (how the training rows are spread over the values of the features that are asked
about), ``outputs`` (of several targets, their names and classes, or weights),
``validation`` (how models of the same kind did on rows held out, where that was asked for), ``policy`` (what
a policy brings beside simpler ones) and ``origin`` (data file, its hash, day of the fit). Conditions are lists of
codes of a feature; the text of a rule is for people.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omtree.constraints import ConstraintCheck
from omtree.constraints.constraint import Level
from omtree.data.table import Feature
from omtree.errors import warn
from omtree.estimators.parameters import check_parameters
from omtree.export.document_features import are_ordered, classes_in, feature_out, features_in, text, type_name
from omtree.export.document_model import model_in, model_out
from omtree.export.document_readings import reading_out, readings_in
from omtree.export.model_file import FORMAT, VERSION
from omtree.export.plain import NotPlainError, finite, from_plain, listed, number, to_plain, whole
from omtree.export.policy_part import value_in, value_out
from omtree.export.schema import made
from omtree.export.validation import validation_in, validation_out
from omtree.model.answering import as_sorted, asked_features
from omtree.model.assurance import Assurance
from omtree.model.certificate import Certificate
from omtree.model.code_shares import shares_in
from omtree.model.sizes import BuiltFamily, TreeFamily
from omtree.problem.graph import FeatureGraph
from omtree.sources.several import JointClasses, NumberTargets

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

#: What a document calls the models of each estimator.
_KINDS = {
    "OptimalTreeClassifier": "classifier",
    "OptimalTreeRegressor": "regressor",
    "OptimalPolicyTree": "policy",
    "OptimalSurvivalTree": "survival",
}


def to_document(model: OptimalTreeBase, *, sizes: bool = True) -> dict[str, Any]:
    """The document of a fitted model, with or without the trees of every size."""
    from omtree import __version__

    actions: npt.NDArray[Any] | None = vars(model).get("actions_")
    classes: npt.NDArray[Any] | None = vars(model).get("classes_")
    names: npt.NDArray[Any] | None = vars(model).get("feature_names_in_")
    family: TreeFamily | None = vars(model).get("_family") if sizes else None
    if classes is not None:
        classes = classes[model._class_order]
    elif actions is not None:
        classes = actions
    asked = _asked(model, family)
    return {
        "format": FORMAT,
        "version": VERSION,
        "omtree": __version__,
        "kind": _KINDS[type(model).__name__],
        "parameters": _parameters(model),
        "columns": {
            "count": int(model.n_features_in_),
            "names": None if names is None else [str(name) for name in names],
            "kinds": to_plain(vars(model).get("_kinds")),
            "readings": [reading_out(reading) for reading in model.reading_],
            "target": vars(model).get("target_name_"),
        },
        "outputs": _outputs_out(vars(model).get("outputs_")),
        "classes": None if classes is None else _classes_out(classes, model.rules_.ordered),
        "features": [
            feature_out(feature, place in asked or feature.ordered)
            for place, feature in enumerate(model.rules_.features)
        ],
        "graph": {
            "categories": model.graph_.categories,
            "order": [level.position for level in model.graph_.levels],
        },
        "model": model_out(model.rules_, model.tree_),
        "sizes": None if family is None else _sizes_out(family),
        "certificate": to_plain(dataclasses.asdict(model.certificate_))["pairs"],
        "code_shares": {str(place): list(shares) for place, shares in vars(model).get("_code_shares", {}).items()},
        "mean_weight": float(vars(model).get("_mean_weight", 1.0)),
        "validation": validation_out(model),
        "policy": value_out(vars(model).get("value_")),
        "origin": {name: str(value) for name, value in vars(model).get("origin_", {}).items()},
    }


def from_document(document: Mapping[str, Any]) -> OptimalTreeBase:
    """The model behind a document of the current version; errors are those of Python where it makes no sense."""
    classes = classes_in(document["classes"])
    ordered = are_ordered(document["classes"])
    readings = readings_in(document["columns"])
    features = features_in(document, readings)
    model: OptimalTreeBase = _estimator(document["kind"])
    parameters = {name: from_plain(value) for name, value in document["parameters"].items()}
    known = {name: value for name, value in parameters.items() if name in model.get_params(deep=False)}
    if "constraints" in known:
        known["constraints"] = tuple(known["constraints"])
    if known.get("costs") is not None and not np.isfinite(np.array(known["costs"], dtype=np.float64)).all():
        raise ValueError("the costs are no numbers")
    check_parameters(type(model), known)
    model.set_params(**known)
    model._constraints = known.get("constraints", ())

    model.n_features_in_ = whole(document["columns"]["count"])
    if document["columns"]["names"] is not None:
        model.feature_names_in_ = np.array([text(name) for name in listed(document["columns"]["names"])], dtype=object)
        if len(model.feature_names_in_) != model.n_features_in_:
            raise ValueError("the names of the columns are not as many as the columns")
    model._kinds = from_plain(document["columns"]["kinds"])
    model.reading_ = readings
    model.notes_ = [note for reading in readings for note in reading.notes]
    if document["columns"]["target"] is not None:
        model.target_name_ = text(document["columns"]["target"])
    if document["kind"] == "survival":
        curves = [rule["survival"] for rule in listed(document["model"]["rules"])]
        model.event_times_ = np.unique([number(time) for curve in curves for time in listed(curve[2])])
    if document["kind"] == "policy":
        if classes is None:
            raise ValueError("a policy has no actions")
        model.actions_ = classes
        if document.get("policy") is not None:
            model.value_ = value_in(document["policy"])
    elif classes is not None:
        model.classes_ = as_sorted(classes) if ordered or known.get("positive") is not None else classes
    if document.get("outputs") is not None:
        model.outputs_ = _outputs_in(document["outputs"], classes)
    labels = () if classes is None else classes.tolist()
    model.graph_ = FeatureGraph(features, document["graph"]["categories"], document["graph"]["order"])
    model.rules_, model.tree_ = model_in(document["model"], features, labels, ordered)
    if document["sizes"] is not None:
        model._family = _sizes_in(document["sizes"], features, labels, ordered)
    model.certificate_ = _certificate_in(document["certificate"])
    if document.get("code_shares"):
        model._code_shares = shares_in(document["code_shares"], features)
    model._mean_weight = finite(document.get("mean_weight", 1.0))
    # Models of 0.1 were not judged on new rows.
    if document.get("validation") is not None:
        validation_in(document["validation"], model)
    if document.get("origin"):
        model.origin_ = {text(name): text(value) for name, value in document["origin"].items()}
    if model.certificate_.structure == "tree" and model.tree_ is None:
        raise ValueError("the certificate speaks of a tree and there is none")
    return model


def _classes_out(classes: npt.NDArray[Any], ordered: bool) -> dict[str, Any]:
    """The classes in the order of the rules."""
    said = {"type": type_name(classes), "values": to_plain(classes)}
    return {**said, "ordered": True} if ordered else said


def _estimator(kind: str) -> Any:
    import omtree

    name = next((name for name, known in _KINDS.items() if known == kind), "")
    found: Callable[[], Any] | None = getattr(omtree, name, None)
    if found is None:
        raise ValueError(f"{kind!r} is not a kind of model")
    return found()


def _parameters(model: OptimalTreeBase) -> dict[str, Any]:
    """The parameters that can be written; the others are named in a warning."""
    written, left_out = {}, []
    for name, value in model.get_params(deep=False).items():
        if name == "constraints":  # those of the fit, whatever became of the parameter
            value = vars(model).get("_constraints", value)
        try:
            written[name] = to_plain(value)
        except NotPlainError:
            left_out.append(name)
    if left_out:
        names = ", ".join(left_out)
        warn(f"The saved model does not hold the parameter {names}: it is no plain value.")
    return written


def _outputs_out(outputs: JointClasses | NumberTargets | None) -> Any:
    """The targets of a model of several: name and classes, or weight, of each."""
    if isinstance(outputs, JointClasses):
        return [[name, type_name(own), to_plain(own)] for name, own in outputs.named]
    return None if outputs is None else list(map(list, zip(outputs.names, outputs.weights, strict=True)))


def _outputs_in(document: Any, classes: npt.NDArray[Any] | None) -> JointClasses | NumberTargets:
    names, of_each = [], []
    if classes is None:
        pairs = [listed(entry) for entry in listed(document)]
        return NumberTargets(tuple(text(name) for name, _ in pairs), tuple(number(weight) for _, weight in pairs))
    for entry in listed(document):
        name, kind, values = listed(entry)
        own = classes_in({"type": kind, "values": values})
        assert own is not None
        names.append(text(name))
        of_each.append(own)
    found = JointClasses(names, of_each)
    if classes is None or math.prod(map(len, of_each)) != len(classes) or found.texts != classes.tolist():
        raise ValueError("the classes are not the combinations of those of the targets")
    return found


def _asked(model: OptimalTreeBase, family: TreeFamily | None) -> set[int]:
    """The features that a condition is on, in the model or in a tree of another size."""
    asked = set(asked_features(model.rules_, model.tree_))
    if family is not None:
        for leaves in range(1, len(family) + 1):
            tree = family.tree(leaves)
            asked.update(asked_features(tree.rules, tree))
    return asked


def _sizes_out(family: TreeFamily) -> dict[str, Any]:
    """The trees of all sizes, each different one once."""
    trees = [family.tree(leaves) for leaves in range(1, len(family) + 1)]
    different = list({id(tree): tree for tree in trees}.values())
    place = {id(tree): position for position, tree in enumerate(different)}
    return {
        "proven": family.proven,
        "losses": to_plain(family.losses),
        **({} if family.bounds is None else {"bounds": to_plain(family.bounds)}),
        "tree_of_size": [place[id(tree)] for tree in trees],
        "trees": [model_out(tree.rules, tree) for tree in different],
    }


def _sizes_in(
    document: Mapping[str, Any], features: Sequence[Feature], classes: Sequence[Any], ordered: bool
) -> BuiltFamily:
    different = [model_in(each, features, classes, ordered)[1] for each in listed(document["trees"])]
    trees = [different[whole(position, len(different))] for position in listed(document["tree_of_size"])]
    losses = [number(loss) for loss in listed(document["losses"])]
    # Only trees with a price per leaf have bounds beside their losses.
    bounds = [number(bound) for bound in listed(document["bounds"])] if "bounds" in document else None
    if len(losses) != len(trees) or not trees or (bounds is not None and len(bounds) != len(trees)):
        raise ValueError("there is not one loss per size")
    built = [tree for tree in trees if tree is not None]
    return BuiltFamily(built, losses, proven=bool(document["proven"]), bounds=bounds)


def _certificate_in(document: Sequence[Any]) -> Certificate:
    written = from_plain({"pairs": document})
    fields = {field.name for field in dataclasses.fields(Certificate)}
    check_fields = {field.name for field in dataclasses.fields(ConstraintCheck)}
    values = {name: value for name, value in written.items() if name in fields}
    values["constraints"] = tuple(
        made(ConstraintCheck, {name: value for name, value in check.items() if name in check_fields}, {"Level": Level})
        for check in listed(values.get("constraints", []))
    )
    values["assured"] = tuple(made(Assurance, each) for each in listed(values.get("assured", [])))
    certificate = made(Certificate, values, {"ConstraintCheck": ConstraintCheck})
    perhaps = (certificate.lp_value or 0.0, certificate.all_cuts_bound or 0.0)
    finite_ones = (certificate.value, certificate.weight, *perhaps, certificate.total_seconds)
    if math.isnan(certificate.bound) or not all(map(math.isfinite, (*finite_ones, *certificate.seconds.values()))):
        raise ValueError("the certificate has no numbers")
    return certificate
