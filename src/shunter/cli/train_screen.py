"""How ``shunter train`` shows a training: notes and a bar on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from shunter.agents.training.train import Watcher
from shunter.cli.commands import EXIT_INTERRUPTED
from shunter.cli.outputs import Pulse, is_terminal, step
from shunter.cli.parsing import Exit, echo
from shunter.errors import visible

if TYPE_CHECKING:
    from shunter.agents.training.trainer import Progress
    from shunter.comparison.combinations import Combination
    from shunter.studies.runs import Record, Told


class TrainingScreen(Watcher):
    """Prints notes, and shows bars if standard error is a terminal."""

    def note(self, text: str) -> None:
        """Prints a line."""
        echo(visible(text), err=True)

    def stage(self, description: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """Shows a bar once the work has taken a second."""
        return step(description)

    def training(self, chosen: Sequence[Combination]) -> AbstractContextManager[Callable[[Progress], None]]:
        """Shows how far the training is, how fast, and what validation says."""
        return _training_bar(chosen)


@contextmanager
def _training_bar(chosen: Sequence[Combination]) -> Iterator[Callable[[Progress], None]]:
    """Yields what is called after each update; it shows a bar on standard error, or a line now and then."""
    rival = chosen[0].label if len(chosen) == 1 else "the classics"
    words = BarWords(rival)
    # In a log file a bar would be thousands of lines.
    if not is_terminal():
        line = ["training"]
        pulse = Pulse(lambda: line[-1])
        pulse.start()

        def told(progress: Any) -> None:  # noqa: ANN401 - as below
            line[:] = [f"training: {100 * progress.steps / progress.total_steps:.0f} % · {words(progress)}"]

        try:
            yield told
        finally:
            pulse.stop()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %", markup=False),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    # On standard error, so that --json can be piped; and gone when it is done.
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as shown:
        task = shown.add_task("training", total=None)

        def moved(progress: Any) -> None:  # noqa: ANN401 - the trainer's, whose name is that of the bar's
            shown.update(task, completed=progress.steps, total=progress.total_steps, description=words(progress))

        yield moved


class BarWords:
    """What stands beside the bar; figures that not every update has are those of the last that had them."""

    def __init__(self, rival: str) -> None:
        """Remembers what policies are compared with."""
        self._rival = rival
        self._kept: dict[str, float] = {}

    def __call__(self, progress: Progress) -> str:
        """Returns the words after an update."""
        self._kept |= progress.figures
        parts = [f"{self._kept.get('steps_per_s', 0.0):,.0f} steps/s"]
        if "return" in self._kept:
            parts.append(f"return {self._kept['return']:.3g}")
        if "validation/ratio" in self._kept:
            # Without penalties for bounds, which the choice of the best checkpoint counts too.
            parts.append(f"validation {self._kept['validation/ratio']:.3f} × {self._rival}")
        return " · ".join(parts)


@contextmanager
def many_runs(description: str, remedy: str) -> Iterator[Told]:
    """Yields what is called when a run of many has ended: it moves a bar, and tells of a run that failed at once.

    Args:
        description: What is done.
        remedy: What a user does who interrupts and wants to go on.
    """
    with step(description) as bar:

        def told(record: Record, done: int, total: int) -> None:
            bar(done, total)
            if record.error is not None:
                echo(visible(f"{record.task.name} failed: {record.error}"), err=True)

        try:
            yield told
        except KeyboardInterrupt:
            echo(f"interrupted: every run is saved; {remedy}", err=True)
            raise Exit(EXIT_INTERRUPTED) from None
