"""The folds of a cross-validation: which samples a model is fitted to, and which it is judged on."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from omtree.sources.target import Target

Positions = npt.NDArray[np.intp]


class Fold(NamedTuple):
    """Positions of samples."""

    train: Positions
    test: Positions


def make_folds(cv: Any, target: Target, groups: Any, seed: int) -> list[Fold]:
    """The folds that `cv` asks for.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        A number of folds is shuffled, and stratified by class. A splitter of scikit-learn is asked as it is, so one
        that keeps groups together or goes along time does so here.
    target : Target
    groups : array or None
        What a splitter by groups keeps together, one entry per sample.
    seed : int
        For the shuffle.
    """
    n_samples = len(target)
    y = target.values if target.is_number else target.labels
    if isinstance(cv, (int, np.integer)):
        _check_count(int(cv), target)
        splitter = KFold if target.is_number else StratifiedKFold
        cv = splitter(int(cv), shuffle=True, random_state=seed)
    if groups is not None:
        groups = np.asarray(groups)
        if groups.shape != (n_samples,):
            raise ValueError(f"cv_groups has shape {groups.shape}; give one group for each of the {n_samples} rows.")
    with warnings.catch_warnings():
        # A class with fewer rows than folds is in some of them only, which is fine.
        warnings.filterwarnings("ignore", message="The least populated class")
        pairs = list(check_cv(cv).split(np.zeros((n_samples, 1)), y, groups))
    folds = [Fold(np.asarray(train), np.asarray(test)) for train, test in pairs]
    empty = [number for number, fold in enumerate(folds, start=1) if not len(fold.train) or not len(fold.test)]
    if empty or not folds:
        raise ValueError(f"cv={cv!r} gives no usable folds; each needs rows to fit and rows to judge.")
    return folds


def _check_count(n_folds: int, target: Target) -> None:
    most = len(target) if target.is_number else int(np.bincount(target.labels).max())
    if n_folds > most:
        what = "rows" if target.is_number else "rows of the most frequent class"
        raise ValueError(f"cv={n_folds} folds need as many {what}, and there are {most}; use fewer folds.")


def in_words(cv: Any, n_folds: int) -> str:
    """How rows were held out.

    >>> in_words(5, 5)
    '5-fold cross-validation'
    """
    if isinstance(cv, (int, np.integer)):
        return f"{n_folds}-fold cross-validation"
    name = type(cv).__name__ if hasattr(cv, "split") else "given folds"
    return f"cross-validation over {n_folds} folds ({name})"
