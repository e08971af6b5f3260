from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

def kernels_in_use() -> str: ...
def interrupts() -> int: ...
def count_interrupt() -> None: ...
def bin_codes(
    values: npt.NDArray[np.float64], thresholds: npt.NDArray[np.float64], missing: int, codes: npt.NDArray[np.uint8]
) -> None: ...
def bin_columns(
    columns: Sequence[npt.NDArray[np.float64]],
    thresholds: Sequence[npt.NDArray[np.float64]],
    missing: Sequence[int],
    codes: npt.NDArray[np.uint8],
) -> None: ...
def merge_rows(codes: npt.NDArray[np.uint8], row_of: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]: ...
def count_classes(
    row_of: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    counts: npt.NDArray[np.float64],
) -> None: ...
def count_codes(
    codes: npt.NDArray[np.int32],
    n_codes: int,
    classes: npt.NDArray[np.int64],
    n_classes: int,
    weights: npt.NDArray[np.float64],
) -> tuple[list[float], npt.NDArray[np.float64]]: ...
def code_texts(stream: object) -> tuple[npt.NDArray[np.int32], list[str], bool]: ...
def few_distinct(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], limit: int
) -> npt.NDArray[np.float64]: ...
def first_values(columns: Sequence[npt.NDArray[np.float64]]) -> list[list[float]]: ...
def readable_between(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
def quantile_cuts(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], n_bins: int
) -> list[tuple[float, float]]: ...
def best_cuts(below: npt.NDArray[np.float64], count: int, squared: bool) -> list[int]: ...
def count_joint(
    codes: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.uint16],
    weights: npt.NDArray[np.float64],
    sets: npt.NDArray[np.int32],
    n_codes: Sequence[int],
    n_classes: int,
    tables: npt.NDArray[np.float64],
) -> None: ...

_SearchAnswer = tuple[
    list[float],
    list[list[tuple[int, int, bool, list[tuple[list[int], int]]]] | None],
    float,
    bool,
    bool,
    int,
    int,
    int,
]

class TreeTask:
    def __init__(
        self,
        *,
        columns: Sequence[int],
        n_codes: Sequence[int],
        families: Sequence[str],
        has_missing: Sequence[bool],
        orders: Sequence[Sequence[int]],
        forced: Sequence[tuple[Any, ...]],
        max_depth: int,
        max_leaves: int,
        min_support: float,
        max_children: int,
        n_threads: int,
        cache_bytes: int,
        seconds: float,
        use_bounds: bool,
        use_cache: bool,
        every_size: bool,
        progress: Callable[[float, float, int, int], None] | None,
    ) -> None: ...

def search_tables(
    tables: Callable[[npt.NDArray[np.int32], Callable[[], bool]], npt.NDArray[np.float64] | None],
    totals: npt.NDArray[np.float64],
    loss: tuple[str, int, int, int, npt.NDArray[np.float64]],
    task: TreeTask,
    *,
    table_bytes: int,
    whole: bool,
) -> _SearchAnswer: ...
def sweep_instructions() -> str: ...
def search_cuts(
    views: npt.NDArray[np.float64],
    *,
    labels: npt.NDArray[np.int32],
    n_classes: int,
    targets: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    masses: npt.NDArray[np.float64],
    max_depth: int,
    max_leaves: int,
    min_support: float,
    multiway: bool,
    known: float,
    most_work: float,
    seconds: float,
) -> tuple[float, float, bool, bool, list[tuple[int, int, list[float], list[float], list[int]]], int]: ...
def improve_trees(
    codes: npt.NDArray[np.uint8],
    sums: npt.NDArray[np.float64],
    weight: npt.NDArray[np.float64],
    *,
    features: Sequence[int],
    n_ranks: Sequence[int],
    nests: Sequence[bool],
    rank_of: npt.NDArray[np.uint8],
    worth: str,
    weighs: bool,
    max_depth: int,
    max_leaves: int,
    min_support: float,
    leaf_price: float,
    free_nesting: bool,
    once: bool,
    work: float,
    variety: int,
    patience: int,
    seed: int,
    seconds: float,
    starts: Sequence[Sequence[tuple[int, int, int, int]]],
) -> tuple[list[list[tuple[int, int, int, int, int]]], bool, bool]: ...
def search_trees(
    codes: npt.NDArray[np.uint8],
    counts: npt.NDArray[np.float64],
    loss: tuple[str, int, int, int, npt.NDArray[np.float64]],
    task: TreeTask,
    *,
    counting: str,
    prices: tuple[Sequence[float], Sequence[float], Sequence[int], float, float] | None,
    leaf_price: float = 0.0,
) -> _SearchAnswer | None: ...

MAX_RULE_LENGTH: int

class Pricer:
    def __init__(
        self,
        codes: npt.NDArray[np.uint8],
        weight: npt.NDArray[np.float64],
        n_classes: int,
        feature: npt.NDArray[np.int32],
        start: npt.NDArray[np.int32],
        masks: npt.NDArray[np.uint64],
        n_codes: npt.NDArray[np.int32],
        n_threads: int,
    ) -> None: ...
    def price(
        self,
        value: npt.NDArray[np.float64],
        constant: float,
        max_depth: int,
        min_support: float,
        threshold: float,
        limit: int,
        stop_when_full: bool,
        all_labels: bool,
        seconds: float,
        k_best: int,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64], float, bool, bool, int]: ...
    def cover(
        self, rules: npt.NDArray[np.int32], rows: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]: ...
    def coverage(
        self, rules: npt.NDArray[np.int32], share: npt.NDArray[np.float64], rows: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.float64]: ...
    def totals(
        self, rules: npt.NDArray[np.int32], statistics: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint64]]: ...

