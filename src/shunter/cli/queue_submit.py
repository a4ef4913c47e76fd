"""``shunter queue submit``: adds jobs to a queue."""

from __future__ import annotations

import os
from typing import Annotated, Any

from shunter.checks import declarations
from shunter.cli.parsing import Argument, Option, echo
from shunter.cli.queue_options import (
    JsonOption,
    QueueOption,
    ask_daemon,
    echo_json,
    ids_text,
    parse_ids,
    seconds_of_option,
)
from shunter.errors import InputError
from shunter.execution.local.folder import queue_folder
from shunter.execution.local.spec import JobSpec, SpecReader, command_of, memory_mb

_SAID = declarations(JobSpec)


def _help(name: str) -> dict[str, Any]:
    said = _SAID[name]
    return {"help": said.help, "metavar": said.metavar or None, "show_default": said.shown_default or True}


FileOption = Annotated[
    str | None,
    Option("--file", "-f", metavar="FILE", help="Jobs from a .toml, .csv or .jsonl file; any other, or - for "
                 "standard input, has a command in each line. The other options hold for jobs that say nothing else."),
]  # fmt: skip
EnvOption = Annotated[
    list[str] | None,
    Option("--env", "-e", metavar="NAME=VALUE", help="A variable for the job, besides those of this shell; again "
                 "for more. Environments are stored, and never shown."),
]  # fmt: skip
StartOption = Annotated[bool, Option("--start", help="Start the daemon of the queue if it is not running.")]
CommandArgument = Annotated[
    list[str] | None,
    Argument(metavar="COMMAND...", show_default=False, help="The command, best behind --. One text in quotes is "
                   "run by the shell; several words are run as they are."),
]  # fmt: skip


def submit(
    command: CommandArgument = None,
    jobs_file: FileOption = None,
    name: Annotated[str, Option(**_help("name"))] = "",
    cores: Annotated[int, Option("--cores", "-c", **_help("cores"))] = 1,
    memory: Annotated[str, Option("--memory", "--mem", **_help("memory_mb"))] = "0",
    gpus: Annotated[int, Option("--gpus", "-G", **_help("gpus"))] = 0,
    time: Annotated[str | None, Option("--time", "-t", **_help("time_s"))] = None,
    priority: Annotated[int, Option("--priority", "-p", **_help("priority"))] = 0,
    group: Annotated[str, Option("--group", "-g", **_help("group"))] = "default",
    after: Annotated[str | None, Option("--after", "-a", "--dependency", **_help("after"))] = None,
    after_mode: Annotated[str, Option(**_help("after_mode"))] = "ok",
    array: Annotated[str, Option(**_help("array"))] = "",
    retries: Annotated[int, Option(**_help("retries"))] = 0,
    on_lost: Annotated[str, Option(**_help("on_lost"))] = "fail",
    nice: Annotated[int, Option(**_help("nice"))] = 0,
    hold: Annotated[bool, Option("--hold", help=_SAID["hold"].help)] = False,
    folder: Annotated[
        str | None,
        Option("--folder", "-D", "--chdir", metavar="DIR", show_default="this one", help="Run it here."),
    ] = None,
    env: EnvOption = None,
    start: StartOption = False,
    queue: QueueOption = None,
    json: JsonOption = False,
) -> None:
    """Add a job to the queue, or many from a file. When this returns, they are on the disk, and will run once.

    For instance:

        shunter queue submit -- python train.py --seed 1

        shunter queue submit --cores 2 --memory 4G --time 2h --name fold 'zcat in.gz | ./fold > out'

        shunter queue submit --array 0-99%8 -- ./experiment.sh

        shunter queue submit --after 12,13 -- ./collect.sh

        shunter queue submit --file jobs.toml
    """
    if (jobs_file is None) == (not command):
        raise InputError("give a command behind --, or --file with jobs: shunter queue submit -- sleep 10")
    usual = {
        "folder": os.path.abspath(folder or os.getcwd()), "name": name, "cores": cores, "memory_mb": memory_mb(memory),
        "gpus": gpus, "time_s": seconds_of_option("--time", time), "priority": priority, "group": group,
        "after": parse_ids([after]) if after else [], "after_mode": after_mode, "array": array, "retries": retries,
        "on_lost": on_lost, "nice": nice, "hold": hold,
    }  # fmt: skip
    jobs = _jobs({key: value for key, value in usual.items() if value is not None}, command or [], jobs_file)
    if start:
        from shunter.execution.local.starting import start_if_needed

        start_if_needed(queue_folder(queue))
    # By the token the daemon knows a submission again that is asked twice.
    words = {"environment": _environment(env or []), "umask": _umask(), "token": os.urandom(16).hex()}
    answer = ask_daemon(queue, "submit", jobs=[job.to_json() for job in jobs], **words)
    if json:
        echo_json(answer)
    else:
        echo(f"Submitted {ids_text(answer['jobs'])}")


def _jobs(usual: dict[str, Any], command: list[str], file: str | None) -> list[JobSpec]:
    """Returns the jobs that a command or a file means; what they do not say themselves is usual."""
    if file is None:
        return [SpecReader().read({**usual, "command": list(command_of(command))}, "the job")]
    from shunter.execution.local.job_file import read_jobs

    return read_jobs(file, usual)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _environment(given: list[str]) -> dict[str, str]:
    own = dict(os.environ)
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--env is {pair!r}; write NAME=VALUE")
        own[name] = value
    return own
