"""What Slurm writes in cells."""

from __future__ import annotations

import polars as pl
import pytest

from shunter.workloads.formats.slurm import (
    Resources,
    gpus_of_gres,
    memory,
    resources,
    state_word,
    unix_seconds,
)


def test_times() -> None:
    text = [
        "2024-03-01T12:00:00",
        "2024-03-01T12:00:00+0130",
        "2024-03-01T12:00:00Z",
        "1709294400",
        "Unknown",
        None,
        "x",
    ]
    expected = [1_709_294_400.0, 1_709_289_000.0, 1_709_294_400.0, 1_709_294_400.0, None, None, None]
    assert unix_seconds(pl.Series(text)).to_list() == expected
    assert unix_seconds(pl.Series([None, None], dtype=pl.String)).to_list() == [None, None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4000M", (4_000.0, "")),
        ("62.50Gn", (64_000.0, "n")),
        ("3000Mc", (3_000.0, "c")),
        ("2T", (2.0**21, "")),
        ("512K", (0.5, "")),
        ("100", (100.0, "")),
        ("0n", (0.0, "n")),
        ("2147486648Mn", (3_000.0, "c")),
        ("2097156Gn", (4_096.0, "c")),
        ("2147486648Mc", (2_147_486_648.0, "c")),
        ("100Mcd", None),
        ("-5M", None),
        ("", None),
        ("much", None),
    ],
)
def test_memory(text: str, expected: tuple[float, str] | None) -> None:
    assert memory(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("billing=12,cpu=12,gres/gpu=2,mem=31000M,node=1", Resources(12.0, 1.0, 31_000.0, 2.0)),
        ("cpu=8,gres/gpu:a100=2", Resources(8.0, gpus=2.0, gpu_type="a100")),
        ("gres/gpu=3,gres/gpu:a100=1,gres/gpu:v100=2", Resources(gpus=3.0)),
        ("gres/gpu:a100=1,gres/gpu:v100=2", Resources(gpus=3.0)),
        ("gres/gpu:a100=0,gres/gpu:v100=2,gres/gpumem=40G,gres/shard=4", Resources(gpus=2.0, gpu_type="v100")),
        ("cpu=x,mem=4G,node=1", None),
        ("cpu=1,mem=?", None),
        ("cpu=1,gres/gpu=many", None),
        ("cpu", None),
        ("", None),
    ],
)
def test_trackable_resources(text: str, expected: Resources | None) -> None:
    assert resources(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu:4", (4.0, None)),
        ("gpu", (1.0, None)),
        ("gpu:A100", (1.0, "a100")),
        ("gpu:a100:4(S:0-1)", (4.0, "a100")),
        ("gres:gpu:tesla:2,lustre:1", (2.0, "tesla")),
        ("gpu:a100:2(IDX:0,1),gpu:v100:1", (3.0, None)),
        ("(null)", (0.0, None)),
        ("", (0.0, None)),
        ("shard:8,mps:100", (0.0, None)),
    ],
)
def test_generic_resources(text: str, expected: tuple[float, str | None]) -> None:
    assert gpus_of_gres(text) == expected


def test_states() -> None:
    assert state_word("CANCELLED by 1234") == "cancelled"
    assert state_word("CANCELLED+") == "cancelled"
    assert state_word(" ") is None
