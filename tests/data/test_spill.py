"""Coded rows in a file."""

import numpy as np
import pytest

from omtree.data.spill import Spill


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_come_back_as_they_were_written(tmp_path, weighted):
    """Whatever the sizes of the pieces and blocks, all rows come back in their order."""
    rng = np.random.default_rng(3)
    for block_rows in (1, 7, 64, 1000):
        sizes = [0, 5, 1, 130, 64, 3]
        n = sum(sizes)
        codes = rng.integers(0, 255, (3, n), dtype=np.uint8)
        labels = rng.integers(0, 1 << 16, n)
        weights = rng.random(n) if weighted else None
        with Spill.create(tmp_path / "spill", 3, block_rows) as spill:
            start = 0
            for size in sizes:
                rows = slice(start, start + size)
                spill.append(codes[:, rows], labels[rows], None if weights is None else weights[rows])
                start += size
            spill.close()
            blocks = list(spill.blocks())
            assert spill.n_rows == n
            assert [block.codes.shape[1] for block in blocks[:-1]] == [block_rows] * (len(blocks) - 1)
            np.testing.assert_array_equal(np.concatenate([block.codes for block in blocks], axis=1), codes)
            np.testing.assert_array_equal(np.concatenate([block.labels for block in blocks]), labels)
            if weights is not None:
                np.testing.assert_array_equal(np.concatenate([block.weights for block in blocks]), weights)
        assert not (tmp_path / "spill").exists()


def test_nothing_is_left_behind_after_a_failure(tmp_path):
    """A spill whose writing fails removes its file, and leaves a folder that was there before."""
    spill = Spill.create(tmp_path, 1, 10)
    spill.append(np.zeros((1, 4), np.uint8), np.zeros(4))
    with pytest.raises(ValueError, match="1 features"), spill:
        spill.append(np.zeros((2, 4), np.uint8), np.zeros(4))
    assert list(tmp_path.iterdir()) == []
    spill.remove()


def test_wrong_rows_are_refused_in_a_sentence(tmp_path):
    """Wrong shapes, types, labels and half-given weights are named, as are a second file and a damaged one."""
    with Spill.create(tmp_path / "new", 2, 10) as spill:
        with pytest.raises(ValueError, match="2 features"):
            spill.append(np.zeros((3, 4), np.uint8), np.zeros(4, int))
        with pytest.raises(ValueError, match="uint8"):
            spill.append(np.zeros((2, 4)), np.zeros(4, int))
        with pytest.raises(ValueError, match="65535"):
            spill.append(np.zeros((2, 1), np.uint8), np.array([-1]))
        spill.append(np.zeros((2, 4), np.uint8), np.zeros(4, int))
        with pytest.raises(ValueError, match="one weight each"):
            spill.append(np.zeros((2, 1), np.uint8), np.zeros(1, int), np.ones(1))
        with pytest.raises(ValueError, match="exists already"):
            Spill.create(tmp_path / "new", 2, 10)
        with pytest.raises(ValueError, match="still being written"):
            next(spill.blocks())
        spill.close()
        with pytest.raises(ValueError, match="is closed"):
            spill.append(np.zeros((2, 1), np.uint8), np.zeros(1, int))
        spill.path.write_bytes(b"12345")
        with pytest.raises(ValueError, match="shorter"):
            list(spill.blocks())
