"""``shunter run``: jobs that are run here and now, by the queue of this machine, and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shunter.execution.local.foreground import Foreground, temporary_queue
from shunter.execution.local.run_metrics import Row, job_rows, write_rows
from shunter.interruption import interruption

if TYPE_CHECKING:
    from shunter.agents.training.trainer import Progress
    from shunter.execution.local.folder import QueueFolder
    from shunter.execution.local.learning import LearnOptions
    from shunter.execution.local.spec import JobSpec

MOST_PRINTED = 200
"""How many characters are told of what a failed job has printed last."""


@dataclass(frozen=True)
class RunRequest:
    """What is to be run, and how."""

    jobs: Callable[[int], Sequence[JobSpec]]
    """Returns the jobs, by the number of the episode, from 1; without learning, there is one."""
    settings: Mapping[str, Any]
    """Of the queue: ``cores``, and the words of its policy."""
    out: Path
    """Where the metrics go, and the model."""
    queue: QueueFolder | None = None
    """A queue that stays; None: one that is removed at the end."""


@dataclass
class RunResult:
    """What has run."""

    rows: list[Row] = field(default_factory=list)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    """What the journal tells of each job of the last episode."""
    said: dict[int, str] = field(default_factory=dict)
    """The last line that each failed job has printed."""
    files: tuple[Path, ...] = ()
    is_interrupted: bool = False
    policy_failures: int = 0
    """How often fcfs decided because the policy failed."""
    last_failure: str = ""

    def take(self, queue: Foreground, jobs: Sequence[int], **also: Any) -> None:  # noqa: ANN401 - cells of all rows
        """Takes up what became of jobs."""
        self.rows += job_rows(queue.queue.journal, jobs, **also)
        told = (queue.queue.journal.job(job) for job in jobs)
        self.jobs = [one for one in told if one is not None]
        failed = [one["id"] for one in self.jobs if one["state"] == "failed"]
        self.said |= {job: _last_line(queue.queue.folder.output(job)) for job in failed}


def run_jobs(request: RunRequest, tell: Callable[[int, int], None]) -> RunResult:
    """Runs jobs until all are over, or the user interrupts; writes metrics of what has run.

    Args:
        request: What to run.
        tell: Called with how many jobs are over, and of how many.

    Raises:
        InputError: A job can never run here, or something cannot be written.
    """
    result = RunResult()
    with _open(request) as queue, interruption() as asked:
        ids = queue.submit(request.jobs(1))
        try:
            queue.run(ids, asked.is_set, tell)
        finally:
            result.take(queue, ids)
            result.files = write_rows(result.rows, request.out)
        decider = queue.loop.decider
        result.policy_failures, result.last_failure = decider.failures, decider.last_failure
        result.is_interrupted = asked.is_set()
    return result


def learn_on_jobs(request: RunRequest, options: LearnOptions, tell: Callable[[Progress], object]) -> RunResult:
    """Learns a policy on executed episodes; writes the model, and metrics of all that has run.

    Args:
        request: What to run.
        options: How to learn.
        tell: Called after each episode.

    Raises:
        InputError: A job can never run here, or something cannot be written.
    """
    from shunter.execution.local.episodes import ExecutedEpisodes
    from shunter.execution.local.learning import check_model_folder, learn

    check_model_folder(request.out)
    result = RunResult()
    with _open(request) as queue, interruption() as asked:

        def ended(episode: int, jobs: list[int]) -> None:
            result.take(queue, jobs, episode=episode)

        episodes = ExecutedEpisodes(queue, options.environment, request.jobs, asked.is_set, ended)
        try:
            result.is_interrupted = learn(episodes, options, request.out, tell) == "interrupted"
        finally:
            if result.rows:
                result.files = write_rows(result.rows, request.out)
    return result


@contextmanager
def _open(request: RunRequest) -> Iterator[Foreground]:
    with temporary_queue() if request.queue is None else nullcontext(request.queue) as folder:
        queue = Foreground(folder, request.settings)
        try:
            yield queue
        finally:
            queue.close()


def _last_line(output: Path) -> str:
    try:
        lines = output.read_bytes().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1][-MOST_PRINTED:] if lines else ""
