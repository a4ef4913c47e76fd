"""What ``--help`` prints: how a command is used, what it does, and each of its options with its default."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from typing import Final

from shunter.cli.parsing import HELP, Command, Entry, Group, Parameter

WIDEST, NARROWEST = 78, 50
"""How many characters a line has; more are hard to read."""
MOST_LEFT: Final = 30
"""How wide the left column of a list is at most."""
ARGUMENTS, OPTIONS = "Arguments", "Options"
"""The first heading, and the last one."""


def help_text(command: Command, path: str) -> str:
    """Returns the help of a command; `path` is the words that lead to it."""
    width = max(min(get_terminal_size().columns - 2, WIDEST), NARROWEST)
    parts = [_filled(" ".join([f"Usage: {path}", *_usage(command)]), width, later=" " * len(f"Usage: {path} "))]
    parts.append(_described(command.text, width))
    lists = _lists(command)
    if isinstance(command, Group):
        lists |= command.headings()
    parts += [f"{heading}:\n{_listed(entries, width)}" for heading, entries in lists.items()]
    return "\n\n".join(part for part in parts if part)


def _usage(command: Command) -> list[str]:
    if isinstance(command, Group):
        return ["[OPTIONS]", "COMMAND", "[ARGS]..."]
    words = ["[OPTIONS]"]
    for one in command.parameters:
        if not one.is_option:
            called = one.metavar.removesuffix("...")
            words.append((called if one.is_required else f"[{called}]") + ("..." if one.is_many else ""))
    return words


def _lists(command: Command) -> dict[str, list[Entry]]:
    """Returns the arguments and the options, by their headings."""
    found: dict[str, list[Entry]] = {}
    for one in command.parameters:
        if not one.said.hidden:
            heading = command.group_of(one.name) if one.is_option else ARGUMENTS
            left = option_text(one) if one.is_option else one.metavar
            found.setdefault(heading, []).append((left, with_default(one)))
    found.setdefault(OPTIONS, []).append((", ".join(HELP), "Show this message and exit."))
    order = [ARGUMENTS, *(name for name in found if name not in (ARGUMENTS, OPTIONS)), OPTIONS]
    return {name: found[name] for name in order if name in found}


def option_text(one: Parameter) -> str:
    """Returns an option as it is written: short names first, and what its value is called."""
    names = ", ".join(sorted(one.names, key=lambda name: name.startswith("--")))
    if one.off_names:
        names += f" / {', '.join(one.off_names)}"
    return names if one.is_switch else f"{names} {one.metavar}"


def with_default(one: Parameter) -> str:
    """Returns what the help says of an option or an argument, with its default."""
    shown, default = one.said.show_default, one.default
    if isinstance(shown, str):
        said = f"default: ({shown})"
    elif one.is_required:
        said = "required"
    elif shown is False or not one.is_option:
        return one.help
    elif one.is_switch:
        said = f"default: {'on' if default else 'off'}"
    else:
        said = f"default: {'none' if default in (None, '') else default}"
    return f"{one.help}  [{said}]" if one.help else f"[{said}]"


def _described(text: str, width: int) -> str:
    """Returns paragraphs, each as far to the right as it was, and filled."""
    parts = []
    for part in text.split("\n\n"):
        indent = " " * (2 + len(part) - len(part.lstrip()))
        parts.append(_filled(" ".join(part.split()), width, indent, indent))
    return "\n\n".join(parts)


def _listed(entries: Sequence[Entry], width: int) -> str:
    """Returns a list in two columns."""
    left_width = min(max(len(left) for left, _ in entries), MOST_LEFT)
    lines: list[str] = []
    for left, right in entries:
        indent = " " * (left_width + 4)
        begin = f"  {left:{left_width}}  "
        if len(left) > left_width:
            lines.append(f"  {left}")
            begin = indent
        lines += _filled(right, width, begin, indent).splitlines() or [begin.rstrip()]
    return "\n".join(lines)


def _filled(text: str, width: int, begin: str = "", later: str = "") -> str:
    return "\n".join(_lines(text, width, begin, later))


def _lines(text: str, width: int, begin: str, later: str) -> Iterable[str]:
    return textwrap.wrap(
        text, width, initial_indent=begin, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )
