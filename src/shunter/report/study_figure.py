"""The figure of a study: what validation says of each variant as trainings go on, with a band over seeds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from shunter.agents.training.curves import mean_curves, read_curves
from shunter.errors import InputError
from shunter.report.drawing import BASELINE_COLOR, COLORS, GRID, finish, new_figure
from shunter.report.learning_columns import RATIO
from shunter.report.learning_figure import cut_off, draw_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from shunter.studies.study import StudyReport

COLUMNS = 3


def draw_study(report: StudyReport) -> Figure:
    """Returns a figure with a panel for each log, to be saved with ``savefig``.

    Raises:
        InputError: No run has ended.
    """
    if not any(record.result is not None for _, record in report.runs):
        raise InputError(f"{report.study.out}: no run of the study has ended; run it before it is drawn")
    logs = list(report.study.logs)
    columns = min(COLUMNS, len(logs))
    rows = math.ceil(len(logs) / columns)
    figure = new_figure(2 + 5 * columns, 1 + 4 * rows)
    panels = [figure.add_subplot(rows, columns, place + 1) for place in range(len(logs))]
    for panel, log in zip(panels, logs, strict=True):
        _draw_log(panel, report, log)
    panels[0].legend(fontsize=9, loc="best", framealpha=0.85, edgecolor="none")
    return finish(figure, panels, f"{report.study.name}: validation, the metric as a ratio to the classic")


def _draw_log(panel: Axes, report: StudyReport, log: str) -> None:
    panel.axhline(1.0, color=BASELINE_COLOR, linestyle="--", linewidth=1, label="the classic chosen on training days")
    shown = []
    for place, variant in enumerate(report.variants):
        ended = [record for record in report.records(variant, log) if record.result is not None]
        if not ended:
            continue
        color = COLORS[place % len(COLORS)]
        curves = mean_curves(variant, [read_curves(record.task.folder) for record in ended])
        panel.plot(*curves.of(RATIO), "o-", color=color, markersize=3, linewidth=1.4, label=curves.name)
        draw_band(panel, curves, RATIO, color)
        shown.append(curves.of(RATIO)[1])
    if any(len(ratios) for ratios in shown):
        cut_off(panel, np.concatenate(shown))
    panel.set_title(log, loc="left", fontsize=10)
    panel.set_xlabel("steps", fontsize=9)
    panel.xaxis.set_major_locator(MaxNLocator(4))
    panel.grid(**GRID)
