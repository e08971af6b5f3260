from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

def bin_codes(
    values: npt.NDArray[np.float64], thresholds: npt.NDArray[np.float64], missing: int, codes: npt.NDArray[np.uint8]
) -> None: ...
def merge_rows(codes: npt.NDArray[np.uint8], row_of: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...
def few_distinct(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], limit: int
) -> npt.NDArray[np.float64]: ...
def quantile_cuts(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], n_bins: int
) -> list[tuple[float, float]]: ...
def search_trees(
    codes: npt.NDArray[np.uint8],
    counts: npt.NDArray[np.float64],
    costs: npt.NDArray[np.float64],
    *,
    columns: Sequence[int],
    n_codes: Sequence[int],
    families: Sequence[str],
    has_missing: Sequence[bool],
    orders: Sequence[Sequence[int]],
    max_depth: int,
    max_leaves: int,
    min_support: float,
    binary: bool,
    max_children: int,
    n_threads: int,
    cache_bytes: int,
    seconds: float,
    use_bounds: bool,
    use_cache: bool,
    counting: str,
    every_size: bool,
) -> tuple[
    list[float],
    list[list[tuple[int, int, bool, list[tuple[list[int], int]]]] | None],
    float,
    bool,
    bool,
    int,
    int,
    int,
]: ...
