"""What to do next: lines for a configuration, and commands that can be copied."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from shunter.advice.site import INFERRED
from shunter.comparison.report import LONGEST
from shunter.report.tables import whole_time

if TYPE_CHECKING:
    from shunter.advice.kept import Object
    from shunter.advice.request import AdviseRequest

SLURM, LSF = ("sacct", "sacct-json", "jobcomp"), ("lsb-acct", "lsb-events")
"""The formats of logs, by the scheduler that writes them."""
OTHERS: Final = ("pbs", "gridengine")
"""Formats of schedulers beside which Shunter does not work."""
BY_SIZE: Final = {"smallest": "YES", "largest": "NO"}
"""Policies that Slurm can have by the weight of a job's size, and what PriorityFavorSmall is then."""
WEIGHTS: Final = {
    "age": "PriorityWeightAge",
    "size": "PriorityWeightJobSize",
    "fair_share": "PriorityWeightFairshare",
    "partition": "PriorityWeightPartition",
    "qos": "PriorityWeightQOS",
}
MORE: Final = 2.0
"""The bound on the longest wait that is offered where candidates break it, relative to the present bound."""
ADVISED_FILE, OPERATE_FILE = "advised.toml", "operate.toml"


def slurm_lines(settings: Object, parameters: Object) -> tuple[list[str], str | None]:
    """Returns the lines of slurm.conf that mean a way to schedule, or why no lines do.

    Args:
        settings: The words of the way to schedule.
        parameters: The parameters of its policy.
    """
    kind = settings["policy"].partition("?")[0]
    if settings.get("max_wait_s") is not None:
        return [], "Slurm has no limit on waits after which a job goes first"
    if kind == "fcfs":
        order = ["PriorityType=priority/basic"]
    elif kind in BY_SIZE:
        order = [
            "PriorityType=priority/multifactor",
            "PriorityWeightJobSize=100000",
            f"PriorityFavorSmall={BY_SIZE[kind]}",
        ]
        order += [f"{name}=0" for what, name in WEIGHTS.items() if what != "size"]
    elif kind == "multifactor" and not settings["policy"].endswith(".toml"):
        order = ["PriorityType=priority/multifactor"]
        order += [f"{name}={round(float(parameters.get(what, 0)))}" for what, name in WEIGHTS.items()]
    else:
        return [], f"Slurm's priorities cannot say {kind}: they know no run times of users and no products of factors"
    rule = settings["dispatch"]
    if rule == "strict":
        return [*order, "SchedulerType=sched/builtin"], None
    if rule == "conservative":
        return [*order, "SchedulerType=sched/backfill", "SchedulerParameters=bf_max_job_test=1000,bf_continue"], None
    depth = "1" if rule == "easy" else rule
    if depth.isdecimal() and depth != "0":
        return [*order, "SchedulerType=sched/backfill", f"SchedulerParameters=bf_job_part_count_reserve={depth}"], None
    return [], f"Slurm has no dispatch rule {rule}"


def next_steps(
    kind: str, stages: dict[str, Any], request: AdviseRequest, lines: list[str], why_not: str | None
) -> list[Object]:
    """Returns what to do next, in order: what for, and the commands or lines.

    Args:
        kind: What the advice comes to.
        stages: What the stages came to.
        request: What was asked for.
        lines: Of slurm.conf, if such lines mean the choice.
        why_not: Why there are none.
    """
    log = stages["log"]
    words = [*log["words"], *stages["cluster"]["words"]]
    if kind == "change":
        return _change(stages, words, request, lines, why_not)
    if kind == "keep":
        return [
            *_longer_waits(stages, request),
            _step(
                "see what more or fewer nodes, or more load, would do",
                _shunter("what-if", *words, "--change", "cores=+25%"),
            ),
            _step("ask again with more time to search", _again(request, "--budget", "1h")),
        ]
    if kind == "not-believed":
        return [
            _step("see where the simulation and the log part", _shunter("calibrate", *words)),
            _step(
                "describe the machine and the site's rules from its own files; name yours in the place of these",
                _again(request, "--nodes", "/etc/slurm/slurm.conf", "--nodes", "nodes.txt"),
            ),
            _step("see what would be advised nevertheless", _again(request, "--anyway")),
        ]
    if kind == "quiet":
        inferred = [
            _step(
                "say what the machine is, which only its jobs told; name your files in the place of these",
                _again(request, "--nodes", "/etc/slurm/slurm.conf", "--nodes", "nodes.txt"),
            )
        ]
        return [
            *(inferred if stages["cluster"]["from"] == INFERRED else []),
            _step("see what the machine could bear", _shunter("what-if", *words, "--change", "load=1.2x")),
            _step("ask again as if more work came", _again(request, "--load", "110%")),
        ]
    return [_step("see what is in the log", _shunter("trace", "info", *log["words"]))]


