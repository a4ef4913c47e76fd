"""An advice on the terminal: a short block that ends with the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from shunter.errors import visible
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from shunter.advice.advise import Advice

COLORS: Final = {"good": "green", "bad": "red", "note": "yellow", "plain": ""}


def print_advice(advice: Advice) -> None:
    """Prints the headline, sentences, figures, what to do next, and where the page is."""
    found, console = advice.conclusion, Console()
    console.print(Text(visible(found["headline"]), style="bold"))
    for sentence in found["sentences"]:
        console.print(Text(visible(sentence)))
    if found["facts"]:
        console.print(_facts(found["facts"]))
    for one in found["next"]:
        console.print(Text(visible(f"{one['why'][0].upper()}{one['why'][1:]}{':' if one['commands'] else '.'}")))
        for line in one["commands"]:
            # A command is copied: it is never broken into lines.
            console.print(f"  {visible(line)}", markup=False, highlight=False, soft_wrap=True)
    if advice.reused:
        console.print(
            Text(f"Taken from an earlier run: {', '.join(advice.reused)} (--fresh does them again)", style="dim")
        )
    if advice.page is not None:
        console.print(f"The whole of it: {visible(str(advice.page))}", markup=False, highlight=False, soft_wrap=True)


def _facts(facts: list[dict[str, str]]) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for one in facts:
        value = Text(visible(one["value"]), style=COLORS[one["tone"]])
        table.add_row(Text(visible(one["label"])), value, Text(visible(one["note"]), style="dim"))
    return table
