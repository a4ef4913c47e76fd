"""``shunter explain``: why a job of a run started when and where it did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.options import JsonOption, given_text, path, whole_number
from shunter.cli.outputs import print_json
from shunter.errors import InputError

RunArgument = Annotated[
    Path, typer.Argument(parser=path, metavar="RUN", help="A folder that 'shunter simulate --out' has written.")
]
JobArgument = Annotated[str, typer.Argument(parser=given_text, metavar="JOB", help="The job's id in the log.")]
TopOption = Annotated[
    int, typer.Option(parser=whole_number, metavar="N", help="How many of the jobs that it waited for are named.")
]


def explain(run: RunArgument, job: JobArgument, top: TopOption = 10, json: JsonOption = False) -> None:
    """Say what a job waited for, and which jobs kept it waiting.

    For instance:

        shunter explain runs/pack 17

        shunter explain runs/pack 17 --top 50 --json
    """
    from shunter.metrics.explanation import explain as explained
    from shunter.metrics.record import Record

    if top < 1:
        raise InputError(f"--top is {top}; expected 1 or more")
    # From what the run wrote: nothing is simulated again.
    record = Record.read(run)
    explanation = explained(record, record.find(job))
    if json:
        from shunter.metrics.explanation_text import explanation_object

        print_json(explanation_object(explanation, top))
        return
    from shunter.report.explanation import print_explanation

    print_explanation(explanation, top)
