"""The tables of ``shunter train``, for people."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.markup import escape

from shunter.agents.training.held_out import REPORT
from shunter.comparison.marks import mark_lines, shared_lines
from shunter.comparison.roles import JUDGED_AGAINST, LEARNED
from shunter.metrics.labels import counted
from shunter.report.comparisons import print_findings
from shunter.report.standings import print_standing
from shunter.report.tables import ledger_table, print_line
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from shunter.agents.training.held_out import PartReport
    from shunter.agents.training.train import Training
    from shunter.agents.training.trainer import TrainingOutcome
    from shunter.comparison.report import LogReport

PARTS = {"validation": "validation, on which the best policy was chosen", REPORT: "report, never looked at before"}
"""What tables call the parts that are not trained on."""


def print_training(training: Training) -> None:
    """Prints how the training went, what came of it, and how to go on."""
    console = Console()
    console.print(_title(training), soft_wrap=True, highlight=False)
    # The days that nobody has looked at lead: on validation the best policy was chosen, so that it flatters.
    for part in reversed(training.parts):
        _print_part(console, part)
    # Several logs often have the same note; it is printed once, in the order of the logs.
    notes = dict.fromkeys(one.interval_note for part in training.parts for one in part.report.logs)
    for note in filter(None, notes):
        print_line(console, note)
    for _, ledger in training.ledgers():
        if ledger:
            console.print(ledger_table(ledger))
    for line in training.next_steps:
        print_line(console, line)
    console.print(_next(training), markup=False, highlight=False, soft_wrap=True)


def _print_part(console: Console, part: PartReport) -> None:
    """Prints what happened on a part of the logs, and what it comes to."""
    for one in part.report.logs:
        console.print(_group_title(part.part, one), soft_wrap=True, highlight=False)
        for line in shared_lines(one.shared_marks):
            print_line(console, line)
        print_standing(console, one, LEARNED, one.metric)
        for line in mark_lines((row.marks for row in one.contenders.values()), one.shared_marks):
            print_line(console, line)
        if part.part == REPORT:
            print_findings(console, one.findings(LEARNED, "the learned policy", JUDGED_AGAINST))
    if part.part == REPORT and part.report.pooled:
        print_line(console, f"\nover {counted(len(part.report.logs), 'log')}, each counting the same:")
        print_findings(console, part.report.findings_over_all(LEARNED, "the learned policy", JUDGED_AGAINST))


def _title(training: Training) -> str:
    config, outcome, objective = training.site.config, training.outcome, training.site.objective
    bounds = "".join(f", {bound.metric} {bound.words}" for bound in objective.bounds)
    began = f", begun as {escape(training.site.begun_as)}" if training.site.begun_as else ""
    ended = {"steps": "all steps done", "patience": "no better for long", "interrupted": "interrupted"}[outcome.reason]
    lines = [
        f"[bold]{config.kind}[/bold] · {config.network.kind} network{began} · for {objective.metric}{bounds}",
        f"{outcome.steps:,} steps in {outcome.elapsed_s:,.0f} s "
        f"({outcome.steps / max(outcome.elapsed_s, 1e-9):,.0f} steps/s); {ended}",
    ]
    if outcome.best is not None and outcome.best_steps is not None:
        lines.append(
            f"best on validation at step {outcome.best_steps:,}: cost {outcome.best:.3f} "
            f"(0 is as good as the classic chosen on training days){_bound_words(training)}"
        )
    if outcome.best_steps == 0 and outcome.steps > 0:
        lines.append(kept_words(outcome, config.training.margin_se, bool(objective.bounds)))
    return "\n".join(lines)


def _bound_words(training: Training) -> str:
    """Returns whether the best policy keeps its bounds on validation; nothing where there are none."""
    if not training.site.objective.bounds:
        return ""
    return ", within its bounds" if training.outcome.best_broken == 0 else ", [red]breaking a bound[/]"


def kept_words(outcome: TrainingOutcome, margin_se: float, bounded: bool = False) -> str:
    """Returns why the policy that a training began with is its best."""
    near = outcome.near
    if near is None:
        if bounded and outcome.best_broken:
            return "the beginning was kept: it breaks a bound on validation, and no later policy breaks it less"
        within = " and within the bounds" if bounded else ""
        return f"the beginning was kept: no later policy was better on validation{within}"
    gain = f"at step {near.steps:,} it was better by {near.gain:.3g} in the logarithm of the metric"
    if near.gain_error is None:
        return f"the beginning was kept: {gain}, and one validation window does not tell how sure that is"
    noise = f"{margin_se:g} × its standard error of {near.gain_error:.3g} (--margin-se)"
    return f"the beginning was kept: {gain}, which is not more than {noise}"


def _group_title(part: str, one: LogReport) -> str:
    where = f"{counted(len(one.block), 'window')} in {counted(one.blocks, 'block')}"
    return f"\n[bold]{escape(one.name)}[/bold]\n{PARTS[part]}: {where}"


def _next(training: Training) -> str:
    if training.is_interrupted:
        return f"saved: {training.folder}; to go on: shunter train --resume --out {shlex.quote(str(training.folder))}"
    return f"written: {training.folder}; its policy: {training.folder / 'best'}"
