"""``shunter inspect``: what a checkpoint is, what it looks at, and whether it has collapsed."""

from __future__ import annotations

from typing import Annotated

from shunter.cli.options import (
    ClusterOption,
    JsonOption,
    PartOption,
    SeedOption,
    TrustOption,
    WindowCountOption,
    WindowLengthOption,
    given_text,
)
from shunter.cli.outputs import print_json
from shunter.cli.parsing import Argument, Option

CheckpointArgument = Annotated[
    str,
    Argument(
        metavar="CHECKPOINT",
        parser=given_text,
        help="The folder of a checkpoint, or of a run: then its best checkpoint.",
    ),
]
InspectedWorkloadOption = Annotated[
    str | None,
    Option(
        "--workload",
        parser=given_text,
        metavar="FILE",
        show_default="a generated one",
        help="The job log in which the policy is watched.",
    ),
]


def inspect(
    checkpoint: CheckpointArgument,
    workload: InspectedWorkloadOption = None,
    cluster: ClusterOption = None,
    part: PartOption = "0:1",
    windows: WindowCountOption = 8,
    length: WindowLengthOption = 256,
    seed: SeedOption = 0,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Show what a learned policy was made for, which features it uses, and whether it has collapsed.

    The policy plays some windows of a log. Its choices are compared with those of classics, and each feature is
    shuffled to see how much the choices depend on it. A policy that chooses hosts plays drawn episodes instead.

    For instance:

        shunter inspect runs/first

        shunter inspect runs/first/last log.swf.gz --part 0.7:1

        shunter inspect runs/first log.swf.gz --json
    """
    # PyTorch is loaded here, and not for --help.
    from shunter.agents.inspection.inspect import Sample
    from shunter.agents.inspection.inspect import inspect as inspect_policy
    from shunter.cli.outputs import step

    sample = Sample(part, windows, length, seed)
    inspected = inspect_policy(checkpoint, workload, cluster, sample, trust=trust, stage=step)
    if json:
        print_json(inspected.result())
        return
    from shunter.report.inspection import print_inspection

    print_inspection(inspected)
