"""``shunter envs``: the environments that policies learn in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shunter.cli.commands import VerbGroup
from shunter.cli.options import (
    ClusterOption,
    JsonOption,
    WarmupOption,
    WindowLengthOption,
    given_options,
    given_text,
    path,
)
from shunter.cli.outputs import check_folder, print_json, step
from shunter.cli.parsing import Context, Option, echo, whole_number
from shunter.errors import InputError, visible

OutOption = Annotated[
    Path, Option("--out", "-o", parser=path, metavar="DIR", help="Write the episodes to this folder.")
]
WorkloadOption = Annotated[
    str | None,
    Option(
        parser=given_text,
        metavar="FILE",
        show_default="none: PickHost's episodes",
        help="A job log or a generator. Its windows are the episodes, the same that PickJob's reset(seed=...) chooses.",
    ),
]
PartOption = Annotated[
    str,
    Option(
        metavar="NAME|A:B",
        help="The part of the log to take windows from: train, validation, report, or fractions of its jobs.",
    ),
]
WindowsOption = Annotated[
    int | None,
    Option(
        parser=whole_number,
        metavar="K",
        show_default="as many as there are, at most 1000",
        help="How many windows of the log to choose from.",
    ),
]
SeedOption = Annotated[
    int, Option(parser=whole_number, metavar="N", help="The seed by which the windows to choose from are drawn.")
]
ForceOption = Annotated[bool, Option("--force", help="Overwrite what this command wrote to --out before.")]

LOG_ONLY = ("cluster", "part", "windows", "length", "warmup", "seed")
"""Options that mean nothing without a log."""


def root() -> None:
    """Export the environments that policies learn in.

    For instance:

        shunter envs export log.swf.gz --out episodes
    """


envs = VerbGroup("envs", root, {"export": "shunter.cli.envs:export"})


def export(
    context: Context,
    out: OutOption,
    workload: WorkloadOption = None,
    cluster: ClusterOption = None,
    part: PartOption = "report",
    windows: WindowsOption = None,
    length: WindowLengthOption = 256,
    warmup: WarmupOption = 0,
    seed: SeedOption = 0,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Write the fixed test episodes (seeds 42, 43, 44) as files that any tool can read.

    No training sees them by default: the episodes of PickJob come from the last days of the log, and those of PickHost
    are drawn from these seeds, which training does not use.

    For instance:

        shunter envs export --out hosts

        shunter envs export log.swf.gz --out episodes

        shunter simulate episodes/seed-42.csv --cluster episodes/seed-42.toml
    """
    from shunter.envs.episodes import EpisodeOptions
    from shunter.envs.export import FILES, pick_host_episodes, pick_job_episodes, write_episodes
    from shunter.envs.pick_host import PickHostOptions
    from shunter.workloads.reading import read_log

    check_folder(out, force, FILES, {"workload": workload, "cluster": cluster})
    # Without a log there are the episodes that PickHost draws.
    if workload is None:
        _check_no_log(context)
        drawn = PickHostOptions()
        index = write_episodes(out, "shunter/PickHost-v0", drawn, pick_host_episodes(drawn))
    else:
        options = EpisodeOptions(part=part, windows=windows, length=length, warmup=warmup, seed=seed)
        with step(f"reading {workload}"):
            log = read_log(workload, cluster)
        index = write_episodes(out, "shunter/PickJob-v0", options, pick_job_episodes(log, options))
    if json:
        print_json(index)
        return
    for episode in index["episodes"]:
        jobs = f"{episode['measured']} jobs" + (f" after {episode['warmup']}" if episode["warmup"] else "")
        file = visible(str(out / episode["jobs"][0]))
        echo(f"seed {episode['seed']}: episode {episode['episode']}, {jobs}, {file}")


def _check_no_log(context: Context) -> None:
    for name in LOG_ONLY:
        # Given, and not just at its default: silently ignored options are the worst kind.
        if name in given_options(context):
            raise InputError(
                f"--{name} is given without --workload; name a log, or leave it out for PickHost's episodes"
            )
