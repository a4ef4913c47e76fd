"""Files of jobs: TOML, CSV, JSON lines, or one command a line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from shunter.errors import InputError
from shunter.execution.local.spec import JobSpec, SpecReader, command_of, memory_mb
from shunter.files import parse_json, parse_toml, read_text

WHOLE: Final = ("cores", "gpus", "priority", "retries", "nice")
STANDARD_INPUT: Final = "-"


def read_jobs(path: str, usual: Mapping[str, Any]) -> list[JobSpec]:
    """Returns the jobs of a file.

    Args:
        path: Ending in ``.toml``, ``.csv`` or ``.jsonl``; any other file has a command for the shell in each line, and
            so has ``-``, standard input.
        usual: What a job has that says nothing else, by the names of `JobSpec`.

    Raises:
        InputError: The file cannot be read, or a job in it is wrong.
    """
    if path == STANDARD_INPUT:
        import sys

        text = sys.stdin.read()
    else:
        text = read_text(Path(path), "file of jobs", "a .toml, .csv or .jsonl file, or one with a command in each line")
    readers = {".toml": _toml, ".csv": _csv, ".jsonl": _jsonl}
    reader = readers.get(Path(path).suffix.lower(), _lines)
    specs = SpecReader()
    jobs = [_spec({**usual, **table}, where, specs) for where, table in reader(text, path)]
    if not jobs:
        raise InputError(f"{path}: there is no job in it; write at least one")
    return jobs


def _spec(table: dict[str, Any], where: str, specs: SpecReader) -> JobSpec:
    command = table.get("command")
    if isinstance(command, str):
        table["command"] = list(command_of([command]))
    for short, name in (("memory", "memory_mb"), ("time", "time_s")):
        if short in table:
            table[name] = table.pop(short)
    if isinstance(table.get("memory_mb"), str):
        table["memory_mb"] = memory_mb(table["memory_mb"])
    return specs.read(table, where)


def _toml(text: str, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    jobs = parse_toml(text, path).get("job")
    if not isinstance(jobs, list):
        raise InputError(f"{path}: expected a table [[job]] for each job")
    for place, table in enumerate(jobs, 1):
        yield f"{path}: job {place}", table


def _jsonl(text: str, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            table = parse_json(line, f"{path} line {number}")
            if not isinstance(table, dict):
                raise InputError(f"{path} line {number}: expected an object with a command")
            yield f"{path} line {number}", table


def _csv(text: str, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = csv.DictReader(io.StringIO(text), strict=True)
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise InputError(f"{path} line {rows.reader.line_num}: {error}; mend it") from None
        if row is None:
            return
        where = f"{path} line {rows.line_num}"
        if None in row:
            raise InputError(f"{where}: has more cells than the header")
        table: dict[str, Any] = {name: value for name, value in row.items() if value}
        for name in WHOLE:
            if name in table:
                table[name] = _whole(where, name, table[name])
        if "after" in table:
            table["after"] = [_whole(where, "after", one) for one in table["after"].replace(",", " ").split()]
        if "hold" in table:
            table["hold"] = table["hold"].lower() in ("1", "true", "yes")
        yield where, table


def _whole(where: str, name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{where}: {name} is {text!r}; expected a whole number") from None


def _lines(text: str, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield f"{path} line {number}", {"command": line.strip()}
