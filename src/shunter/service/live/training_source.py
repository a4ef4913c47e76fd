"""A training that goes on, or is over: its learning curves against the classic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.agents.training.curves import IS_BEST, Curves, read_curves
from shunter.agents.training.progress_log import STEPS
from shunter.agents.training.request import RESULT_FILE
from shunter.service.live.panels import Fact, Line, facts, lines
from shunter.service.live.sources import Panels, no_questions

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.service.live.panels import Panel

RATIO: Final = "validation/ratio"
CHARTS: Final = {
    RATIO: ("Validation: the metric as a ratio to the classic", "ratio, below 1 is better"),
    "validation/wait_ratio": ("Validation: mean wait to the classic's", "ratio, below 1 is better"),
    "return": ("Return of an episode", "return"),
    "entropy": ("Entropy of the policy", "nats"),
    "approximate_kl": ("Change of the policy in an update", "KL"),
    "explained_variance": ("Share of returns that the value explains", "share"),
}
"""By column: the title, and what is along the axis."""
MOST_POINTS: Final = 500


class TrainingSource:
    """One folder of a training, or of several seeds of one."""

    kind = "training"
    period_s = 2.0

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder

    def read(self) -> Panels:
        """Returns how far the training is."""
        curves = read_curves(self._folder)
        charts = {name: _chart(curves, name, *words) for name, words in CHARTS.items() if len(curves.of(name)[0])}
        return {"facts": self._facts(curves), **charts}

    def ask(self, question: Mapping[str, Any]) -> Panels:
        """Refuses: a training is asked nothing."""
        return no_questions(self)

    def _facts(self, curves: Curves) -> Panel:
        runs = curves.seeds or (curves,)
        is_over = (self._folder / RESULT_FILE).is_file()
        rates, spent = curves.of("steps_per_s")[1], curves.of("elapsed_s")[1]
        steps, ratio = curves.of(RATIO)
        found = [
            Fact("State", "over" if is_over else "not over", note="" if is_over else "goes on, or was stopped"),
            Fact(
                "Steps", float(curves.columns[STEPS][-1]), "number", note=f"{len(runs)} seeds" if curves.seeds else ""
            ),
        ]
        if len(spent):
            found.append(Fact("Time spent", float(spent[-1]), "seconds"))
        if len(rates):
            found.append(Fact("Steps a second", float(rates[-1]), "number"))
        if len(ratio):
            best = int(np.argmin(ratio))
            marked = steps[np.isin(steps, curves.where(IS_BEST)[-1:])]
            kept = f"kept: that of step {marked[-1]:,.0f}" if len(marked) else f"at step {steps[best]:,.0f}"
            tone = "bad" if ratio[best] > 1 else ""
            found += [
                Fact("Latest ratio to the classic", round(float(ratio[-1]), 4), "number"),
                Fact("Lowest so far", round(float(ratio[best]), 4), "number", note=kept, tone=tone),
            ]
        lead = "A ratio below 1 means that the policy does better than the classic chosen on the days of training."
        return facts("Training", found, lead)


def _chart(curves: Curves, column: str, title: str, axis: str) -> Panel:
    runs = curves.seeds or (curves,)
    drawn = []
    for run in runs:
        steps, values = run.of(column)
        kept = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), MOST_POINTS)).astype(int))
        drawn.append(Line(run.name, steps[kept].tolist(), values[kept].tolist()))
    reference = ("the classic", 1.0) if column.endswith("ratio") else None
    return lines(title, drawn, ("steps", axis), reference=reference)
