"""Which machine, which versions, which day."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "omtree",
    "numpy",
    "scikit-learn",
    "highspy",
    "pandas",
    "pystreed",
    "gosdt",
    "pycontree",
    "pydl8.5",
    "CHAID",
)


def machine() -> str:
    """Processor, cores, memory, system."""
    name = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass  # not Linux: the plain name will do
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{name}, {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()}"


def versions() -> dict[str, str]:
    """Python and those packages that are installed."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def peak_mb(pid: int | str = "self") -> float:
    """Most memory that a process has had so far; 0 where the system does not tell, or the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)
