"""``shunter eta``: when waiting jobs will start, and what asking for less would gain."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shunter.cli.options import (
    LOAD,
    POLICY,
    SETTINGS,
    SITE,
    STOPS,
    JsonOption,
    ThreadsOption,
    duration,
    given_text,
    path,
    takes,
    takes_fields,
)
from shunter.cli.outputs import check_apart, check_plot, print_json, save_figure, step
from shunter.cli.parsing import Context, Option, echo, number, whole_number
from shunter.cli.running import RunArguments
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.simulation.asked_job import AskedJob
    from shunter.simulation.eta import Eta
    from shunter.simulation.foresight import Foresight


@dataclass(frozen=True)
class NewJobArguments:
    """A job that somebody thinks of submitting."""

    cores: Annotated[
        float | None,
        Option(
            parser=number, metavar="N", show_default="none",
            help="When would a job start that is submitted now? So many cores in all; with --time.",
        ),
    ] = None  # fmt: skip
    time_s: Annotated[
        float | None, Option("--time", parser=duration, metavar="TIME", help="How long it asks for: 90m, 4h, 1d.")
    ] = None
    nodes: Annotated[
        int | None,
        Option(
            parser=whole_number, metavar="N", show_default="wherever there is room",
            help="On so many nodes, evenly.",
        ),
    ] = None  # fmt: skip
    gpus: Annotated[float, Option(parser=number, metavar="N", help="So many GPUs in all.")] = 0.0
    memory: Annotated[
        float | None, Option(parser=number, metavar="MB", show_default="none asked for", help="So much memory in all.")
    ] = None
    user: Annotated[
        str | None,
        Option(parser=given_text, metavar="NAME", show_default="nobody known", help="Whose job it would be."),
    ] = None
    partition: Annotated[
        str | None, Option(parser=given_text, metavar="NAME", show_default="any", help="In which partition.")
    ] = None

    def job(self) -> AskedJob | None:
        """Returns the job; None if none is asked about."""
        from shunter.simulation.asked_job import AskedJob

        if self == NewJobArguments():
            return None
        if self.time_s is None or (self.cores is None and not self.gpus):
            raise InputError("a new job needs --time and --cores (or --gpus), as in: --cores 64 --time 4h")
        return AskedJob(
            time_s=self.time_s,
            cores=self.cores or 0.0,
            nodes=self.nodes,
            gpus=self.gpus,
            memory_mb=self.memory,
            user=self.user,
            partition=self.partition,
        )


@dataclass(frozen=True)
class FutureArguments:
    """How many futures, and how they are told."""

    futures: Annotated[int, Option(parser=whole_number, metavar="N", help="How many futures are simulated.")] = 100
    horizon_s: Annotated[
        float, Option("--horizon", parser=duration, metavar="TIME", show_default="28d", help="How far to look.")
    ] = 28 * 86_400.0
    top: Annotated[int, Option(parser=whole_number, metavar="N", help="How many jobs the table shows.")] = 20
    plot: Annotated[
        Path | None,
        Option(parser=path, metavar="FILE", help="Draw the intervals: a .png, .svg or .pdf file."),
    ] = None
    threads: ThreadsOption = None

    def foresight(self, seed: int) -> Foresight:
        """Returns what is asked of futures."""
        from shunter.simulation.foresight import Foresight

        if self.top < 1:
            raise InputError(f"--top is {self.top}; expected 1 or more")
        if self.threads is not None and self.threads < 1:
            raise InputError(f"--threads is {self.threads}; expected 1 or more")
        return Foresight(futures=self.futures, seed=seed, horizon_days=self.horizon_s / 86_400)


AtOption = Annotated[
    float | None,
    Option(
        parser=duration, metavar="TIME", show_default="when the last job comes",
        help="The time of the log's own clock at which to ask, in seconds, or as 12d6h.",
    ),
]  # fmt: skip
JobOption = Annotated[
    str | None, Option("--job", parser=given_text, metavar="ID", help="Ask when this job of the log is submitted.")
]
SnapshotOption = Annotated[
    Path | None,
    Option(
        parser=path, metavar="FILE", show_default="none",
        help="Ask about the state in this JSON file (docs/eta.md) instead of a log.",
    ),
]  # fmt: skip
QueueOption = Annotated[
    str | None,
    Option(
        "--queue", "-q", parser=given_text, metavar="NAME|PATH", show_default="none",
        help="Ask about this local queue, now. Its daemon need not run.",
    ),
]  # fmt: skip
OperateOption = Annotated[
    Path | None,
    Option(
        parser=path, metavar="FOLDER", show_default="none",
        help="Ask about the queue beside which 'shunter operate' works, as of its latest reading: its state folder.",
    ),
]  # fmt: skip
SaveOption = Annotated[
    Path | None,
    Option("--save", parser=path, metavar="FILE", help="Write the state of the log as JSON, for --snapshot."),
]

SchemaOption = Annotated[
    bool, Option("--schema", help="Print the JSON Schema of such a file, for programs that write one, and end.")
]


@takes(SITE | LOAD | POLICY | STOPS | SETTINGS, workload="")
@takes_fields(NewJobArguments)
@takes_fields(FutureArguments)
def eta(
    context: Context,
    arguments: RunArguments,
    new: NewJobArguments,
    future: FutureArguments,
    at: AtOption = None,
    job: JobOption = None,
    snapshot: SnapshotOption = None,
    queue: QueueOption = None,
    operate: OperateOption = None,
    save: SaveOption = None,
    schema: SchemaOption = False,
    json: JsonOption = False,
) -> None:
    """Say when waiting jobs will start: the median and an 80 % interval over many simulated futures.

    For instance:

        shunter eta log.swf.gz --job 1234

        shunter eta log.swf.gz --at 120d --cores 64 --time 4h --user u17

        shunter eta --snapshot state.json --plot eta.png

        shunter eta --queue default

        shunter eta --operate ~/.local/state/shunter/operate-slurm
    """
    if schema:
        from shunter.model.state_schema import state_schema

        print_json(state_schema())
        return
    ways = {"a log": arguments.workload, "--snapshot": snapshot, "--queue": queue, "--operate": operate}
    given = [name for name, value in ways.items() if value]
    if len(given) != 1:
        what = f"{' and '.join(given)} are given" if given else "nothing is given to look at"
        raise InputError(f"{what}; give one of: a log, --snapshot FILE, --queue NAME, --operate FOLDER")
    if given != ["a log"] and (at is not None or job is not None or save is not None):
        raise InputError(f"--at, --job and --save go with a log, not with {given[0]}")
    asked, wanted = future.foresight(arguments.seed), new.job()
    check_plot(future.plot, None, {"log": arguments.workload, "snapshot": snapshot})
    if save is not None:
        check_apart("--save", [save], {"log": arguments.workload})
    left_out = 0
    if queue is not None:
        found, left_out = _of_queue(queue, wanted, asked, future.threads)
    elif operate is not None:
        found, left_out = _of_operation(operate, arguments, wanted, asked, future.threads)
    elif snapshot is not None:
        found = _of_file(snapshot, arguments, wanted, asked, future.threads)
    else:
        found = _of_log(arguments, at, job, save, wanted, asked, future.threads)
    if future.plot is not None:
        from shunter.report.eta import draw_eta

        save_figure(future.plot, draw_eta(found))
    about = {"left_out": left_out} if queue or operate else {}
    _show(found, future.top, about | ({"reading_age_s": _age_s(found)} if operate else {}), json=json)


def _show(found: Eta, top: int, about: dict[str, float], *, json: bool) -> None:
    """Prints estimates, and what is to be said of the queue that they are about."""
    if json:
        print_json(found.to_json() | about)
        return
    from shunter.metrics.labels import brief_seconds
    from shunter.report.eta import print_eta

    if "reading_age_s" in about:
        echo(f"The queue as it was read {brief_seconds(about['reading_age_s'])} ago")
    print_eta(found, top, int(about.get("left_out", 0)))


def _of_queue(name: str, new: AskedJob | None, asked: Foresight, threads: int | None) -> tuple[Eta, int]:
    from shunter.execution.local.folder import queue_folder
    from shunter.execution.local.foreseeing import eta_of_queue

    found = eta_of_queue(queue_folder(name), new=new, foresight=asked, threads=threads)
    return found.eta, found.left_out


def _of_operation(
    folder: Path, arguments: RunArguments, new: AskedJob | None, asked: Foresight, threads: int | None
) -> tuple[Eta, int]:
    from shunter.execution.operating.folder import OperationFolder
    from shunter.execution.operating.foreseeing import state_of_operation
    from shunter.simulation.eta import eta as foretell

    kept = OperationFolder(folder)
    state, left_out = state_of_operation(kept)
    with _naming(kept.status):
        return foretell(state, new=new, foresight=asked, threads=threads, **_asked_words(arguments)), left_out


def _age_s(found: Eta) -> float:
    """Returns how long ago the reading of a scheduler was made."""
    return round(max(0.0, time.time() - found.waiting.now_s), 1)


def _asked_words(arguments: RunArguments) -> dict[str, Any]:
    """Returns the settings that the user asks for: they go over those of a state."""
    return {name: value for name, value in arguments.words.items() if name in arguments.asked}


def _of_file(file: Path, arguments: RunArguments, new: AskedJob | None, asked: Foresight, threads: int | None) -> Eta:
    from shunter.files import read_text
    from shunter.model.state import State
    from shunter.simulation.eta import eta as foretell

    state = State.from_json(read_text(file, "file", "a state in JSON"), str(file))
    with _naming(file):
        return foretell(state, new=new, foresight=asked, threads=threads, **_asked_words(arguments))


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Puts the name of a file before errors that say it names Python which is not trusted."""
    from shunter.policies.trust import UntrustedError

    try:
        yield
    except UntrustedError as error:
        raise InputError(f"{file}: {error}") from None


def _of_log(
    arguments: RunArguments,
    at: float | None,
    job: str | None,
    save: Path | None,
    new: AskedJob | None,
    asked: Foresight,
    threads: int | None,
) -> Eta:
    from shunter.cli.running import read_inputs
    from shunter.simulation.eta import check_scheduler, eta_of, state_at, time_of

    scheduler = check_scheduler(arguments.scheduler())
    log = read_inputs(arguments).log
    with step("simulating the log"):
        state = state_at(log.workload, log.cluster, scheduler, time_of(log.workload, at, job))
    if save is not None:
        from shunter.files import write_file

        text = state.to_json().encode()
        write_file(save, lambda file: file.write(text))
    with step(f"simulating {asked.futures:,} futures"):
        return eta_of(state, scheduler, new=new, foresight=asked, threads=threads)
