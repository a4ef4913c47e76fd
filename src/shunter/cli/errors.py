"""One line for every error: what the user can mend never shows a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from shunter.errors import ShunterError

EXIT_DIFFERENT = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


class OneLineErrorGroup(TyperGroup):
    """The group of all verbs, which turns errors into one line on standard error and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,  # noqa: ANN401 - passed on as it came
    ) -> Any:  # noqa: ANN401 - the type of the method that this one overrides
        """Runs the command line and exits with its code."""

        def run() -> object:
            return super(OneLineErrorGroup, self).main(
                args, prog_name, complete_var, standalone_mode=False, windows_expand_args=windows_expand_args, **extra
            )

        sys.exit(run_with_one_line_errors(run))


def run_with_one_line_errors(run: Callable[[], object]) -> int:
    """Runs a function and returns the exit code, having printed ``error: ...`` for what the user can mend."""
    try:
        code = run()
        if code == EXIT_INTERRUPTED:  # Newer versions of Typer catch the interrupt themselves.
            raise KeyboardInterrupt
        if sys.stdout is not None:  # It is None where the shell has closed it.
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        _forget_standard_output()
        return EXIT_DIFFERENT
    except (KeyboardInterrupt, typer.Abort):
        print_error("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        message = _message_of(error)
        if message is None:
            raise
        print_error(message)
        return EXIT_BAD_INPUT


def print_error(message: str) -> None:
    """Prints one line to standard error, whatever the width of the terminal."""
    line = " ".join(message.split("\n"))
    if sys.stderr is not None:
        sys.stderr.write(f"error: {line}\n")


def _message_of(error: Exception) -> str | None:
    """Returns the line for an error that the user can mend; None for one that is a fault of the program."""
    if isinstance(error, ShunterError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({error}); take fewer jobs or windows"
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        # Files that are written say their names themselves; what has none is the stream that results go to.
        where = "standard output" if error.filename is None else error.filename
        return f"{where}: {reason}"
    # Typer's own errors (a missing option, a word for a number) have no public base class.
    format_message = getattr(error, "format_message", None)
    return None if format_message is None else f"{format_message().rstrip('.')}; see 'shunter --help'"


def _forget_standard_output() -> None:
    """Points standard output nowhere, so that the interpreter's last flush does not complain of the closed pipe."""
    if sys.stdout is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