def _change(
    stages: dict[str, Any], words: list[str], request: AdviseRequest, lines: list[str], why_not: str | None
) -> list[Object]:
    advice, folder = stages["later"], str(request.out)
    learned = advice["kind"] == "learned"
    policy = f"{folder}/learned" if learned else f"{folder}/{ADVISED_FILE}"
    named = ["--policy", policy, *([] if learned else ["--estimate", policy])]
    limit = [] if advice["max_wait_s"] is None else ["--max-wait", whole_time(advice["max_wait_s"])]
    reserve = stages["cluster"]["reserve_by"]
    format = stages["log"]["format"]
    found = []
    if lines and format not in (*LSF, *OTHERS):
        found.append({"why": "beside Slurm: these lines of slurm.conf, then restart slurmctld", "commands": lines})
    elif why_not is not None and format in SLURM:
        found.append({"why": f"no lines of slurm.conf mean this choice: {why_not}", "commands": []})
    # Of a log in parts, the last is the newest where they are named in their order, as a shell does.
    history = ["--history", request.files[-1]] if format in (*SLURM, *LSF) else []
    for scheduler, formats in (("slurm", SLURM), ("lsf", LSF)):
        if format in formats or format not in (*SLURM, *LSF, *OTHERS):
            command = [
                "operate",
                scheduler,
                *named,
                *history,
                "--config",
                f"{folder}/{OPERATE_FILE}",
                "--mode",
                "observe",
            ]
            found.append(
                _step(
                    f"beside {scheduler.upper() if scheduler == 'lsf' else 'Slurm'}: look on first; nothing is changed",
                    _shunter(*command),
                )
            )
    found.append(_step("see the schedule", _shunter("simulate", *words, *named, *limit, *reserve)))
    found.append(_step("for a queue on one machine", _shunter("queue", "policy", policy, *named[2:], *limit)))
    return found


def _longer_waits(stages: dict[str, Any], request: AdviseRequest) -> list[Object]:
    """How to allow longer waits, where candidates are better but break the bound on the longest wait."""
    choice = stages["choice"]
    bounds = {bound.metric: bound.factor for bound in request.objective.bounds}
    if not choice["better"] or choice["acceptable"] or LONGEST not in bounds:
        return []
    bounds[LONGEST] *= MORE
    words = [word for metric, factor in bounds.items() for word in ("--bound", f"{metric}={factor:g}")]
    return [
        _step(f"see what is better where the longest wait may be {bounds[LONGEST]:g} times", _again(request, *words))
    ]


def _again(request: AdviseRequest, *more: str) -> str:
    # What is asked otherwise now is not said twice.
    without = {"--nodes": ("--nodes", "--cluster"), "--budget": ("--budget", "--quick")}.get(more[0], (more[0],))
    return _shunter("advise", *request.words(*without), *more)


def _step(why: str, command: str) -> Object:
    return {"why": why, "commands": [command]}


def _shunter(*words: str) -> str:
    return shlex.join(["shunter", *words])
