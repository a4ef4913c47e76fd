"""``shunter what-if``: the same log with more nodes, more load, another limit or another policy."""

from __future__ import annotations

from typing import Annotated

from shunter.cli.options import LOAD, POLICY, SETTINGS, SITE, STOPS, WINDOW, JsonOption, duration, takes
from shunter.cli.outputs import print_json, step
from shunter.cli.parsing import Option
from shunter.cli.running import RunArguments
from shunter.errors import InputError

ChangeOption = Annotated[
    list[str],
    Option(
        metavar="NAME=VALUE,...",
        help="What is different; give it several times for several cases. cores=+25% (or 1.5x, +64, 512), "
        "cluster=FILE, load=1.2x (or 0.9, or 90%), request=0.5x, limit=24h, or any setting: policy=sjf, "
        "dispatch=conservative, max-wait=36h, kill-at-request=yes. With commas: together.",
    ),
]


ThinkTimesOption = Annotated[
    bool,
    Option(
        help="A job that was submitted soon after the end of its user's last job arrives that long after the end of "
        "that job in the simulation, earlier or later than logged."
    ),
]
ThinkLimitOption = Annotated[
    float | None,
    Option(
        parser=duration, metavar="TIME", show_default="20m", help="With --think-times: how soon after the end is soon."
    ),
]


@takes(SITE | LOAD | POLICY | WINDOW | STOPS | SETTINGS)
def what_if(
    arguments: RunArguments,
    change: ChangeOption,
    think_times: ThinkTimesOption = False,
    think_limit: ThinkLimitOption = None,
    json: JsonOption = False,
) -> None:
    """Simulate a log as it is and with changes, and print the differences.

    For instance:

        shunter what-if log.swf.gz --change cores=+25% --change load=1.2x

        shunter what-if log.swf.gz --policy sjf --change limit=1d,kill-at-request=yes

        shunter what-if log.swf.gz --think-times --change policy=sjf
    """
    from shunter.cli.running import read_inputs
    from shunter.comparison.what_if import resolve_changes
    from shunter.comparison.what_if import what_if as simulate_changes

    if think_limit is not None and not think_times:
        raise InputError("--think-limit says how soon a job follows another; add --think-times")
    words = arguments.words | {"asked": arguments.asked}
    # A change that is wrong is told before the log is read.
    resolve_changes(change, **words)
    inputs = read_inputs(arguments)
    with step("simulating") as progress:
        found = simulate_changes(
            inputs.log,
            changes=change,
            start=arguments.start,
            length=arguments.length,
            strict=arguments.strict,
            think_times=think_times,
            think_limit_s=think_limit,
            progress=progress,
            **words,
        )
    if json:
        print_json(found.to_json())
        return
    from shunter.report.what_if import print_what_if

    print_what_if(found)
