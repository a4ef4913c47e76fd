"""``shunter train``: a policy, learned from windows of a log and judged on later ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shunter.cli.commands import EXIT_DIFFERENT, EXIT_INTERRUPTED
from shunter.cli.options import JsonOption, OnOption, TrustOption, path
from shunter.cli.outputs import print_json
from shunter.cli.parsing import Context, Exit, Option, echo
from shunter.cli.train_options import SetOption, TrainCommand, given_changes
from shunter.engines.choice import LOCAL
from shunter.errors import InputError
from shunter.metrics.labels import counted

if TYPE_CHECKING:
    from shunter.agents.training.request import TrainRequest

COMMAND = TrainCommand
"""The kind of command that the verb is: its options follow from the declared keys of a training file."""

PresetOption = Annotated[
    str | None,
    Option(
        metavar="NAME",
        show_default="that of --env: pick-job, pick-job-and-type or pick-host",
        help="The options to start from: pick-job, pick-job-committed, pick-job-and-type, pick-host, or quick "
        "(trains for a minute).",
    ),
]
ConfigOption = Annotated[
    Path | None,
    Option(
        parser=path,
        metavar="FILE",
        show_default="none",
        help="A training file, such as the config.toml of a run. It overrides --preset and what --init brings.",
    ),
]
OutOption = Annotated[
    Path | None,
    Option(
        "--out",
        "-o",
        parser=path,
        metavar="DIR",
        show_default="runs/pick-job-1, or the next number",
        help="The folder of the run.",
    ),
]
ResumeOption = Annotated[
    bool,
    Option(
        "--resume",
        help="Go on with the run in --out, by its own config.toml. Options for how long to train, how often to "
        "validate and what to judge on may be given anew (--steps, --eval-every, --patience, --threads, --report ...).",
    ),
]
ForceOption = Annotated[bool, Option("--force", help="Overwrite the run in --out.")]
SeedsOption = Annotated[
    str | None,
    Option(
        metavar="N|LIST",
        show_default="one run, with --seed",
        help="Train once for each of so many seeds (5: from 0 to 4), or for each of these (0,1,7). Each run goes to a "
        "folder of its own in --out (seed-0 ...); as many run at a time as --threads says. With --resume, what is done "
        "is not done again.",
    ),
]
PrintConfigOption = Annotated[
    bool,
    Option(
        "--print-config", help="Print the training file that these options mean, with the help of each key, and exit."
    ),
]


def train(
    context: Context,
    settings: SetOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    out: OutOption = None,
    resume: ResumeOption = False,
    force: ForceOption = False,
    seeds: SeedsOption = None,
    on: OnOption = LOCAL,
    print_config: PrintConfigOption = False,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Train a policy by reinforcement learning on the first days of a log, and judge it on later days.

    The best policy is chosen on the days between those two. Every option overrides --config, which overrides what
    --init brings, which overrides --preset. The defaults shown are those of the preset pick-job. docs/training.md
    explains all options.

    For instance:

        shunter train log.swf.gz --out runs/first

        shunter train log.swf.gz --init tuned.toml --bound mean-wait=1.1 --out runs/second

        shunter train --resume --out runs/first --steps 5000000

        shunter train log.swf.gz --seeds 5 --threads 4 --out runs/five

        shunter train log.swf.gz --lr 1e-3 --print-config > mine.toml

        shunter compare log.swf.gz --part 0.7:1 --policy fcfs,f2,runs/first
    """
    from shunter.agents.training.request import TrainRequest

    request = TrainRequest(given_changes(context, settings or []), preset, config, out, resume, force)
    if print_config:
        _print_config(request)
    elif seeds is not None:
        _train_seeds(request, seeds, on, trust, json)
    elif on != LOCAL:
        raise InputError(f"--on {on} is given without --seeds; a single training runs on this machine")
    else:
        _train_once(request, trust, json)


def _train_once(request: TrainRequest, trust: bool, json: bool) -> None:
    """Trains one policy."""
    from shunter.agents.training.train import run_request
    from shunter.cli.train_screen import TrainingScreen

    training = run_request(request, TrainingScreen(), trust=trust)
    if json:
        print_json(training.result())
    else:
        from shunter.report.training import print_training

        print_training(training)
    # Ctrl-C saves a checkpoint and tells how to go on; scripts still see that the training did not end.
    if training.is_interrupted:
        raise Exit(EXIT_INTERRUPTED)


def _train_seeds(request: TrainRequest, seeds: str, on: str, trust: bool, json: bool) -> None:
    """Trains a policy for each seed."""
    from shunter.cli.train_screen import many_runs
    from shunter.studies.seeds import parse_seeds, train_seeds

    numbers = parse_seeds(seeds)
    # The folder is chosen once: the next number may be another when it is asked for again.
    request = replace(request, out=request.folder())
    with many_runs(f"training with {counted(len(numbers), 'seed')}", "--resume and the same options go on") as told:
        report = train_seeds(request, numbers, trust=trust, on=on, told=told)
    if json:
        print_json(report.to_json())
    else:
        from shunter.report.studies import print_seeds

        print_seeds(report)
    if report.failed:
        raise Exit(EXIT_DIFFERENT)


def _print_config(request: TrainRequest) -> None:
    """Prints a training file."""
    from shunter.agents.training.config_text import commented_toml

    request.check()
    echo(commented_toml(request.resolved(request.folder()).config), nl=False)
