"""``shunter what-if``: the same log with more nodes, more load, another limit or another policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shunter.cli.arguments import RunArguments
from shunter.cli.options import JsonOption
from shunter.cli.run_options import LOAD, POLICY, SETTINGS, SITE, STOPS, WINDOW, takes

if TYPE_CHECKING:
    from shunter.cli.running import Inputs, Run
    from shunter.comparison.changes import Change

ChangeOption = Annotated[
    list[str],
    typer.Option(
        metavar="NAME=VALUE,...",
        help="What is different; give it several times for several cases. cores=+25% (or 1.5x, +64, 512), "
        "cluster=FILE, load=1.2x (or 0.9), request=0.5x, limit=SECONDS, or any setting: policy=sjf, "
        "dispatch=conservative, max-wait=86400, kill-at-request=yes. With commas: together.",
    ),
]


@dataclass(frozen=True)
class Case:
    """One simulation of the table."""

    name: str
    """``base``, or the change."""
    notes: tuple[str, ...]
    """What the change amounts to."""
    run: Run


@takes(SITE | LOAD | POLICY | WINDOW | STOPS | SETTINGS)
def what_if(
    arguments: RunArguments,
    change: ChangeOption,
    json: JsonOption = False,
) -> None:
    """Simulate a log as it is and with changes, and print the differences.

    For instance:

        shunter what-if --workload log.swf.gz --change cores=+25% --change load=1.2x

        shunter what-if --workload log.swf.gz --policy sjf --change limit=86400,kill-at-request=yes
    """
    cases = _run_cases(arguments, change)
    if json:
        from shunter.metrics.run_folder import to_json_text

        typer.echo(to_json_text(result_object(cases)))
        return
    from shunter.report.what_if import print_cases

    print_cases(cases)


def _run_cases(arguments: RunArguments, texts: list[str]) -> list[Case]:
    """Runs the base and every change of it; what can be checked without the log is checked first."""
    from shunter.cli.running import read_inputs, simulate_inputs
    from shunter.comparison.changes import parse_change

    changes = [parse_change(text) for text in texts]
    schedulers = [arguments.with_settings(**change.settings).scheduler() for change in changes]
    base = arguments.scheduler()
    inputs = read_inputs(arguments)
    cases = [Case("base", (), simulate_inputs(inputs, base))]
    for change, scheduler in zip(changes, schedulers, strict=True):
        changed, notes = _changed(inputs, change)
        cases.append(Case(change.text, tuple(notes), simulate_inputs(changed, scheduler)))
    return cases


def _changed(inputs: Inputs, change: Change) -> tuple[Inputs, list[str]]:
    from shunter.comparison.changes import Site

    site, notes = change.apply(Site(inputs.workload, inputs.cluster, inputs.arguments.words))
    changed = replace(
        inputs,
        arguments=inputs.arguments.with_settings(**change.settings),
        workload=site.workload,
        cluster=site.cluster,
        cluster_from=inputs.cluster_from if site.cluster is inputs.cluster else "--change",
    )
    return changed, notes


def result_object(cases: list[Case]) -> dict[str, Any]:
    """Returns what ``--json`` prints: the base as ``simulate`` tells it, and each case with its differences."""
    base = cases[0].run.result()
    return {
        "base": base,
        "cases": [
            {
                "change": case.name,
                "notes": list(case.notes),
                **case.run.result(),
                "difference": {name: _difference(base["metrics"][name], new) for name, new in case.run.metrics.items()},
            }
            for case in cases[1:]
        ],
    }


def _difference(old: float | None, new: float | None) -> dict[str, float | None]:
    """Returns the difference of a metric to the base, and in percent of it; null where there is none."""
    absolute = None if old is None or new is None else new - old
    percent = 100 * absolute / abs(old) if absolute is not None and old else None
    return {"absolute": absolute, "percent": percent}