MAX_TABLED_LENGTH: int

class RuleTables:
    def __init__(
        self,
        pricer: Pricer,
        statistics: npt.NDArray[np.float64],
        weight_of_slot: npt.NDArray[np.float64],
        max_depth: int,
        seconds: float,
    ) -> None: ...
    @property
    def complete(self) -> bool: ...
    def price(
        self,
        worth: npt.NDArray[np.float64],
        rows: npt.NDArray[np.int32],
        price: npt.NDArray[np.float64],
        constant: float,
        min_support: float,
        threshold: float,
        limit: int,
        stop_when_full: bool,
        all_labels: bool,
        seconds: float,
        width: int,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64], float, bool, bool, int]: ...
    def totals(self, rules: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint64]]: ...

def add_normal_matrix(
    start: npt.NDArray[np.int32],
    index: npt.NDArray[np.int32],
    weight: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None: ...
def exact_cover(
    n_rows: int,
    start: npt.NDArray[np.int32],
    index: npt.NDArray[np.int32],
    loss: npt.NDArray[np.float64],
    reduced_cost: npt.NDArray[np.float64],
    extra: npt.NDArray[np.float64],
    at_least: npt.NDArray[np.float64],
    bound: float,
    cutoff: float,
    step: float,
    max_rules: int,
    seconds: float,
    conflict: Callable[[int, int], bool] | None = None,
) -> tuple[npt.NDArray[np.int32], float, bool, int]: ...

class RuleJudge:
    def __init__(
        self,
        statistics: npt.NDArray[np.float64],
        loss: tuple[Any, ...],
        *,
        min_support: float,
        linear: Sequence[tuple[npt.NDArray[np.float64], float]],
        ratios: Sequence[tuple[int, int, int, int, float]],
        prices: tuple[Sequence[float], Sequence[float], Sequence[int], float, float] | None,
        at_most: Sequence[tuple[Sequence[int], int]],
        needs: Sequence[tuple[int, Sequence[int], bool]],
        above: Sequence[tuple[int, int]],
        root: int,
        predicate: Callable[[Sequence[tuple[int, tuple[int, ...]]], npt.NDArray[np.uint32], int], bool] | None,
        refines: bool,
    ) -> None: ...
    def judge(
        self, rows: npt.NDArray[np.uint32], conditions: Sequence[tuple[int, Sequence[int]]]
    ) -> tuple[float, int]: ...
    def floor(self) -> npt.NDArray[np.float64]: ...
    def bare_loss(self, rows: npt.NDArray[np.uint32]) -> float: ...

def search_general(codes: npt.NDArray[np.uint8], judge: RuleJudge, task: TreeTask) -> _SearchAnswer: ...
def search_sums(
    codes: npt.NDArray[np.uint8], statistics: npt.NDArray[np.float64], loss: str, task: TreeTask
) -> _SearchAnswer | None: ...
def attainable_vectors(
    codes: npt.NDArray[np.uint8],
    judge: RuleJudge,
    costs: npt.NDArray[np.float64],
    forms: npt.NDArray[np.float64],
    task: TreeTask,
    *,
    sense: Sequence[str],
    test_weight: float,
    demands: npt.NDArray[np.float64],
    at_least: npt.NDArray[np.float64],
    budget: float,
    least: float,
    most_vectors: int,
) -> tuple[
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
    npt.NDArray[np.int32],
    list[Any],
    float,
    bool,
    bool,
    bool,
]: ...

class PackedTrees:
    def __len__(self) -> int: ...
    def __getitem__(self, i: int, /) -> Any: ...

def nearby_trees(
    codes: npt.NDArray[np.uint8],
    judge: RuleJudge,
    task: TreeTask,
    *,
    most_trees: int,
    known: float,
    bound: float,
    cap: float,
    trivial: bool,
    shapes: bool,
    room: int,
    leaf_price: float,
    labelled: bool,
    by_conditions: bool,
    n_strata: int,
    missed: Sequence[float],
    slack: Sequence[float],
) -> tuple[
    npt.NDArray[np.float64],
    npt.NDArray[np.int32],
    npt.NDArray[np.uint64],
    PackedTrees,
    float,
    bool,
    bool,
    bool,
    bool,
    npt.NDArray[np.uint64],
    npt.NDArray[np.float64],
]: ...

class GeneralPricer:
    def __init__(
        self, pricer: Pricer, judge: RuleJudge, floors: npt.NDArray[np.float64], unit: float, every_path: bool
    ) -> None: ...
    def price(
        self,
        credit: npt.NDArray[np.float64],
        constant: float,
        max_depth: int,
        threshold: float,
        limit: int,
        stop_when_full: bool,
        all_labels: bool,
        seconds: float,
        k_best: int,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64], float, bool, bool, int]: ...
    def losses(
        self, rules: npt.NDArray[np.int32], labels: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]: ...
