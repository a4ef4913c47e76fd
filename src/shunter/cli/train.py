"""``shunter train``: a policy, learned from windows of a log and judged on later ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.errors import EXIT_INTERRUPTED
from shunter.cli.options import JsonOption, path
from shunter.cli.train_options import Changes, SetOption, add_settings, takes_changes

PresetOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default="pick-job, or pick-host with --env pick-host",
        help="What the options start from: pick-job, pick-job-committed, pick-host, or quick (a minute).",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        parser=path,
        metavar="FILE",
        help="A training file, such as the config.toml of a run; over the preset, and over what --init brings.",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        parser=path, metavar="DIR", show_default="runs/pick-job-1, or the next number", help="The folder of the run."
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with the run in --out, by its own config.toml. How long, how often and on what it is judged may be "
        "given anew (--steps, --eval-every, --patience, --threads, --report, ...), and is kept there.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Let --out overwrite a run.")]


@takes_changes
def train(
    *,
    changes: Changes,
    settings: SetOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    out: OutOption = None,
    resume: ResumeOption = False,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Train a policy by reinforcement learning on the first days of a log, and judge it on later days.

    The best policy is chosen on days between those. Options go over --config, which goes over what --init brings, and
    that over the preset; what none of them says is as docs/training.md has it.

    For instance:

        shunter train --workload log.swf.gz --out runs/first

        shunter train --workload log.swf.gz --init tuned.toml --bound mean-wait=1.1 --out runs/second

        shunter train --resume --out runs/first --steps 5000000

        shunter compare --workload log.swf.gz --part 0.7:1 --policy fcfs,f2,runs/first
    """
    from shunter.cli.train_arguments import TrainArguments
    from shunter.cli.training import run_training

    add_settings(changes, settings or [])
    arguments = TrainArguments(
        changes=changes,
        preset=preset,
        config=config,
        out=out,
        resume=resume,
        force=force,
    )
    training = run_training(arguments)
    if json:
        from shunter.metrics.run_folder import to_json_text

        typer.echo(to_json_text(training.result()))
    else:
        from shunter.report.training import print_training

        print_training(training)
    if training.is_interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
