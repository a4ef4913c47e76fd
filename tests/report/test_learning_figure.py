"""The figure of trainings: that it shows what runs wrote down."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shunter.agents.training.curves import Curves, read_bands, read_curves
from shunter.errors import InputError
from shunter.report.learning_columns import PANELS
from shunter.report.learning_figure import draw_learning, smoothed

ROWS = (
    "steps,validation/ratio,validation/wait_ratio,return,entropy,approximate_kl,wait_share,explained_variance,"
    "validation/is_best,validation/bounds_missed\n"
    "0,1.2,1.1,,,,,,1,0\n"
    "64,,,-3.0,0.9,0.01,0.5,0.0,,\n"
    "128,0.9,1.2,-2.0,0.8,0.02,0.4,0.3,1,0\n"
    "192,0.8,1.3,-2.0,0.8,0.02,0.4,0.3,0,1\n"
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "first")


def write_run(folder: Path, text: str = ROWS) -> Path:
    folder.mkdir()
    (folder / "progress.csv").write_text(text)
    return folder


def test_rows_without_a_value_are_left_out(run: Path) -> None:
    curves = read_curves(run)
    assert curves.name == "first"
    steps, values = curves.of("validation/ratio")
    assert (steps.tolist(), values.tolist()) == ([0.0, 128.0, 192.0], [1.2, 0.9, 0.8])
    assert [len(one) for one in curves.of("nothing")] == [0, 0]


def test_the_metric_is_a_ratio_to_the_classic_whatever_bounds_cost(run: Path) -> None:
    main = draw_learning([read_curves(run)]).axes[0]
    lines = {str(line.get_label()): line for line in main.get_lines()}
    assert np.asarray(lines["the classic chosen on training days"].get_ydata()).tolist() == [1.0, 1.0]
    assert np.asarray(lines["first, best 0.900"].get_ydata()).tolist() == [1.2, 0.9, 0.8]
    (best,) = (line for line in main.get_lines() if line.get_marker() == "D")
    assert np.asarray(best.get_xdata()).tolist() == [128.0]
    assert np.asarray(lines["misses a bound"].get_xydata()).tolist() == [[192.0, 0.8]]


def test_without_a_missed_bound_there_is_no_mark(run: Path) -> None:
    kept = write_run(run.parent / "kept", ROWS.replace(",0,1\n", ",0,0\n"))
    main = draw_learning([read_curves(kept)]).axes[0]
    assert "x" not in [line.get_marker() for line in main.get_lines()]


def test_every_panel_shows_its_column(run: Path) -> None:
    figure = draw_learning([read_curves(run)])
    curves = read_curves(run)
    for panel, (column, title, _) in zip(figure.axes[1:], PANELS, strict=True):
        assert title in panel.get_title(loc="left")
        np.testing.assert_allclose(np.asarray(panel.get_lines()[0].get_ydata()), curves.of(column)[1])


def test_several_runs_have_colors_and_names_of_their_own(run: Path) -> None:
    other = write_run(run.parent / "second", ROWS.replace("128,0.9,", "128,0.6,"))
    main = draw_learning([read_curves(run), read_curves(other)]).axes[0]
    legend = main.get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    own = ["first, best 0.900", "second, best 0.600"]
    assert texts == ["the classic chosen on training days", "where each began", *own, "misses a bound"]
    assert len({str(line.get_color()) for line in main.get_lines() if line.get_label() != "misses a bound"}) == 3


def test_where_a_run_began_is_a_line(run: Path) -> None:
    main = draw_learning([read_curves(run)]).axes[0]
    lines = {str(line.get_label()): line for line in main.get_lines()}
    assert np.asarray(lines["where it began"].get_ydata()).tolist() == [1.2, 1.2]
    late = write_run(run.parent / "late", "steps,validation/ratio\n64,0.9\n")
    assert "where it began" not in [line.get_label() for line in draw_learning([read_curves(late)]).axes[0].get_lines()]


def test_how_bad_an_untrained_policy_was_does_not_hide_the_rest(run: Path) -> None:
    far = write_run(run.parent / "far", ROWS.replace("0,1.2,1.1", "0,60,90"))
    main, waits = draw_learning([read_curves(far)]).axes[:2]
    assert main.get_ylim()[1] < 2
    assert waits.get_ylim()[1] < 2
    assert [text.get_text() for text in main.texts] == ["not shown: 1 far above"]


def test_a_run_without_validation_is_drawn(run: Path) -> None:
    plain = write_run(run.parent / "plain", "steps,return\n64,1.0\n")
    figure = draw_learning([read_curves(plain)])
    assert np.asarray(figure.axes[2].get_lines()[0].get_ydata()).tolist() == [1.0]


def test_smoothing_keeps_the_mean_of_a_line_and_the_ends() -> None:
    line = np.arange(100.0)
    np.testing.assert_allclose(smoothed(line), line)
    spike = np.zeros(101)
    spike[50] = 5.0
    assert smoothed(spike)[[47, 48, 50, 52, 53]].tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]
    assert (smoothed(spike)[0], smoothed(spike)[-1]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rows with steps; give the folder of a run that has begun"),
        ("a,b\n1,2\n", "has no rows with steps"),
        ("steps,return\n1,x\n", r"a value is not a number \(could not convert string to float: 'x'\); mend the file"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw_learning([read_curves(write_run(tmp_path / "run", text))])


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"progress.csv: cannot be read \(No such file or directory\); give the folder"
    ):
        read_curves(tmp_path)


def test_what_is_not_recorded_is_said() -> None:
    steps = np.array([0.0, 64.0])
    columns = {"steps": steps, "wait_share": np.zeros(2), "return": np.full(2, np.nan)}
    figure = draw_learning([Curves("run", columns)])
    panels = {panel.get_title(loc="left").split("\n")[0]: panel for panel in figure.axes}
    empty = panels["return of an episode"]
    assert [text.get_text() for text in empty.texts] == ["nothing recorded yet"]
    # A share that is always 0 is no noise around 0.
    assert panels["share of decisions to wait"].get_ylim() == (0, 1)


def test_seeds_are_a_mean_with_a_band_from_the_least_to_the_largest(tmp_path: Path) -> None:
    folder = tmp_path / "five"
    folder.mkdir()
    write_run(folder / "seed-0", "steps,validation/ratio,validation/is_best\n0,1.0,1\n64,,\n128,0.8,1\n192,0.7,1\n")
    write_run(folder / "seed-10", "steps,validation/ratio,validation/is_best\n0,1.2,1\n64,,\n128,0.6,0\n")
    curves = read_curves(folder)
    assert curves.name == "five, 2 seeds"
    assert [one.name for one in curves.seeds] == ["seed-0", "seed-10"]
    # The first seed alone was trained for 192 steps.
    steps, values = curves.of("validation/ratio")
    assert (steps.tolist(), values.tolist()) == ([0.0, 128.0], pytest.approx([1.2**0.5, 0.48**0.5]))
    assert [one.tolist() for one in curves.range_of("validation/ratio")] == [[0.0, 128.0], [1.0, 0.6], [1.2, 0.8]]
    main = draw_learning([curves]).axes[0]
    (band,) = main.collections
    assert band.get_label() == "five, 2 seeds: least to largest"
    assert band.get_paths()[0].get_extents().y0 == pytest.approx(0.6)
    assert band.get_paths()[0].get_extents().y1 == pytest.approx(1.2)


def write_trained(folder: Path, seed: int, ratio: float, *, clip: float = 0.2, init: str = "a = 1\n") -> Path:
    """Writes what matters of a run: what it was given, and one validation."""
    folder.mkdir(parents=True)
    (folder / "progress.csv").write_text(f"steps,validation/ratio\n0,{ratio}\n")
    (folder / "tuned.toml").write_text(init)
    (folder / "config.toml").write_text(
        f'[ppo]\nclip = {clip}\n[training]\nseed = {seed}\nthreads = {seed + 1}\ninit = "tuned.toml"\n'
    )
    return folder


def test_runs_that_differ_only_in_their_seeds_become_bands(tmp_path: Path) -> None:
    five = [write_trained(tmp_path / "five" / f"seed-{seed}", seed, 1.0 + seed) for seed in (0, 1)]
    bold = [write_trained(tmp_path / f"bold-{seed}", seed, 2.0, clip=0.4) for seed in (7, 8, 9)]
    alone = write_trained(tmp_path / "alone", 0, 3.0, init="a = 2\n")
    found = read_bands([*five, alone, *bold])
    assert [(one.name, len(one.seeds)) for one in found] == [("five, 2 seeds", 2), ("alone", 0), ("bold-7, 3 seeds", 3)]
    assert [one.tolist() for one in found[0].range_of("validation/ratio")] == [[0.0], [1.0], [2.0]]
    # A folder of several seeds is a band already.
    assert read_bands([tmp_path / "five"])[0].name == "five, 2 seeds"


def test_what_cannot_be_a_band_is_told(tmp_path: Path) -> None:
    first, second = (write_trained(tmp_path / name, 0, 1.0, clip=clip) for name, clip in (("a", 0.1), ("b", 0.2)))
    with pytest.raises(InputError, match=r"--band: needs runs .* \(the first two differ in ppo\.clip\); leave it out"):
        read_bands([first, second])
    with pytest.raises(InputError, match=r"--band: needs runs that differ only in their seeds; leave it out"):
        read_bands([first])
    with pytest.raises(InputError, match=r"c has the settings and the seed of .*a; leave one of them out"):
        read_bands([first, write_trained(tmp_path / "c", 0, 1.0, clip=0.1)])
