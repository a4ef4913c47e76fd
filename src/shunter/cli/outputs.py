"""What verbs show and write besides their results: progress on standard error, and files.

Whether a file can be written is checked before the long work begins, and no input is ever overwritten.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shunter.cli.parsing import echo
from shunter.errors import InputError, visible
from shunter.extras import PLOT, need

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.progress import Progress, TaskID

PLOT_SUFFIXES: Final = (".png", ".svg", ".pdf")
DELAY_S = 1.0
"""Steps that are done sooner show nothing."""
LINES_AFTER_S: Final = (10.0, 30.0)
LINE_EVERY_S: Final = 60.0
"""Where standard error is no terminal, a line tells after so many seconds how far a step is, and then every minute."""


class Pulse:
    """Prints a line now and then, for those who look at a log file and would see nothing of a bar."""

    def __init__(self, words: Callable[[], str]) -> None:
        """Takes what returns the line; printing begins with `start`."""
        self._words = words
        self._is_over = threading.Event()
        # An interpreter that is leaving must not wait for a line.
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begins to wait for the first line."""
        self._thread.start()

    def stop(self) -> None:
        """Prints nothing any more."""
        self._is_over.set()

    def _run(self) -> None:
        begun = time.monotonic()
        for after_s in chain(LINES_AFTER_S, count(LINE_EVERY_S, LINE_EVERY_S)):
            if self._is_over.wait(max(0.0, begun + after_s - time.monotonic())):
                return
            passed_s = round(time.monotonic() - begun)
            echo(visible(f"{self._words()} ({passed_s // 60}:{passed_s % 60:02d} min)"), err=True)


class Step:
    """One step of the work: a bar that appears after a second, or lines now and then where there is no terminal."""

    def __init__(self, description: str) -> None:
        """Remembers what is done; nothing is shown yet."""
        self._description = visible(description)
        self._lock = threading.Lock()
        self._over = False
        self._share = ""
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, done: int, total: int) -> None:
        """Moves the bar: so many of so many jobs are done."""
        with self._lock:
            self._share = f": {100 * done / total:.0f} %" if total else ""
            if self._progress is not None and self._task is not None:
                self._progress.update(self._task, completed=done, total=total)

    @property
    def words(self) -> str:
        """What is done, and how far it is."""
        return f"{self._description}{self._share}"

    def show(self) -> None:
        """Shows the bar, unless the step is over."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        with self._lock:
            if self._over:
                return
            # A file's name may look like markup.
            text = TextColumn("{task.description}", markup=False)
            share = TextColumn("{task.percentage:>3.0f} %", markup=False)
            columns = (text, BarColumn(), share, TimeElapsedColumn(), TimeRemainingColumn())
            console = Console(stderr=True)
            # Standard output stays what it is: a JSON object must never end up among the bars.
            self._progress = Progress(*columns, console=console, transient=True, redirect_stdout=False)
            self._task = self._progress.add_task(self._description, total=None)
            self._progress.start()

    def finish(self) -> None:
        """Takes the bar away."""
        with self._lock:
            self._over = True
            if self._progress is not None:
                self._progress.stop()


@contextmanager
def step(description: str) -> Iterator[Step]:
    """Yields a step that is called with (done, total) as the work goes on."""
    shown = Step(description)
    timer, pulse = threading.Timer(DELAY_S, shown.show), Pulse(lambda: shown.words)
    # An interpreter that is leaving must not wait for a bar.
    timer.daemon = True
    if is_terminal():
        timer.start()
    else:
        pulse.start()
    try:
        yield shown
    finally:
        timer.cancel()
        pulse.stop()
        shown.finish()


def is_terminal() -> bool:
    """Returns whether somebody watches standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


ReadFiles = Mapping[str, str | Path | None]
"""The files that are read, by what errors call them: ``workload``. A name that is not that of a file does no harm."""


def check_outputs(
    out: Path | None, force: bool, files: Sequence[str], plot: Path | None, inputs: Callable[[], ReadFiles]
) -> None:
    """Raises an error if ``--out`` or ``--plot`` cannot be written.

    Args:
        out: The folder; None if none is wanted.
        force: Whether what the folder holds may be overwritten.
        files: The names of the files that are written there.
        plot: The figure; None if none is wanted.
        inputs: Returns the files that are read; asked only if something is written.
    """
    if out is not None or plot is not None or force:
        read = inputs()
        check_folder(out, force, files, read)
        check_plot(plot, out, read)


def check_folder(out: Path | None, force: bool, files: Sequence[str], inputs: ReadFiles) -> None:
    """Raises an error if ``--out`` cannot be written.

    Args:
        out: The folder; None if none is wanted.
        force: Whether what the folder holds may be overwritten.
        files: The names of the files that are written there.
        inputs: The files that are read.
    """
    from shunter.metrics.run_folder import check_output_folder

    if out is not None:
        check_apart("--out", [out / name for name in files], inputs)
        check_output_folder(out, force, files)
    elif force:
        raise InputError("--force is given without --out; it lets --out overwrite a run, and means nothing else")


def check_plot(plot: Path | None, out: Path | None, inputs: ReadFiles) -> None:
    """Raises an error if ``--plot`` cannot be written; its folder may be the one that ``--out`` creates."""
    if plot is None:
        return
    need(PLOT, "--plot")
    check_apart("--plot", [plot], inputs)
    if plot.suffix.lower() not in PLOT_SUFFIXES:
        raise InputError(f"--plot {plot}: unknown suffix {plot.suffix!r}; give a name that ends in .png, .svg or .pdf")
    if os.path.isdir(plot):
        raise InputError(f"--plot {plot}: this is a folder; give the name of a file")
    # The folder of --out is made later, and the figure may go there.
    if not plot.absolute().parent.is_dir() and plot.absolute().parent != (out.absolute() if out else None):
        raise InputError(f"--plot {plot}: there is no folder {plot.parent}; create it first")


def check_toml(option: str, path: Path, force: bool, reader: str, inputs: ReadFiles) -> None:
    """Raises an error if a TOML file cannot be written.

    Args:
        option: By which it is asked for: ``--save``.
        path: The file.
        force: Whether one that is there may be overwritten.
        reader: The option that will read the file, for the error message.
        inputs: The files that are read.
    """
    if path.suffix != ".toml":
        raise InputError(f"{option} {path}: give a name that ends in .toml, by which {reader} knows a file")
    if os.path.isdir(path):
        raise InputError(f"{option} {path}: this is a folder; give the name of a file")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {path.parent}; create it first")
    check_apart(option, [path], inputs)
    if os.path.lexists(path) and not force:
        raise InputError(f"{option} {path}: the file exists; give another name, or --force to overwrite it")


def check_apart(option: str, outputs: Sequence[Path], inputs: ReadFiles) -> None:
    """Raises an error if an output would overwrite an input."""
    for output in outputs:
        for what, given in inputs.items():
            # Compared as files: another spelling, or a link, may lead to the same one.
            if given and os.path.exists(output) and os.path.exists(given) and output.samefile(given):
                raise InputError(f"{option} would overwrite the {what} {given}; give another place")


def save_figure(path: Path, figure: Figure) -> None:
    """Writes a figure in the format that its name tells."""
    from shunter.files import write_file

    write_file(path, lambda file: figure.savefig(file, format=path.suffix[1:].lower()))


def print_json(result: object) -> None:
    """Prints what ``--json`` asks for, on standard output."""
    from shunter.metrics.run_folder import to_json_text

    echo(to_json_text(result))
