"""Reads damaged files, and says whether one led to an error that is not Shunter's own, or took too long."""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from shunter.errors import ShunterError
from shunter.native import CoreError
from tests.fuzz.targets import Target, targets

SLOW_S: Final = 5.0
"""Whatever takes longer hangs, for those who wait for it."""
LONGEST_LINE: Final = 4000
"""An error is one line that can be read."""


class Finding(Exception):
    """Something that must not be."""


def attempt(target: Target, content: bytes) -> bool:
    """Reads a file; returns whether it was taken.

    Raises:
        Finding: It led to a foreign exception, an error that is no line, text on standard error, or took too long.
    """
    begun = time.perf_counter()
    try:
        with _silence():
            target.read(content)
        is_taken = True
    except (Finding, KeyboardInterrupt):
        raise
    except CoreError as error:
        raise Finding(f"the core failed: {error}") from error
    except ShunterError as error:
        is_taken = False
        if len(str(error)) > LONGEST_LINE:
            raise Finding(f"an error of {len(str(error))} signs") from error
    # Panics of Polars are no Exceptions.
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise Finding(f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}") from error
    took_s = time.perf_counter() - begun
    if took_s > SLOW_S:
        raise Finding(f"took {took_s:.1f} s")
    return is_taken


@contextmanager
def _silence() -> Iterator[None]:
    """Raises a `Finding` if something is written to standard error, by whatever means."""
    with tempfile.TemporaryFile() as file, os.fdopen(os.dup(2), "wb") as shown:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(shown.fileno(), 2)
            if file.tell():
                file.seek(0)
                raise Finding(f"wrote to standard error: {file.readline().strip()!r}")


def damaged(target: Target, draw: Random) -> bytes:
    """Returns a damaged file of this kind."""
    content = target.content
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        content = draw.choice(target.mutations)(content, draw)
    return content


def _mixed(chosen: Sequence[Target]) -> list[Target]:
    """Returns the targets in an order in which every second one is a file, though there are more kinds of states."""
    states = [one for one in chosen if one.name.startswith(("state", "snapshot"))]
    files = [one for one in chosen if one not in states]
    if not states or not files:
        return list(chosen)
    longest = max(len(states), len(files))
    return [each[place % len(each)] for place in range(longest) for each in (files, states)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code is 0 if nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many damaged files to read")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="targets whose name has this in it")
    parser.add_argument("--keep", type=Path, help="a folder for the files that led to something")
    given = parser.parse_args(arguments)
    found: Counter[str] = Counter()
    taken = 0
    slowest_s = 0.0
    with tempfile.TemporaryDirectory() as folder, os.fdopen(os.dup(2), "w") as shown:
        chosen = [one for one in targets(Path(folder)) if given.only in one.name]
        order = _mixed(chosen)
        print(f"{len(chosen)} kinds of files, {given.count:,} damaged ones, seed {given.seed}", flush=True)
        for number in range(given.count):
            target = order[number % len(order)]
            # By its number: each can be made again without all before it.
            content = damaged(target, Random(f"{given.seed} {number} {target.name}"))
            # What hangs in native code cannot be interrupted: the traceback says where it was.
            faulthandler.dump_traceback_later(12 * SLOW_S, exit=True, file=shown)
            begun = time.perf_counter()
            try:
                taken += attempt(target, content)
            except Finding as finding:
                text = f"{target.name.partition(' ')[0]}: {finding}"
                found[text] += 1
                if found[text] == 1:
                    print(f"number {number}, {target.name}: {finding}", flush=True)
                    if given.keep is not None:
                        given.keep.mkdir(parents=True, exist_ok=True)
                        (given.keep / f"{given.seed}-{number}").write_bytes(content)
            finally:
                faulthandler.cancel_dump_traceback_later()
                slowest_s = max(slowest_s, time.perf_counter() - begun)
    what = f"{sum(found.values()):,} findings of {len(found)} kinds, the slowest took {slowest_s:.1f} s"
    print(f"{given.count:,} read: {taken:,} taken, {what}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
