"""Problems whose answers are among those of a larger one, so that this need not be worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from omtree.data.table import Feature
from omtree.fit.pose import Pose

#: Bins of a number where nothing else is asked for.
USUAL_BINS = 8


@dataclass(frozen=True, eq=False)
class Smaller:
    """What is asked, about how many bins a number has, and the features to begin with."""

    pose: Pose
    n_bins: int | None
    features: tuple[Feature, ...]


def shallower(pose: Pose, n_bins: int | None, features: tuple[Feature, ...], coarse: Sequence[int]) -> Smaller | None:
    """The trees of a level less, which cut as finely."""
    depth = pose.max_depth - 1
    if depth < 1:
        return None
    return Smaller(replace(pose, max_depth=depth, max_leaves=min(pose.max_leaves, 2**depth)), n_bins, features)


def coarser(pose: Pose, n_bins: int | None, features: tuple[Feature, ...], coarse: Sequence[int]) -> Smaller | None:
    """The trees that begin with the usual number of bins, where more of them are asked for."""
    if n_bins is None or n_bins <= USUAL_BINS:
        return None
    fewer = list(features)
    for position in coarse:
        thresholds = features[position].thresholds
        assert thresholds is not None
        places = np.arange(1, USUAL_BINS) * (len(thresholds) + 1) // USUAL_BINS - 1
        kept = thresholds[np.unique(places[places >= 0])]
        fewer[position] = replace(features[position], thresholds=kept, n_values=len(kept) + 1)
    return Smaller(pose, USUAL_BINS, tuple(fewer))
