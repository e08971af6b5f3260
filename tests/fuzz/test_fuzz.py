"""A few of the inputs of `make fuzz`, in every run of the tests."""

from __future__ import annotations

import pytest

from fuzz.run import TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_some_inputs(target: str) -> None:
    """What a reader did not write is read, or refused as it promises."""
    for number in range(150):
        TARGETS[target][0](number)


@pytest.mark.parametrize("number", [6821, 8356, 9044, 19459, 85285])
def test_inputs_that_failed_once(number: int) -> None:
    """Dates no longer read as such, and a text in place of a list of classes, loaded as models that failed in use."""
    TARGETS["models"][0](number)
