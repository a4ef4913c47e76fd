"""``shunter trace prices``: what each type of GPU is worth to the jobs of a log's first days."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shunter.cli.options import ClusterOption, JsonOption, path
from shunter.cli.outputs import check_toml, print_json, step
from shunter.cli.parsing import Option, echo, number
from shunter.cli.trace_log import LogArguments, reads_log
from shunter.errors import InputError
from shunter.extras import MILP, need

if TYPE_CHECKING:
    from shunter.model.log import Log
    from shunter.policies.pairs import Pairs

TrainOption = Annotated[
    float,
    Option(parser=number, metavar="X", help="The share of the jobs, from the first on, whose mix the prices are for."),
]
FactorOption = Annotated[
    float,
    Option(
        parser=number,
        metavar="X",
        help="How many times the cost on its cheapest type a job takes: at 1 only the cheapest, at 1.2 also those that "
        "cost up to 20% more.",
    ),
]
SaveOption = Annotated[
    Path | None,
    Option(
        "--save",
        "--out",
        "-o",
        parser=path,
        metavar="FILE",
        show_default="not written",
        help="Write the prices to a .toml file, for --pairs.",
    ),
]
ForceOption = Annotated[bool, Option("--force", help="Let --save overwrite a file.")]


@reads_log
def prices(
    log: LogArguments,
    cluster: ClusterOption = None,
    train: TrainOption = 0.6,
    factor: FactorOption = 1.2,
    save: SaveOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Work out what each type of GPU is worth to the jobs of a log's first days.

    With these prices a job refuses types that others need more than it does: --pairs FILE.

    For instance:

        shunter trace prices jobs.csv --cluster gpus.toml --save prices.toml

        shunter simulate jobs.csv --cluster gpus.toml --policy sjf --placement fastest --pairs prices.toml
    """
    need(MILP, "trace prices")
    from shunter.metrics.forecasts import check_train
    from shunter.policies.pairs import resolve_pairs
    from shunter.policies.prices import training_prices
    from shunter.workloads.reading import read_log

    check_train(train)
    # Only to check the factor, before the log is read.
    resolve_pairs(f"price?factor={factor!r}&any=1")
    if save is not None:
        check_toml("--save", save, force, "--pairs", log.inputs | {"cluster": cluster})
    elif force:
        raise InputError("--force is given without --save; it lets --save overwrite a file, and means nothing else")
    found = read_log(log.read(), cluster)
    with step("working out prices"):
        pairs = training_prices([found], (0.0, train), factor)
    if save is not None:
        _save(save, pairs, found, train)
    if json:
        from shunter import __version__

        print_json(_object(pairs, found, train) | {"version": __version__})
        return
    for name, price in pairs.prices.items():
        echo(f"{name:<16} {price:8.3f}")
    echo(f"A job takes types that cost it at most {factor:g} times its cheapest: price x time there.")
    echo("Large gangs and a low load can lose by prices: see what they do, and 'eft', with 'shunter what-if'.")
    if save is not None:
        echo(f"Written: {save}")


def _object(pairs: Pairs, log: Log, train: float) -> dict[str, object]:
    return {
        "workload": log.workload.name,
        "cluster": log.cluster.name,
        "train": train,
        "factor": pairs.factor,
        "prices": pairs.prices,
        "pairs": pairs.text,
    }


def _save(save: Path, pairs: Pairs, log: Log, train: float) -> None:
    from shunter import __version__
    from shunter.files import write_file
    from shunter.policies.pairs import pairs_text

    comments = [
        f"Prices of types of GPUs for --pairs, by shunter {__version__} ('shunter trace prices --train {train:g}')",
        f"from the mix of jobs of {log.workload.name} on {log.cluster.name}",
    ]
    text = pairs_text(pairs, comments)
    write_file(save, lambda file: file.write(text.encode()))
