"""The main job, end to end: fit, read the model, read what is proven about it.

The data ship with scikit-learn or are generated here; the whole takes well under half a minute.
"""

from __future__ import annotations

import itertools

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from omtree import OptimalTreeClassifier, to_text

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
SQUARES = [f"{row} {column}" for row in ("top", "middle", "bottom") for column in ("left", "centre", "right")]


def tic_tac_toe() -> tuple[pd.DataFrame, list[str]]:
    """The 958 boards on which a game can end when x begins, and whether x has won."""
    boards, results = [], []
    for board in itertools.product("xob", repeat=9):
        x_won, o_won = (any(all(board[i] == who for i in line) for line in LINES) for who in "xo")
        lead = board.count("x") - board.count("o")
        full = "b" not in board
        # The winner moved last, and a game without a winner ends only when the board is full.
        if (
            (x_won and not o_won and lead == 1)
            or (o_won and not x_won and lead == 0)
            or (full and lead == 1 and not x_won and not o_won)
        ):
            boards.append(board)
            results.append("x wins" if x_won else "x does not win")
    return pd.DataFrame(boards, columns=SQUARES), results


def show(title: str, model: OptimalTreeClassifier) -> None:
    """Print a fitted model, what to expect of it on new rows, and its certificate."""
    print(f"{title}\n{'-' * len(title)}\n{to_text(model)}\n\n{model.expectation_}\n\n{model.certificate_}\n")


def main() -> None:
    """Fit a tree to measurements and rules to categories."""
    data = load_breast_cancer(as_frame=True)
    diagnosis = data.target.map({0: "malignant", 1: "benign"})
    X_train, X_test, y_train, y_test = train_test_split(data.data, diagnosis, random_state=0)
    tree = OptimalTreeClassifier(max_depth=2, max_leaves="auto", time_limit=10).fit(X_train, y_train)
    show(f"Breast cancer: a tree over {X_train.shape[1]} measurements", tree)
    print(f"right on {100 * tree.score(X_test, y_test):.1f} % of {len(X_test)} patients it has not seen\n")

    boards, results = tic_tac_toe()
    # Every board there is, so there are no new ones: four rules, and no size to choose.
    rules = OptimalTreeClassifier(structure="rules", max_depth=2, cv=5, time_limit=10).fit(boards, results)
    show(f"Tic-tac-toe: disjoint rules over {len(boards)} final boards", rules)


if __name__ == "__main__":
    main()
