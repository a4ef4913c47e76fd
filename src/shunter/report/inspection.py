"""The tables of ``shunter inspect``, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.markup import escape
from rich.table import Table

from shunter.agents.inspection.measures import LEAST_CHOICES
from shunter.metrics.labels import percent
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from shunter.agents.inspection.inspect import Inspected

TOP: Final = 15
"""So many features are shown."""
FACTS: Final = ("objective", "steps", "best_objective", "best_steps", "train", "validation", "init", "version")
"""What is shown of the training, where it is told."""


def print_inspection(inspected: Inspected) -> None:
    """Prints what the policy is, how it decides, what it looks at, and what speaks against it."""
    console = Console()
    console.print(f"[bold]{escape(inspected.folder)}[/bold]", soft_wrap=True, highlight=False)
    console.print(facts_table(inspected.facts()))
    console.print(_watched(inspected), highlight=False, soft_wrap=True, markup=False)
    if inspected.manner.choices:
        console.print(manner_table(inspected))
        if inspected.agreement:
            console.print(classics_table(inspected.agreement))
        console.print(importance_table(inspected))
    for sign in inspected.signs:
        console.print(f"[red]sign of collapse: {escape(sign)}[/]", highlight=False, soft_wrap=True)
    if inspected.manner.choices < LEAST_CHOICES:
        few = f"fewer than {LEAST_CHOICES} choices tell nothing of collapse; give a busier log, or more windows"
        console.print(few, highlight=False, soft_wrap=True)
    elif not inspected.signs:
        console.print("no sign of collapse", highlight=False)


def _watched(inspected: Inspected) -> str:
    choices = inspected.manner.choices
    if not choices:
        return f"watched in {inspected.watched}: there was nothing to choose"
    return f"watched in {inspected.watched}: {choices:,} choices between two actions or more"


def facts_table(facts: dict[str, Any]) -> Table:
    """Returns what the policy accepts, and how its network is built; what is not there is left out."""
    table = Table("what it is", "")
    network, training = facts["network"], facts["training"]
    rows = {"kind": facts["kind"]} | facts["options"]
    rows |= {
        "observation": f"{facts['observation_size']:,} numbers",
        "actions": f"{facts['actions']:,}",
        "network": f"{network['kind']}, hidden {_text(network['hidden'])}, {network['activation']}",
        "begins as its order or best-fit, temperature": network["order_temperature"],
        "parameters": f"{facts['parameters']:,}",
    }
    rows |= {f"training: {name}": training[name] for name in FACTS if name in training}
    for name, value in rows.items():
        # Not "if value": 0 and False are worth telling.
        if value not in (None, (), []):
            table.add_row(name, escape(_text(value)))
    return table


def _text(value: object) -> str:
    # Before the numbers: to Python a bool is one.
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def manner_table(inspected: Inspected) -> Table:
    """Returns how the policy decides."""
    manner = inspected.manner
    table = Table("how it decides")
    table.add_column("value", justify="right")
    table.add_row("mean entropy of its choices", f"{manner.entropy:.3f} nats")
    table.add_row("as a part of the largest possible", percent(manner.relative_entropy))
    table.add_row("waits where it could take a job", percent(manner.wait_share, 1))
    table.add_row(f"takes action {manner.most_chosen}, its most frequent", percent(manner.most_chosen_share))
    return table


def classics_table(agreement: dict[str, float | None]) -> Table:
    """Returns how often classics would have chosen the same, most often first."""
    table = Table("classic")
    table.add_column("makes the same choice between jobs", justify="right")
    for name, share in sorted(agreement.items(), key=lambda item: -(item[1] or 0.0)):
        table.add_row(name, percent(share))
    return table


def importance_table(inspected: Inspected) -> Table:
    """Returns what shuffling the most important features changes."""
    table = Table("feature, if shuffled", "of")
    for heading in ("moves probabilities by", "changes choices"):
        table.add_column(heading, justify="right")
    for one in inspected.importances[:TOP]:
        table.add_row(escape(one.feature), one.part, percent(one.moved, 1), percent(one.changed, 1))
    if (hidden := len(inspected.importances) - TOP) > 0:
        table.add_row(f"({hidden} more in --json)", "", "", "")
    return table
