"""The log that a verb of ``shunter trace`` reads: its files, and how they are to be read.

A verb has one parameter of the type `LogArguments`::

    @reads_log
    def verb(log: LogArguments, json: JsonOption = False) -> None:
        workload = log.read()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shunter.cli.options import FormatOption, MapOption, OnlyOption, Options, Verb, fills, given_text
from shunter.cli.outputs import step
from shunter.cli.parsing import Argument, Option
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.clock import Clock
    from shunter.workloads.statistics import Description

FilesArgument = Annotated[
    list[str],
    Argument(
        parser=given_text,
        metavar="FILE",
        help="A job log, also .gz. Several files, or a pattern in quotes, are read as one log; - is standard input. Or "
        "a generator: generate:...",
        show_default=False,
    ),
]
StrictOption = Annotated[bool, Option("--strict", help="Stop with an error where something would be repaired.")]

OPTIONS: Options = {
    "files": FilesArgument,
    "format": FormatOption,
    "columns": MapOption,
    "only": OnlyOption,
    "strict": StrictOption,
}


@dataclass(frozen=True)
class LogArguments:
    """A log, and how it is to be read."""

    files: Sequence[str] = ()
    format: str | None = None
    columns: str | None = None
    only: str | None = None
    strict: bool = False

    @property
    def spec(self) -> str | list[str]:
        """What `shunter.workloads.read_workload` takes."""
        return self.files[0] if len(self.files) == 1 else list(self.files)

    def check(self) -> None:
        """Raises an error if no file is named."""
        if not self.files:
            raise InputError("no log is given; name a file: shunter trace ... log.swf.gz")

    @property
    def inputs(self) -> dict[str, str | Path | None]:
        """The files that are read, by what errors call them, for checks that none of them is overwritten."""
        from shunter.model.cluster import GENERATE
        from shunter.workloads import files_of

        self.check()
        # A generator reads no file that could be overwritten.
        files = [] if self.files[0].startswith(GENERATE) else files_of(self.spec)
        return {"log" if number == 0 else f"log's part {number + 1}": file for number, file in enumerate(files)}

    def clock(self, workload: Workload) -> Clock:
        """Returns what the seconds of the log mean."""
        from shunter.workloads.clock import read_clock

        return read_clock(workload, self.files[0])

    def describe(self, cluster: str | None) -> tuple[Workload, Description]:
        """Reads and describes the log, on a cluster that is given or told by the log, or on none."""
        from shunter.workloads import read_cluster
        from shunter.workloads.statistics import describe

        # A mistake in the cluster is told before the log is read.
        given = None if cluster is None else read_cluster(cluster)
        workload = self.read()
        if given is None and workload.cluster_spec is not None:
            given = read_cluster(workload.cluster_spec)
        return workload, describe(workload, given, self.clock(workload))

    def read(self) -> Workload:
        """Reads the log."""
        from shunter.workloads import read_workload

        self.check()
        with step(f"reading {self.files[0]}"):
            return read_workload(
                self.spec, format=self.format, strict=self.strict, only=self.only, columns=self.columns
            )


def reads_log(verb: Verb) -> Verb:
    """Gives a verb the files and options of a log; its parameter of the type `LogArguments` holds them."""
    return fills(LogArguments, OPTIONS, _make)(verb)


def _make(values: dict[str, Any], _: dict[str, Any]) -> LogArguments:
    columns = values.pop("columns")
    return LogArguments(**values, columns=None if columns is None else ",".join(columns))
