"""The figure of a tuning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shunter.comparison.comparison import Comparison
from shunter.comparison.marks import TRUE_TIMES
from shunter.comparison.objective import Bound
from shunter.comparison.report import Report
from shunter.comparison.roles import BEST, CHOSEN, TUNED
from shunter.policies.scheduler import resolve_scheduler
from shunter.report.tuning import LONGEST_NAME, draw_tuning
from shunter.tuning.weights import Tuned
from tests.tuning.handmade import log_report, pooled_rows

BOUNDS = (Bound("mean_wait_s", 1.1),)
COSTS = np.array([0.3, 0.1, -0.2, -0.25])
FOUND = Tuned("linear", {}, resolve_scheduler(), (), COSTS, simulations=3)


def one_log() -> Comparison:
    values = {
        CHOSEN: ("sjf/easy", [4.0] * 5),
        BEST: ("f2/easy", [2.0] * 5),
        TUNED: ("tuned/easy", [1.0] * 5),
    }
    return log_report(values, bounds=BOUNDS)


def test_the_search_and_the_points() -> None:
    figure = draw_tuning(FOUND, Report((one_log(),), {}))
    search, points = figure.axes
    assert figure.get_suptitle() == "linear tuned for mean_bounded_slowdown, mean_wait_s at most 1.1 times"
    by_label = {str(line.get_label()): line for line in search.lines}
    middle = by_label["middle of the candidates"]
    np.testing.assert_array_equal(middle.get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(middle.get_ydata(), COSTS[:3])
    np.testing.assert_array_equal(by_label["the policy found"].get_ydata(), [-0.25])
    names = [label.get_text() for label in points.get_yticklabels()]
    assert names == ["chosen on training days\nsjf/easy", "best in hindsight\nf2/easy", "tuned\ntuned/easy"]
    drawn = [np.atleast_1d(line.get_xdata())[0] for line in points.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(np.array(drawn, dtype=float), [2.0, 1.0, 0.5])
    assert points.get_xlabel().endswith("(lower is better)")


def test_the_marks_of_the_points_are_explained() -> None:
    one = one_log()
    chosen = replace(one.contenders[CHOSEN], marks=(TRUE_TIMES,))
    figure = draw_tuning(FOUND, Report((replace(one, contenders={**one.contenders, CHOSEN: chosen}),), {}))
    label = figure.axes[1].get_yticklabels()[0]
    assert label.get_text().endswith(f"sjf/easy {TRUE_TIMES.symbol}")
    assert figure.get_supxlabel() == TRUE_TIMES.line
    assert draw_tuning(FOUND, Report((one,), {})).get_supxlabel() == ""


def test_a_panel_for_each_log_and_one_for_all() -> None:
    one = one_log()
    long = replace(one.log, workload=replace(one.log.workload, name="x" * 200))
    other = replace(one, log=long)
    figure = draw_tuning(FOUND, Report((one, other), pooled_rows((one, other))))
    titles = [panel.get_title(loc="left") for panel in figure.axes]
    assert titles[:2] == ["the search, on all training windows", "all 2 logs together, on later days"]
    name, where = titles[3].split("\n")
    assert len(name) < LONGEST_NAME
    assert "…" in name
    assert where == "on 64 cores, on later days"


def test_what_has_no_ratio_has_no_point() -> None:
    values = {
        CHOSEN: ("sjf/easy", [1.0] * 5),
        BEST: ("f2/easy", [1.0] * 5),
        TUNED: ("tuned/easy", [0.0, 1.0, 1.0, 1.0, 1.0]),
    }
    figure = draw_tuning(FOUND, Report((log_report(values, "mean_wait_s"),), {}))
    assert len([line for line in figure.axes[1].lines if line.get_marker() == "o"]) == 2
