"""Parameters: one declaration makes constructor, checks and documentation."""

from __future__ import annotations

import inspect

import pytest

from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.estimators.parameters import check_parameters, estimator, parameter, parameters_of, whole


@estimator
class Small:
    """A class with parameters.

    Parameters
    ----------
    {parameters}
    """

    depth: int = parameter(2, "int", "How deep.", whole(1))
    way: str = parameter("up", "", "Which way.", choices=("up", "down"))


def test_constructor_and_documentation_come_from_the_declaration() -> None:
    """Defaults, given values and the numpydoc section are those declared; unknown names are refused."""
    assert vars(Small()) == {"depth": 2, "way": "up"}
    assert vars(Small(way="down")) == {"depth": 2, "way": "down"}
    assert str(inspect.signature(Small)) == "(*, depth=2, way='up')"
    assert "    depth : int, default=2\n        How deep." in str(Small.__doc__)
    assert '    way : {"up", "down"}, default="up"' in str(Small.__doc__)
    with pytest.raises(TypeError, match="deep"):
        Small(deep=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"depth": 0}, "depth=0 is not possible; use a whole number of at least 1."),
        ({"way": "left"}, "way='left' is not known; use 'up' or 'down'."),
    ],
)
def test_complaints_are_sentences(values: dict[str, object], sentence: str) -> None:
    """A value that makes no sense is named, with what to use instead."""
    with pytest.raises(ValueError) as caught:
        check_parameters(Small, values)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("kind", [OptimalTreeClassifier, OptimalTreeRegressor])
def test_every_parameter_is_documented_and_its_default_is_fine(kind: type) -> None:
    """No parameter without words, and no default that its own check refuses."""
    known = parameters_of(kind)
    assert set(known) == set(kind().get_params(deep=False))
    for name, declared in known.items():
        assert declared.text
        assert f"    {name} : " in str(kind.__doc__)
        assert declared.complaint(name, declared.default) == ""
