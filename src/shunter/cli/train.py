"""``shunter train``: a policy, learned from windows of a log and judged on later ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.commands import EXIT_INTERRUPTED
from shunter.cli.options import JsonOption, TrustOption, path
from shunter.cli.outputs import print_json
from shunter.cli.train_options import SetOption, TrainCommand, given_changes

COMMAND = TrainCommand
"""Typer makes the verb of it, since its options follow from the declared keys of a training file."""

PresetOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default="pick-job, or pick-host with --env pick-host",
        help="The options to start from: pick-job, pick-job-committed, pick-host, or quick (trains for a minute).",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        parser=path,
        metavar="FILE",
        show_default="none",
        help="A training file, such as the config.toml of a run. It overrides --preset and what --init brings.",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
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
    typer.Option(
        "--resume",
        help="Go on with the run in --out, by its own config.toml. Options for how long to train, how often to "
        "validate and what to judge on may be given anew (--steps, --eval-every, --patience, --threads, --report ...).",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite the run in --out.")]


def train(
    context: typer.Context,
    settings: SetOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    out: OutOption = None,
    resume: ResumeOption = False,
    force: ForceOption = False,
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

        shunter compare log.swf.gz --part 0.7:1 --policy fcfs,f2,runs/first
    """
    from shunter.agents.training.train import train as train_policy
    from shunter.cli.train_screen import TrainingScreen

    training = train_policy(
        config=config,
        changes=given_changes(context, settings or []),
        preset=preset,
        out=out,
        resume=resume,
        force=force,
        trust=trust,
        watcher=TrainingScreen(),
    )
    if json:
        print_json(training.result())
    else:
        from shunter.report.training import print_training

        print_training(training)
    # Ctrl-C saves a checkpoint and tells how to go on; scripts still see that the training did not end.
    if training.is_interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
