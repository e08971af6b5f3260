"""About how long the parts of a fit take, so that none is begun that cannot end in time."""

from __future__ import annotations

from collections.abc import Sequence

from omtree.data.table import Feature
from omtree.engines.trees.splits import Splits
from omtree.sources.samples import Training

#: Seconds that it takes to cut and code a cell.
CODING_SECONDS = 4e-8
#: Seconds that a greedy tree takes for a cell and a level.
GREEDY_SECONDS = 1.4e-7
#: Seconds that reading and checking a model takes for a row and a leaf.
READING_SECONDS = 3e-9
#: Steps of an exact search in a second.
STEPS_PER_SECOND = 3e7


def coding_seconds(training: Training) -> float:
    """To cut all columns finely before a search on all samples begins."""
    return CODING_SECONDS * len(training) * len(training.columns)


def greedy_seconds(training: Training, max_depth: int) -> float:
    """For a greedy tree, which sorts all cells level by level."""
    return GREEDY_SECONDS * len(training) * len(training.columns) * max_depth


def reading_seconds(training: Training, leaves: float) -> float:
    """To read a model off its rows, and to check it."""
    return READING_SECONDS * leaves * len(training)


def search_seconds(n_rows: int, features: Sequence[Feature], max_depth: int, splits: Splits) -> float:
    """About how long an exact search takes; what bounds save is not known before."""
    conditions = sum(_conditions(feature, splits) for feature in features)
    return float(n_rows) * len(features) * conditions ** min(max(0, max_depth - 2), 40) / STEPS_PER_SECOND


def _conditions(feature: Feature, splits: Splits) -> float:
    codes = float(feature.n_codes)
    return codes if splits == "binary" or not feature.ordered else codes * codes / 2.0
