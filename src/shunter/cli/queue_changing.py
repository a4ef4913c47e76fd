"""``shunter queue cancel``, ``hold``, ``pause``, ``edit`` and so on: changing jobs and groups."""

from __future__ import annotations

from typing import Annotated, Any

from shunter.cli.parsing import Argument, Option, echo
from shunter.cli.queue_options import (
    GroupOption,
    IdsArgument,
    JsonOption,
    QueueOption,
    ask_daemon,
    echo_json,
    ids_text,
    parse_ids,
    seconds_of_option,
)


def _change(queue: str | None, json: bool, verb: str, said: str, **words: Any) -> None:  # noqa: ANN401 - JSON values
    answer = ask_daemon(queue, verb, **words)
    if json:
        echo_json(answer)
    else:
        echo(said if "jobs" not in answer else f"{said} {ids_text(answer['jobs'])}")


def cancel(jobs: IdsArgument, queue: QueueOption = None, json: JsonOption = False) -> None:
    """Cancel jobs. Those that run get SIGTERM, and SIGKILL 10 seconds later.

    For instance:

        shunter queue cancel 12 20-29
    """
    _change(queue, json, "cancel", "Cancelled", jobs=parse_ids(jobs))


def hold(jobs: IdsArgument, queue: QueueOption = None, json: JsonOption = False) -> None:
    """Keep waiting jobs from starting until they are released.

    For instance:

        shunter queue hold 12
    """
    _change(queue, json, "hold", "Held", jobs=parse_ids(jobs))


def release(jobs: IdsArgument, queue: QueueOption = None, json: JsonOption = False) -> None:
    """Let held jobs start.

    For instance:

        shunter queue release 12
    """
    _change(queue, json, "release", "Released", jobs=parse_ids(jobs))


def pause(group: GroupOption = None, queue: QueueOption = None, json: JsonOption = False) -> None:
    """Start no more jobs, or none of a group. Those that run go on.

    For instance:

        shunter queue pause --group experiments
    """
    _change(queue, json, "pause", f"Paused {group or 'the queue'}", group=group)


def resume(group: GroupOption = None, queue: QueueOption = None, json: JsonOption = False) -> None:
    """Start jobs again after a pause.

    For instance:

        shunter queue resume
    """
    _change(queue, json, "resume", f"Resumed {group or 'the queue'}", group=group)


def limit(
    most: Annotated[int, Argument(metavar="N", help="How many may run at once; 0: as many as there is room for.")],
    group: Annotated[str, Option("--group", "-g", metavar="NAME", help="The group.")] = "default",
    queue: QueueOption = None,
    json: JsonOption = False,
) -> None:
    """Limit how many jobs of a group run at once.

    For instance:

        shunter queue limit 4 --group downloads
    """
    said = f"Group {group}: at most {most} at once" if most else f"Group {group}: no limit"
    _change(queue, json, "limit", said, group=group, most_running=most or None)


def edit(
    jobs: IdsArgument,
    priority: Annotated[int | None, Option("--priority", "-p", metavar="N", help="Higher ones go first.")] = None,
    time: Annotated[str | None, Option("--time", "-t", metavar="TIME", help="How long it may run: 2h.")] = None,
    queue: QueueOption = None,
    json: JsonOption = False,
) -> None:
    """Change the priority or the time limit of jobs that wait.

    For instance:

        shunter queue edit 12 --priority 10 --time 4h
    """
    words = {"priority": priority, "time_s": seconds_of_option("--time", time)}
    _change(queue, json, "edit", "Edited", jobs=parse_ids(jobs), **words)


def clean(
    state: Annotated[
        list[str] | None,
        Option("--state", "-s", metavar="STATE", show_default="all that are over", help="Only these."),
    ] = None,
    older: Annotated[str, Option(metavar="TIME", help="Only jobs that ended so long ago.")] = "0",
    queue: QueueOption = None,
    json: JsonOption = False,
) -> None:
    """Forget jobs that are over, with what they have printed. Estimates then learn nothing of them any more.

    For instance:

        shunter queue clean --state done --older 7d
    """
    words = {"states": state or None, "older_s": seconds_of_option("--older", older)}
    _change(queue, json, "clean", "Forgot", **words)
