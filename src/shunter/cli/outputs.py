"""Files that verbs write: what can be known to fail is told before the long work, and no input is overwritten."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shunter.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLOT_SUFFIXES = (".png", ".svg", ".pdf")


def check_folder(out: Path | None, force: bool, files: Sequence[str], inputs: Mapping[str, str | Path | None]) -> None:
    """Raises an error if ``--out`` cannot be written.

    Args:
        out: The folder; None if none is wanted.
        force: Whether what the folder holds may be overwritten.
        files: The names of the files that are written there.
        inputs: The files that are read, by what they are called: ``workload``.
    """
    from shunter.metrics.run_folder import check_output_folder

    if out is not None:
        check_apart("--out", [out / name for name in files], inputs)
        check_output_folder(out, force, files)
    elif force:
        raise InputError("--force is given without --out; it lets --out overwrite a run, and means nothing else")


def check_plot(plot: Path | None, out: Path | None, inputs: Mapping[str, str | Path | None]) -> None:
    """Raises an error if ``--plot`` cannot be written; its folder may be the one that ``--out`` creates."""
    if plot is None:
        return
    check_apart("--plot", [plot], inputs)
    if plot.suffix.lower() not in PLOT_SUFFIXES:
        raise InputError(f"--plot {plot}: unknown suffix {plot.suffix!r}; give a name that ends in .png, .svg or .pdf")
    if os.path.isdir(plot):
        raise InputError(f"--plot {plot}: this is a folder; give the name of a file")
    if not plot.absolute().parent.is_dir() and plot.absolute().parent != (out.absolute() if out else None):
        raise InputError(f"--plot {plot}: there is no folder {plot.parent}; create it first")


def check_toml(option: str, path: Path, force: bool, reader: str, inputs: Mapping[str, str | Path | None]) -> None:
    """Raises an error if a TOML file cannot be written.

    Args:
        option: By which it is asked for: ``--save``.
        path: The file.
        force: Whether one that is there may be overwritten.
        reader: The option that will read the file, for the error message.
        inputs: The files that are read, by what they are called: ``workload``.
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


def check_apart(option: str, outputs: Sequence[Path], inputs: Mapping[str, str | Path | None]) -> None:
    """Raises an error if an output would overwrite an input."""
    for output in outputs:
        for what, given in inputs.items():
            if given and os.path.exists(output) and os.path.exists(given) and output.samefile(given):
                raise InputError(f"{option} would overwrite the {what} {given}; give another place")


def save_figure(path: Path, figure: Figure) -> None:
    """Writes a figure in the format that its name tells."""
    from shunter.files import write_file

    write_file(path, lambda file: figure.savefig(file, format=path.suffix[1:].lower()))


def given_options(context: typer.Context) -> dict[str, Any]:
    """Returns the options that the user gave, as they were understood."""
    given = {}
    for name, value in context.params.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            given[name] = str(value) if isinstance(value, Path) else value
    return given
