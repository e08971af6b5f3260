"""The errors that are this package's own."""

from __future__ import annotations


class InfeasibleError(ValueError):
    """No model meets the limits and constraints; the message says why."""


class CertificateError(RuntimeError):
    """A fitted model is not what its certificate says: a defect of the package, never of the data."""
