import numpy as np
import numpy.typing as npt

def bin_codes(
    values: npt.NDArray[np.float64], thresholds: npt.NDArray[np.float64], missing: int, codes: npt.NDArray[np.uint8]
) -> None: ...
def merge_rows(codes: npt.NDArray[np.uint8], row_of: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]: ...
def count_classes(
    row_of: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    counts: npt.NDArray[np.float64],
) -> None: ...
def few_distinct(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], limit: int
) -> npt.NDArray[np.float64]: ...
def quantile_cuts(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], n_bins: int
) -> list[tuple[float, float]]: ...
