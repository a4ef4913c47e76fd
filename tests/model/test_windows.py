"""Where the windows of a comparison lie."""

from __future__ import annotations

import numpy as np
import pytest

from shunter import InputError
from shunter.model.windows import Windows, choose_windows, parse_part


def test_windows_are_dealt_evenly_over_blocks() -> None:
    windows = choose_windows(10_000, count=20, length=500, blocks=8)
    assert np.bincount(windows.block).tolist() == [3, 2, 3, 2, 3, 2, 3, 2]
    for first, block in zip(windows.first.tolist(), windows.block.tolist(), strict=True):
        assert block * 1250 <= first < (block + 1) * 1250
        assert first + 500 <= 10_000
    assert (np.diff(windows.first.astype(np.int64)) > 0).all()


@pytest.mark.parametrize(
    ("jobs", "count", "length", "blocks"),
    [(10_000, 20, 500, 10), (3_500, 20, 1000, 3), (1_500, 20, 1000, 1), (10_000, 4, 500, 4)],
)
def test_default_number_of_blocks(jobs: int, count: int, length: int, blocks: int) -> None:
    """As many as hold a whole window each, at most ten, and at most as many as there are windows."""
    assert choose_windows(jobs, count=count, length=length).blocks == blocks


def test_the_seed_decides_where() -> None:
    firsts = [choose_windows(9_000, count=9, length=100, seed=seed).first.tolist() for seed in (0, 0, 1)]
    assert firsts[0] == firsts[1] != firsts[2]


def test_a_part_of_the_log() -> None:
    windows = choose_windows(1_000, count=50, length=100, part=(0.7, 0.9))
    assert windows.first.min() >= 700
    assert windows.first.max() <= 800
    assert windows.blocks == 2


def test_beginnings_are_spread_over_the_whole_block() -> None:
    """A block of 60 jobs with windows of 10 has 51 beginnings, 0 to 50; asked for all of them, it has each once."""
    windows = choose_windows(60, count=51, length=10, blocks=1)
    assert windows.first.tolist() == list(range(51))


def test_no_window_is_there_twice() -> None:
    assert choose_windows(100, count=20, length=100).first.tolist() == [0]
    assert choose_windows(102, count=20, length=100).first.tolist() == [0, 1, 2]


def test_jobs_of_the_warm_up_come_before() -> None:
    windows = choose_windows(1_000, count=700, length=100, warmup=200, blocks=1)
    assert (windows.first.min(), windows.first.max()) == (200, 900)
    assert (windows.simulated_first.min(), windows.simulated_length) == (0, 300)
    late = choose_windows(1_000, count=101, length=200, warmup=200, part=(0.7, 1.0), blocks=1)
    # The warm-up may lie before the part.
    assert (late.first.min(), late.first.max()) == (700, 800)


@pytest.mark.parametrize(
    ("jobs", "options", "message"),
    [
        (500, {"length": 1024}, r"a window has 1024 jobs \(--length\), but the log has 500; give a shorter"),
        (1000, {"length": 400, "part": (0.7, 1.0)}, r"400 jobs .* the log has 1000, its part 0.7:1 \(--part\) 300;"),
        (1000, {"length": 400, "warmup": 700}, r"the log has 1000, and 300 of them have 700 jobs \(--warmup\) before"),
        (1000, {"length": 400, "warmup": 7000}, "and 0 of them have 7000 jobs"),
        (
            1000,
            {"length": 300, "blocks": 4},
            "--blocks is 4; 1000 jobs make at most 3 blocks in which a window",
        ),
        (1000, {"length": 10, "blocks": 6}, r"--blocks is 6; expected 1 to 5, the number of windows"),
        (1000, {"length": 10, "blocks": 0}, r"--blocks is 0; expected 1 to 5"),
        (1000, {"length": 0}, "--length is 0; expected 1 to 10000000"),
        (1000, {"length": 10, "count": 0}, "--windows is 0; expected 1 to 10000000"),
        (1000, {"length": 10, "count": 10**20}, f"--windows is {10**20}; expected 1 to 10000000"),
        (1000, {"length": 10, "warmup": -1}, "--warmup is -1; expected 0 to 10000000"),
        (1000, {"length": 10, "part": (0.5, 0.5)}, "--part is 0.5:0.5; expected two rising fractions"),
        (1000, {"length": 10, "part": (0.5, float("nan"))}, "--part is 0.5:nan"),
    ],
)
def test_what_cannot_be_is_told(jobs: int, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        choose_windows(jobs, **({"count": 5} | options))  # type: ignore[arg-type]


def test_parts_are_read() -> None:
    assert parse_part("0.7:1") == (0.7, 1.0)
    for wrong in ("0.7", "a:b", "0:1:2", ""):
        with pytest.raises(InputError, match=r"--part is .*; expected two fractions of the log such as 0.7:1"):
            parse_part(wrong)


def test_a_window_knows_what_is_simulated() -> None:
    windows = Windows(np.array([7, 9], dtype=np.uintp), np.array([0, 4]), length=3, warmup=5)
    assert (windows.simulated_first.tolist(), windows.simulated_length, windows.blocks) == ([2, 4], 8, 2)
