"""The tables of ``shunter train``, for people."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from shunter.comparison.roles import CHOSEN, LEARNED, ROLES
from shunter.metrics.labels import counted, percent
from shunter.report.comparisons import contender_table, in_unit, ratio_text, role_name, used_columns, wait_unit
from shunter.report.tables import NAME_WIDTH, ledger_table, print_fitted, short, titled_table
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from shunter.agents.training.train import Training
    from shunter.agents.training.trainer import TrainingOutcome
    from shunter.comparison.report import LogReport

PARTS = {"validation": "validation, on which the best policy was chosen", "report": "report, never looked at before"}
"""What tables call the parts that are not trained on."""


def print_training(training: Training) -> None:
    """Prints how the training went, what came of it, and how to go on."""
    console = Console()
    console.print(_title(training), soft_wrap=True, highlight=False)
    metric = training.site.objective.metric
    for _, ledger in training.ledgers():
        if ledger:
            console.print(ledger_table(ledger))
    # Several logs often have the same note; it is printed once, in the order of the logs.
    notes: dict[str, None] = {}
    for part in training.parts:
        for one in part.report.logs:
            console.print(_group_title(part.part, one), soft_wrap=True, highlight=False)
            against = {CHOSEN: "to the chosen"}
            print_fitted(console, partial(contender_table, one, metric, ROLES, against, wins=CHOSEN))
            print_fitted(console, partial(trained_beside_table, one))
            if one.interval_note:
                notes[one.interval_note] = None
        if part.report.pooled and (pooled := part.report.pooled[LEARNED].against[CHOSEN]) is not None:
            ratio = ratio_text(metric, pooled.to_json())
            console.print(f"over {counted(len(part.report.logs), 'log')}: learned to chosen {ratio}", highlight=False)
    for note in notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    if training.parts:
        # On the days that nobody has looked at: on validation the best policy was chosen, so that it flatters.
        for sentence in training.parts[-1].sentences():
            console.print(escape(sentence), highlight=False, soft_wrap=True)
    console.print(_next(training), markup=False, highlight=False, soft_wrap=True)


def _title(training: Training) -> str:
    config, outcome, objective = training.site.config, training.outcome, training.site.objective
    bounds = "".join(f", {bound.metric} {bound.words}" for bound in objective.bounds)
    began = f", begun as {escape(config.training.init)}" if config.training.init else ""
    ended = {"steps": "all steps done", "patience": "no better for long", "interrupted": "interrupted"}[outcome.reason]
    lines = [
        f"[bold]{config.kind}[/bold] · {config.network.kind} network{began} · for {objective.metric}{bounds}",
        f"{outcome.steps:,} steps in {outcome.elapsed_s:,.0f} s "
        f"({outcome.steps / max(outcome.elapsed_s, 1e-9):,.0f} steps/s); {ended}",
    ]
    if outcome.best is not None and outcome.best_steps is not None:
        lines.append(
            f"best on validation at step {outcome.best_steps:,}: cost {outcome.best:.3f} "
            "(0 is as good as the classic chosen on training days)"
        )
    if outcome.best_steps == 0 and outcome.steps > 0:
        lines.append(kept_words(outcome, config.training.margin_se))
    return "\n".join(lines)


def kept_words(outcome: TrainingOutcome, margin_se: float) -> str:
    """Returns why the policy that a training began with is its best."""
    near = outcome.near
    if near is None:
        return "the beginning was kept: no later policy was better on validation"
    gain = f"at step {near.steps:,} it was lower by {near.gain:.3g}"
    if near.gain_error is None:
        return f"the beginning was kept: {gain}, and one validation window does not tell how sure that is"
    noise = f"{margin_se:g} × its standard error of {near.gain_error:.3g} (--margin-se)"
    return f"the beginning was kept: {gain}, which is not more than {noise}"


def _group_title(part: str, one: LogReport) -> str:
    where = f"{counted(len(one.block), 'window')} in {counted(one.blocks, 'block')}"
    return f"\n[bold]{escape(one.name)}[/bold]\n{PARTS[part]}: {where}"


def trained_beside_table(one: LogReport, most: int = NAME_WIDTH) -> Table:
    """Returns what lies beside the metric, with names in lines of so many characters."""
    rows = [one.row_object(role) for role in one.contenders]
    # Drawn episodes of pick-host last seconds, and logs last months.
    unit, seconds = wait_unit(row["max_wait_s"] for row in rows)
    table = titled_table(f"waits in {unit}")
    used = used_columns(rows)
    for heading in ("mean\nwait", "to the\nchosen", "max\nwait", *used):
        table.add_column(heading, justify="right")
    for row in rows:
        mean, longest = (in_unit(row[name], seconds) for name in ("mean_wait_s", "max_wait_s"))
        ratio = "=" if row["role"] == CHOSEN else short(row["mean_wait_ratio"])
        name = role_name(ROLES, row["role"], one.shown_label(row["role"]), most)
        table.add_row(name, mean, ratio, longest, *(percent(row[share], 1) for share in used.values()))
    return table


def _next(training: Training) -> str:
    if training.is_interrupted:
        return f"saved: {training.folder}; to go on: shunter train --resume --out {training.folder}"
    return f"written: {training.folder}; its policy: {training.folder / 'best'}"
