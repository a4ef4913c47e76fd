"""What the live page looks at: the options that ``shunter dashboard`` and ``shunter serve`` share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from shunter.cli.options import given_text
from shunter.cli.parsing import Option
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.policies.scheduler import Scheduler
    from shunter.service.live.hub import Hub
    from shunter.service.live.sources import Source
    from shunter.service.service import Service

RUNS: Final = "runs"
"""The folder in which runs usually are."""


@dataclass(frozen=True)
class SourceArguments:
    """What the live page shows besides logs."""

    queue: Annotated[
        list[str] | None,
        Option(
            "--queue", "-q", parser=given_text, metavar="NAME|PATH", show_default="none",
            help="A local queue, as in 'shunter queue list --queue'. Give it again for another.",
        ),
    ] = None  # fmt: skip
    operate: Annotated[
        list[str] | None,
        Option(
            "--operate", parser=given_text, metavar="FOLDER", show_default="none",
            help="The folder of an operation beside Slurm or LSF ('shunter operate --state').",
        ),
    ] = None  # fmt: skip
    training: Annotated[
        list[str] | None,
        Option(
            "--training", parser=given_text, metavar="RUN", show_default="none",
            help="The folder of a training that goes on, or is over ('shunter train --out').",
        ),
    ] = None  # fmt: skip
    runs: Annotated[
        list[str] | None,
        Option(
            "--runs", parser=given_text, metavar="FOLDER", show_default="none",
            help="A folder of runs: simulations, comparisons, trainings, studies.",
        ),
    ] = None  # fmt: skip

    @property
    def is_empty(self) -> bool:
        """Whether nothing is named."""
        return not any((self.queue, self.operate, self.training, self.runs))

    def hub(self, service: Service) -> Hub:
        """Returns the hub of a service: these sources, and the logs that the service has loaded.

        Raises:
            InputError: A folder is not there.
        """
        from shunter.service.live.hub import Hub

        schedulers = {name: referee.policy.scheduler for name, referee in service.referees.items()}
        return Hub(list(_named_apart([*self._sources(schedulers), *_logs(service, schedulers)])))

    def _sources(self, schedulers: Mapping[str, Scheduler]) -> Iterator[Source]:
        from shunter.execution.local.folder import queue_folder
        from shunter.execution.operating.folder import OperationFolder
        from shunter.service.live.operation_source import OperationSource
        from shunter.service.live.queue_source import QueueSource
        from shunter.service.live.runs_source import RunsSource
        from shunter.service.live.training_source import TrainingSource

        foreseeable = _foreseeable(schedulers)
        for text in self.queue or []:
            folder = queue_folder(text)
            if not folder.database.exists():
                raise InputError(
                    f"--queue {text}: there is none at {folder.path}; start one with 'shunter queue start'"
                )
            yield QueueSource(f"queue {folder.path.name}", folder, foreseeable)
        for text in self.operate or []:
            yield OperationSource(_named("--operate", text), OperationFolder(Path(text)), foreseeable)
        for text in self.training or []:
            yield TrainingSource(_named("--training", text), Path(text))
        for text in self.runs or []:
            yield RunsSource(_named("--runs", text), Path(text))


def _named(option: str, text: str) -> str:
    """Returns what a folder is called.

    Raises:
        InputError: It is not there.
    """
    path = Path(text)
    if not path.is_dir():
        raise InputError(f"{option} {text}: there is no such folder; check its name")
    return path.resolve().name


def _logs(service: Service, schedulers: Mapping[str, Scheduler]) -> Iterator[Source]:
    from shunter.service.live.log_source import LogSource

    for name, log in service.logs.items():
        yield LogSource(name, log, schedulers)


def _foreseeable(schedulers: Mapping[str, Scheduler]) -> dict[str, Scheduler]:
    """Returns the ways to schedule under which start times can be foreseen."""
    from shunter.simulation.eta import check_scheduler

    found = {}
    for name, scheduler in schedulers.items():
        try:
            found[name] = check_scheduler(scheduler)
        except InputError:
            continue
    return found


def _named_apart(sources: Sequence[Source]) -> Iterator[Source]:
    """Yields sources, each with a name of its own: two folders may be called alike."""
    taken: set[str] = set()
    for source in sources:
        name, number = source.name, 2
        while source.name in taken:
            source.name = f"{name} {number}"
            number += 1
        taken.add(source.name)
        yield source


def usual_sources() -> SourceArguments:
    """Returns what there is where it usually is: the usual queue, operations, and the folder of runs."""
    from shunter.execution.local.folder import queue_folder
    from shunter.execution.operating.folder import NEIGHBORS, usual_folder

    queue = queue_folder(None)
    return SourceArguments(
        queue=[queue.text] if queue.database.exists() else None,
        operate=[str(path) for name in NEIGHBORS if (path := usual_folder(name)).is_dir()] or None,
        runs=[RUNS] if Path(RUNS).is_dir() else None,
    )
