"""The certificate: what is known about a fitted model, and how it became known."""

from __future__ import annotations

from typing import Literal

#: `stopped` means that a limit on iterations or columns, not on time, ended the work before a proof.
Status = Literal["optimal", "gap_reached", "time_limit", "stopped", "infeasible"]
