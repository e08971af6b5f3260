"""The certificate."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from omtree.constraints import ConstraintCheck
from omtree.model.certificate import Certificate
from omtree.report.proof import badge_words, proof_sentences


def certificate(**changes: object) -> Certificate:
    """A certificate with something to say in every line."""
    fields = {
        "status": "optimal",
        "value": 127.0,
        "bound": 127.0,
        "weight": 1296.0,
        "leaves": 9,
        "depth": 4,
        "search_space": "all sets of at most 16 disjoint rules",
        "lp_value": 126.14,
        "exact_pricing": True,
        "columns": 4544,
        "rows": 912,
        "iterations": 12,
        "seconds": {"data": 0.01, "pricing": 0.5},
        "total_seconds": 1.25,
        "constraints": (ConstraintCheck("recall", 0.9, 0.8, 0.1),),
    }
    return Certificate(**{**fields, **changes})


@pytest.mark.parametrize(
    ("value", "bound", "gap"),
    [(20.0, 15.0, 0.25), (20.0, 20.0, 0.0), (0.0, 0.0, 0.0), (5.0, 0.0, 1.0), (0.5, 0.25, 0.5)],
)
def test_gap_is_relative_to_the_value(value: float, bound: float, gap: float) -> None:
    """The gap is (value - bound) / value, and 0 when the two are equal, also at a value of 0."""
    assert certificate(value=value, bound=bound).gap == gap


def test_lp_gap_is_that_of_the_paper() -> None:
    """The LP gap is (IP - LP) / IP, and None without an LP."""
    assert certificate(value=20.0, lp_value=19.0).lp_gap == pytest.approx(0.05)
    assert certificate(lp_value=None).lp_gap is None


def test_printed_certificate() -> None:
    """A printed certificate says what is proven, then the figures, aligned."""
    assert str(certificate()) == "\n".join(
        [
            "optimal: the model makes 127 errors, and it is proven that no model can make fewer",
            "  errors        127 of 1,296 (9.8 %)",
            "  lower bound   127 (gap 0.0 %)",
            "  LP value      126.1 (gap to it 0.7 %)",
            "  model         9 rules, at most 4 conditions each",
            "  among         all sets of at most 16 disjoint rules",
            "  constraint    recall: 0.9, at least 0.8 (slack 0.1)",
            "  work          4,544 columns, 912 rows, 12 rounds, priced out exactly",
            "  seconds       1.25 (data 0.01, pricing 0.50)",
        ]
    )


@pytest.mark.parametrize("status", ["gap_reached", "time_limit", "stopped", "interrupted"])
def test_only_an_optimal_certificate_claims_a_proof(status: str) -> None:
    """Without a proof the first line says value and bound instead."""
    first = str(certificate(status=status, bound=100.0)).splitlines()[0]
    assert "proven" not in first
    assert "127 errors" in first
    assert "fewer than 100" in first


@pytest.mark.parametrize("cuts", ["all", "some", ""])
def test_a_model_without_errors_is_not_compared(cuts: str) -> None:
    """That no model makes fewer than no errors says nothing; that this one makes none does, whatever its cuts."""
    perfect = certificate(value=0.0, bound=0.0, cuts=cuts, structure="tree")
    assert str(perfect).splitlines()[0] == "optimal: the model makes no errors at all on these rows"
    first, second, *_ = proof_sentences(perfect)
    assert first == "On the training data (1,296 rows) the model makes no errors at all."
    assert second.startswith("No model can do better on these rows.")
    assert badge_words(perfect) == "Proven optimal"


def test_a_bound_of_zero_is_none() -> None:
    """A search that has excluded nothing does not say that no model goes below zero."""
    text = str(certificate(status="time_limit", bound=0.0, constraints=())).splitlines()[0]
    assert text == "time limit reached: the model makes 127 errors, and how few a model can make is not known"
    squared = certificate(status="time_limit", bound=0.0, unit="squared error", counted=False, constraints=())
    assert str(squared).splitlines()[0].endswith(", and how low a model can go is not known")
    for known in (certificate(status="time_limit", bound=0.0), squared):
        assert "Nothing is proven of how much better another one could be." in proof_sentences(known)[-1]
    assert "Nothing is proven" not in proof_sentences(certificate(status="time_limit", bound=1.0))[-1]


def test_certificates_are_frozen() -> None:
    """Nobody improves a certificate afterwards."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        certificate().value = 0.0


def test_to_dict_is_plain() -> None:
    """`to_dict` can be written as JSON and holds both gaps."""
    plain = json.loads(json.dumps(certificate().to_dict()))
    assert plain["gap"] == 0.0
    assert plain["lp_gap"] == pytest.approx(0.86 / 127)
    assert plain["constraints"][0]["name"] == "recall"
    assert plain["seconds"] == {"data": 0.01, "pricing": 0.5}


def test_gap_of_a_model_without_errors() -> None:
    """A relaxation that ends a hair below zero does not break the gap of a model without errors."""
    certificate = Certificate("optimal", 0.0, 0.0, 10.0, lp_value=-1e-6)
    assert certificate.gap == 0.0
    assert certificate.lp_gap == math.inf
    assert "LP value" in str(certificate)


def test_a_rule_without_conditions_reads_well() -> None:
    """The one rule of a constant model is said to be for all rows."""
    text = str(Certificate("optimal", 3.0, 3.0, 10.0, leaves=1, depth=0))
    assert "1 rule for all rows" in text
    assert "0 conditions" not in text


def test_a_search_among_constrained_models_that_did_not_end() -> None:
    """The first line says that models which meet the constraints were not all looked at."""
    first = str(certificate(status="time_limit", bound=120.0)).splitlines()[0]
    assert first.endswith("; among those that meet the constraint the search did not end")
    assert "did not end" not in str(certificate(status="time_limit", bound=120.0, constraints=())).splitlines()[0]
    assert "did not end" not in str(certificate()).splitlines()[0]
