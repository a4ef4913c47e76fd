"""``shunter queue start``, ``stop``, ``status`` and ``policy``: the daemon of a queue, and who decides in it."""

from __future__ import annotations

from typing import Annotated, Any

from shunter.cli.parsing import Argument, Option, echo
from shunter.cli.queue_options import JsonOption, QueueOption, ask_daemon, echo_json, seconds_of_option, times_text
from shunter.errors import InputError, visible
from shunter.execution.local.folder import queue_folder
from shunter.execution.local.spec import memory_mb

PolicyOption = Annotated[
    str | None,
    Option(
        metavar="NAME", show_default="as before; fcfs at first",
        help="Who goes first: a name, a TOML or Python file, or the folder of a run ('shunter policies').",
    ),
]  # fmt: skip
DispatchOption = Annotated[
    str | None, Option(metavar="NAME", show_default="easy", help="What happens when the next job does not fit.")
]
EstimateOption = Annotated[
    str | None,
    Option(
        metavar="NAME", show_default="requested",
        help="The run time that the policy sees; 'posterior' learns it from the jobs of this queue that have ended.",
    ),
]  # fmt: skip
MaxWaitOption = Annotated[
    str | None,
    Option(metavar="TIME", show_default="off", help="A job that has waited so long goes before all others."),
]


def policy_words(
    policy: str | None, dispatch: str | None, estimate: str | None, max_wait: str | None
) -> dict[str, Any]:
    """Returns the settings of a queue's policy that options mean; none if no policy is named."""
    given = {"policy": policy, "dispatch": dispatch, "estimate": estimate}
    words: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    longest_s = seconds_of_option("--max-wait", max_wait)
    if policy is None and (words or longest_s is not None):
        raise InputError("--dispatch, --estimate and --max-wait go with a policy; name one, for instance fcfs")
    if policy is not None:
        words["policy"] = _whole_path(policy)
        words |= {} if longest_s is None else {"max_wait_s": longest_s}
    return words


def _whole_path(policy: str) -> str:
    """Returns a policy that the daemon, which runs in another folder, understands as this command does."""
    import os

    file = policy.partition("?")[0].partition(":")[0]
    return os.path.abspath(file) + policy[len(file) :] if "/" in file or os.path.isfile(file) else policy


def start(
    cores: Annotated[int | None, Option(metavar="N", show_default="all", help="Cores for jobs.")] = None,
    memory: Annotated[str | None, Option(metavar="SIZE", show_default="all", help="Memory for jobs: 16G.")] = None,
    gpus: Annotated[
        int | None, Option(metavar="N", show_default="what nvidia-smi tells", help="GPUs for jobs.")
    ] = None,
    policy: PolicyOption = None,
    dispatch: DispatchOption = None,
    estimate: EstimateOption = None,
    max_wait: MaxWaitOption = None,
    foreground: Annotated[
        bool, Option("--foreground", help="Stay in this terminal, for systemd and the like.")
    ] = False,
    queue: QueueOption = None,
    json: JsonOption = False,
) -> None:
    """Start the daemon of a queue. What it is told here is kept for the next time.

    For instance:

        shunter queue start

        shunter queue start --cores 8 --policy sjf --estimate posterior --max-wait 12h
    """
    folder = queue_folder(queue)
    words = policy_words(policy, dispatch, estimate, max_wait)
    if words:
        from shunter.execution.deciding import queue_scheduler

        # A mistake is told here, and not by a daemon that does not come up.
        queue_scheduler(words)
    given = {"cores": cores, "memory_mb": None if memory is None else memory_mb(memory), "gpus": gpus}
    changes = {name: value for name, value in given.items() if value is not None} | ({"policy": words} if words else {})
    if foreground:
        from shunter.execution.local.daemon import serve

        serve(folder, changes)
        return
    from shunter.execution.local.starting import start_daemon

    process = start_daemon(folder, changes)
    if json:
        echo_json({"process": process, "folder": str(folder.path)})
    else:
        echo(f"Queue {folder.text} is running (process {process}, {folder.path})")


def stop(queue: QueueOption = None, json: JsonOption = False) -> None:
    """Stop the daemon. Jobs that run go on, and are found again at the next start; no other job starts meanwhile.

    For instance:

        shunter queue stop
    """
    from shunter.execution.local.starting import wait_for_end

    answer = ask_daemon(queue, "stop")
    wait_for_end(answer["process"])
    if json:
        echo_json(answer)
    else:
        count = answer["running"]
        left = f"; {count} job{' goes' if count == 1 else 's go'} on running" if count else ""
        echo(f"Stopped (process {answer['process']}){left}")


def status(queue: QueueOption = None, json: JsonOption = False) -> None:
    """Show how a queue is doing: jobs by state, what is free, who decides, and what went wrong.

    For instance:

        shunter queue status
    """
    told = ask_daemon(queue, "status")
    if json:
        echo_json(told)
        return
    counts = ", ".join(f"{count:,} {state}" for state, count in told["counts"].items() if count)
    paused = [name for name, group in told["groups"].items() if group["paused"]]
    echo(f"Jobs      {counts or 'none'}")
    if told["is_paused"] or paused:
        echo(f"Paused    {'the whole queue' if told['is_paused'] else visible(', '.join(paused))}")
    pinned = "" if told["are_cores_pinned"] else " (more than the machine has: jobs are not kept on cores of their own)"
    echo(f"Cores     {told['free_cores']} of {told['cores']} free{pinned}")
    memory = f"{told['free_memory_mb'] / 1024:,.1f} of {told['memory_mb'] / 1024:,.1f} GB free"
    echo(f"Memory    {memory}; kept by {told['memory_kept_by']}")
    echo(f"GPUs      {told['free_gpus']} of {told['gpus']} free" if told["gpus"] else "GPUs      none")
    echo(f"Policy    {_policy_text(told)}")
    if told["policy_failures"]:
        what = f"failed {times_text(told['policy_failures'])}, and fcfs decided instead"
        echo(visible(f"          {what}; last: {told['last_failure']}"))
    echo(f"Daemon    process {told['process']}, {told['folder']}")


def _policy_text(told: dict[str, Any]) -> str:
    guard = "" if told["max_wait_s"] is None else f", nobody waits longer than {told['max_wait_s']:g} s"
    return visible(f"{told['policy']}, dispatch {told['dispatch']}, estimate {told['estimate']}{guard}")


def policy(
    name: Annotated[
        str | None, Argument(metavar="POLICY", show_default="show it", help="Who decides from now on.")
    ] = None,
    dispatch: DispatchOption = None,
    estimate: EstimateOption = None,
    max_wait: MaxWaitOption = None,
    queue: QueueOption = None,
    json: JsonOption = False,
) -> None:
    """Show who decides, or let another policy decide from now on. Nothing is restarted.

    For instance:

        shunter queue policy

        shunter queue policy sjf --estimate posterior

        shunter queue policy runs/first
    """
    words = policy_words(name, dispatch, estimate, max_wait)
    told = ask_daemon(queue, "policy", **({"words": words} if words else {}))
    if json:
        echo_json(told)
    else:
        echo(_policy_text(told))
