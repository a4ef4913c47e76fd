"""``shunter explain``: why a job of a run, or of a local queue, started when and where it did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shunter.cli.options import JsonOption, given_text
from shunter.cli.outputs import print_json
from shunter.cli.parsing import Argument, Option, whole_number
from shunter.errors import InputError

RunArgument = Annotated[
    str,
    Argument(
        parser=given_text, metavar="RUN",
        help="A folder that 'shunter simulate --out' has written; leave it out with --queue.",
    ),
]  # fmt: skip
JobArgument = Annotated[
    str | None, Argument(parser=given_text, metavar="JOB", show_default=False, help="The job's id.")
]
QueueOption = Annotated[
    str | None,
    Option(
        "--queue", "-q", parser=given_text, metavar="NAME|PATH", show_default="none",
        help="Explain a job of this local queue. Its daemon need not run.",
    ),
]  # fmt: skip
TopOption = Annotated[
    int, Option(parser=whole_number, metavar="N", help="How many of the jobs that it waited for are named.")
]


def explain(
    run: RunArgument,
    job: JobArgument = None,
    queue: QueueOption = None,
    top: TopOption = 10,
    json: JsonOption = False,
) -> None:
    """Say what a job waited for, and which jobs kept it waiting.

    For instance:

        shunter explain runs/pack 17

        shunter explain runs/pack 17 --top 50 --json

        shunter explain --queue default 12
    """
    if top < 1:
        raise InputError(f"--top is {top}; expected 1 or more")
    if queue is not None:
        _explain_queued(queue, run, job, top, json)
        return
    if job is None:
        raise InputError("no job is given; name a run and a job (shunter explain runs/pack 17), or --queue and a job")
    from shunter.metrics.explanation import explain as explained
    from shunter.metrics.record import Record

    # From what the run wrote: nothing is simulated again.
    record = Record.read(Path(run))
    explanation = explained(record, record.find(job))
    if json:
        from shunter.metrics.explanation_text import explanation_object

        print_json(explanation_object(explanation, top))
        return
    from shunter.report.explanation import print_explanation

    print_explanation(explanation, top)


def _explain_queued(queue: str, job: str, more: str | None, top: int, json: bool) -> None:
    """Explains a job of a local queue."""
    from shunter.execution.local.explaining import explain_job
    from shunter.execution.local.folder import queue_folder

    if more is not None or not job.isdecimal():
        raise InputError(f"--queue {queue}: expected one id of a job, as in: shunter explain --queue {queue} 12")
    explanation, kept = explain_job(queue_folder(queue), int(job))
    if json:
        from shunter.metrics.explanation_text import explanation_object

        print_json({**explanation_object(explanation, top), **kept})
        return
    from shunter.report.explanation import print_explanation
    from shunter.report.queue import print_choice

    print_choice(kept)
    print_explanation(explanation, top)
