"""What the estimators say of their parameters, in the words of the command line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

#: The options behind the estimators' parameters, where the names differ.
_OPTIONS = {
    "max_depth": "--depth",
    "max_leaves": "--leaves",
    "leaf_price": "--leaf-price",
    "min_samples_leaf": "--min-leaf",
    "time_limit": "--time-limit",
    "n_bins": "--bins",
    "feature_kinds": "--kind",
    "sample_weight": "--weight",
    "n_jobs": "--jobs",
    "objective": "--objective",
    "memory_limit": "--memory-limit",
    "gap": "--gap",
    "cv": "--cv",
}
#: What is Python in a sentence, and how the command line says it.
_PYTHON = (
    (r"feature_kinds=\{'([^']*)': '(\w+)'\}", r"--kind '\1=\2'"),
    (r"as feature_kinds=\{'([^']*)': \[\.\.\.\]\}", r"such as --kind '\1=low,middle,high'"),
    (r"missing=\[('[^']*')\]", r"--missing \1"),
    (r"decimal='([.,])'", r"--decimal '\1'"),
    (r"day_first=False", "--month-first"),
    (r"(?<![-\w])positive=", "--positive "),
    (r"(?<![-\w])class_order=\[[^\]]*\]", "the order of classes in --kind"),
    (r"which X does not have", "which the data do not have"),
    (r"\by has (\d)", r"the target has \1"),
    (r"\bis not a class of y\b", "is not a class of the target"),
    (r"\buse None(,| or)", "use"),
    (r", or None\b", ", or 0 for none"),
    (r"\buse 'auto'", "use auto"),
    (r", a splitter, or pairs of row numbers \(train, test\)", ""),
    (r"OptimalTreeRegressor", "--task regression"),
)


def in_options(message: str) -> str:
    """A complaint about parameters in the words of the command line.

    >>> in_options("max_depth=0 is not possible; use a whole number of at least 1.")
    '--depth 0 is not possible; use a whole number of at least 1.'
    """
    for pattern, words in _PYTHON:
        message = re.sub(pattern, words, message)
    for parameter, option in _OPTIONS.items():
        message = re.sub(rf"(?<![-\w]){parameter}=", f"{option} ", message)
        if "_" in parameter:  # other names are words of the language as well
            message = re.sub(rf"(?<![-\w]){parameter}\b", option, message)
    return message
