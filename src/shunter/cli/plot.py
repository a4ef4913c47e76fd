"""``shunter plot``: the learning curves of trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shunter.cli.options import path
from shunter.cli.outputs import PLOT_SUFFIXES, save_figure
from shunter.cli.parsing import Argument, Option, echo
from shunter.errors import InputError, visible
from shunter.extras import PLOT, need

RunsArgument = Annotated[
    list[Path], Argument(parser=path, metavar="RUN...", help="Folders of 'shunter train', also of --seeds.")
]
OutOption = Annotated[
    Path | None,
    Option(
        "--out",
        "-o",
        parser=path,
        metavar="FILE",
        show_default="learning.png in the first run's folder",
        help="Where the figure goes: a .png, .svg or .pdf file.",
    ),
]
BandOption = Annotated[
    bool,
    Option("--band", help="Draw runs that differ only in their seeds as one: their mean, and a band over all seeds."),
]


def plot(runs: RunsArgument, out: OutOption = None, band: BandOption = False) -> None:
    """Draw the learning curves of one training, or of several to compare them.

    The folder of 'shunter train --seeds' is drawn as the mean of its runs, with a band from the least to the largest of
    all seeds. Runs that are named one by one are a line each, unless --band is given.

    For instance:

        shunter plot runs/first

        shunter plot runs/first runs/second --out curves.svg

        shunter plot runs/five

        shunter plot runs/five/seed-* runs/other/seed-* --band --out bands.png
    """
    need(PLOT, "plot")
    from shunter.agents.training.curves import read_bands, read_curves
    from shunter.report.learning_figure import draw_learning

    # All runs are read before anything is drawn: a wrong folder is told at once.
    curves = read_bands(runs) if band else [read_curves(run) for run in runs]
    file = runs[0] / "learning.png" if out is None else out
    if file.suffix.lower() not in PLOT_SUFFIXES:
        raise InputError(f"--out {file}: unknown suffix {file.suffix!r}; give a name that ends in .png, .svg or .pdf")
    save_figure(file, draw_learning(curves))
    echo(visible(f"written: {file}"))
