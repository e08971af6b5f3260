"""The data that tests generate."""

from __future__ import annotations

import numpy as np

from helpers.datasets import balance_scale, monks, random_table, samples, tic_tac_toe


def test_generated_data_have_their_known_sizes() -> None:
    """Rows and classes are those of the published sets."""
    boards = tic_tac_toe()
    assert (len(boards.y), int((boards.y == "positive").sum())) == (958, 626)
    scale = balance_scale()
    assert {side: int((scale.y == side).sum()) for side in "LBR"} == {"L": 288, "B": 49, "R": 288}
    assert [(len(monks(k).y), int(monks(k).y.sum())) for k in (1, 2, 3)] == [(432, 216), (432, 142), (432, 228)]
    for data in (boards, scale, monks(1)):
        table = data.table()
        assert table.n_rows == len(data.y) == table.statistics.sum()


def test_random_tables_keep_their_promises() -> None:
    """Rows are distinct, codes valid, features vary, all kinds, missing cells, weights and gaps occur."""
    rng = np.random.default_rng(7)
    seen = set()
    for _ in range(300):
        table = random_table(rng)
        assert 3 <= table.n_rows <= 14 or table.n_rows == np.prod([f.n_codes for f in table.features])
        assert len({tuple(row) for row in table.codes.T}) == table.n_rows
        assert (table.weight > 0).all()
        for f, row in zip(table.features, table.codes, strict=True):
            present = set(row.tolist())
            assert len(present) > 1
            assert max(present) < f.n_codes
            assert not f.has_missing or f.n_values in present
            assert f.kind == "ordinal" or present == set(range(f.n_codes))
            assert f.kind != "nominal" or sorted(f.target_order) == list(range(f.n_codes))
            seen |= {f.kind, f"missing {f.has_missing}", f"gaps {len(present) < f.n_codes}", f"codes {f.n_codes}"}
        seen |= {f"whole {bool((table.statistics % 1 == 0).all())}", f"{table.statistics.shape[1]} classes"}
    assert {"numeric", "ordinal", "nominal", "missing True", "gaps True", "codes 6"} <= seen
    assert {"whole True", "whole False", "2 classes", "3 classes"} <= seen


def test_samples_merge_into_their_table() -> None:
    """Samples added up by the row they belong to give the counts of the table, and have its codes."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        table = random_table(rng)
        codes, labels, weights = samples(table)
        counts = np.zeros_like(table.statistics)
        np.add.at(counts, (table.row_of, labels), weights)
        assert (counts == table.statistics).all()
        assert (codes == table.codes[:, table.row_of]).all()
