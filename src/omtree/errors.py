"""The errors that are this package's own, and how it warns."""

from __future__ import annotations

import sys
import warnings
from types import FrameType


def warn(message: str) -> None:
    """Warn at the line outside of this package that everything began with, however deep inside it is found out."""
    level = 2
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "omtree":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


class InfeasibleError(ValueError):
    """No model meets the limits and constraints; the message says why."""


class CertificateError(RuntimeError):
    """A fitted model is not what its certificate says: a defect of the package, never of the data."""
