"""The figure of a comparison: that it shows what was compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shunter import Cluster, read_workload
from shunter.comparison.combinations import combine
from shunter.comparison.comparison import Comparison, compare_combinations
from shunter.model.log import Log
from shunter.model.windows import choose_windows
from shunter.report.comparison_figure import BOXES, LINES, draw_comparison


def comparison(policies: list[str], cores: int = 64, baseline: str | None = None) -> Comparison:
    jobs = read_workload("generate:lublin?seed=3&jobs=300&cores=64&load=1.1&requests=factor")
    windows = choose_windows(len(jobs), count=4, length=60)
    return compare_combinations(Log(jobs, Cluster.pool(cores)), combine(policies).possible, windows, baseline=baseline)


def test_three_panels_with_the_names_in_them() -> None:
    compared = comparison(["fcfs", "sjf", "f2"])
    figure = draw_comparison(compared)
    boxes, sizes, use = figure.axes
    labels = [tick.get_text() for tick in boxes.get_yticklabels()]
    best_first = [one.combination.label for one in compared.scored]
    assert [label.removesuffix("\n(baseline)") for label in labels] == best_first
    assert "fcfs/easy\n(baseline)" in labels
    assert [tick.get_text() for tick in sizes.get_xticklabels()][:2] == ["≤ 1", "2–3"]
    assert "cores in use" in use.get_ylabel()
    assert "64 cores" in figure.get_suptitle()


def test_the_waits_drawn_are_those_measured() -> None:
    compared = comparison(["fcfs", "sjf"])
    sizes = draw_comparison(compared).axes[1]
    unit_s = {"hours": 3600, "minutes": 60, "seconds": 1, "days": 86_400}[sizes.get_ylabel().split("[")[1].rstrip("]")]
    lines = {str(line.get_label()): np.asarray(line.get_ydata()) for line in sizes.get_lines()}
    expected = compared.against.wait_by_size_s
    np.testing.assert_allclose(lines["fcfs/easy (baseline)"], expected[np.isfinite(expected)] / unit_s)


def test_the_baseline_has_a_box_even_if_it_is_far_behind() -> None:
    compared = comparison(["all"], baseline="laf/easy")
    labels = [tick.get_text() for tick in draw_comparison(compared).axes[0].get_yticklabels()]
    assert len(labels) in (BOXES, BOXES + 1)
    assert "laf/easy\n(baseline)" in labels


def test_nobody_waits_and_still_there_is_a_figure(tmp_path: Path) -> None:
    compared = comparison(["fcfs", "sjf"], cores=64_000)
    assert compared.against.metrics["max_wait_s"].max() == 0
    figure = draw_comparison(compared)
    figure.savefig(tmp_path / "idle.png")
    assert (tmp_path / "idle.png").stat().st_size > 10_000
    for panel in figure.axes[:2]:
        assert panel.texts[0].get_text().startswith("nobody waits:\nthese days cannot rank policies;\ntake busier days")


def test_where_nobody_waits_no_mark_is_explained() -> None:
    compared = comparison(["fcfs", "las"], cores=64_000)
    assert any(one.marks for one in compared.scored)
    figure = draw_comparison(compared)
    assert figure.get_supxlabel() == ""
    assert {tick.get_text() for tick in figure.axes[0].get_yticklabels()} == {"fcfs/easy\n(baseline)", "las/greedy"}


def test_what_is_in_use_is_drawn_of_one_that_a_site_could_run() -> None:
    """The best few stop jobs for free, and so are ahead of the one that is recommended."""
    marked = combine(["srtf", "las"], estimates=["perfect", "requested"]).possible
    jobs = read_workload("generate:lublin?seed=3&jobs=300&cores=64&load=1.1&requests=factor")
    windows = choose_windows(len(jobs), count=4, length=60)
    plain = combine(["fcfs", "f2"]).possible
    compared = compare_combinations(Log(jobs, Cluster.pool(64)), [*plain, *marked], windows)
    assert all(one.marks for one in compared.scored[: LINES + 1])
    use = draw_comparison(compared).axes[2]
    legend = use.get_legend()
    assert legend is not None
    assert [one.get_text() for one in legend.get_texts()] == ["f2/easy", "fcfs/easy"]
