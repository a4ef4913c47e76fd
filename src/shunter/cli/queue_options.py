"""The options that verbs of a queue share, and what they print alike. Nothing heavy is imported here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from shunter.checks import seconds_of
from shunter.cli.parsing import Argument, Option, echo
from shunter.errors import InputError, visible
from shunter.execution.local.client import ask
from shunter.execution.local.folder import queue_folder

QueueOption = Annotated[
    str | None,
    Option(
        "--queue",
        "-q",
        metavar="NAME|PATH",
        show_default="what SHUNTER_QUEUE says, or 'default'",
        help="The queue: a name, or a path with a slash in it.",
    ),
]
JsonOption = Annotated[bool, Option("--json", help="Print one JSON object instead of text.")]
IdsArgument = Annotated[list[str], Argument(metavar="JOB...", show_default=False, help="Ids: 12, 12,13 or 20-29.")]
GroupOption = Annotated[
    str | None, Option("--group", "-g", metavar="NAME", show_default="all", help="Only this group.")
]


def ask_daemon(queue: str | None, verb: str, **words: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON values
    """Asks the daemon of the queue that an option names; returns its answer."""
    return ask(queue_folder(queue), verb, tell=lambda text: echo(visible(text), err=True), **words)


def echo_json(value: object) -> None:
    """Prints what ``--json`` asks for."""
    echo(json.dumps(value, indent=2, ensure_ascii=False))


def parse_ids(texts: Iterable[str]) -> list[int]:
    """Returns the ids that words mean: ``12``, ``12,13``, ``20-29``.

    Raises:
        InputError: A word means none.
    """
    ids: list[int] = []
    for word in [part.strip() for text in texts for part in text.split(",")]:
        first, dash, last = word.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or len(first) > 18 or len(last) > 18:
            raise InputError(f"job {word!r}: expected an id, as in 12, 12,13 or 20-29")
        if dash and not 0 <= int(last) - int(first) <= 1_000_000:
            raise InputError(f"job {word!r}: expected the lower id first, and at most a million")
        ids += range(int(first), int(last or first) + 1)
    return list(dict.fromkeys(ids))


def ids_text(ids: Sequence[int]) -> str:
    """Returns ids as people read them: ``job 12``, ``3 jobs: 12, 13, 20``, ``100 jobs: 1 to 100``."""
    if len(ids) == 1:
        return f"job {ids[0]}"
    if ids and len(ids) == ids[-1] - ids[0] + 1:
        return f"{len(ids)} jobs: {ids[0]} to {ids[-1]}"
    more = ", …" if len(ids) > 10 else ""
    return f"{len(ids)} jobs{':' if ids else ''} {', '.join(map(str, ids[:10]))}{more}".rstrip()


def times_text(count: int) -> str:
    """Returns how often: ``once``, ``3 times``."""
    return "once" if count == 1 else f"{count:,} times"


def seconds_of_option(option: str, text: str | None) -> float | None:
    """Returns the seconds that an option was given; None if it was not given."""
    found = None if text is None else seconds_of(text)
    if text is not None and found is None:
        raise InputError(f"{option} is {text!r}; write 90m, 36h, 1d, 2h30m, or a number of seconds")
    return found
