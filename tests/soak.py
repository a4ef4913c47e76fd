"""Runs the property tests with fresh seeds for a given time: ``python -m tests.soak --minutes 60``, or ``make soak``.

One round is one test file under one seed, in a process of its own. The first failure ends the soak, with the command
that brings it back.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from itertools import count, cycle
from pathlib import Path
from random import SystemRandom

TESTS = Path(__file__).parent
EXAMPLES = re.compile(r"(\d+) (?:passing|failing)")
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", re.MULTILINE)
NO_TESTS = 5
"""pytest's exit code for a file without property tests."""


def property_files() -> list[Path]:
    """Returns the test files that draw their examples."""
    files = sorted(TESTS.rglob("test_*.py"))
    return [file.relative_to(TESTS.parent) for file in files if "hypothesis" in file.read_text()]


def command(test: str, seed: int) -> list[str]:
    """Returns the command that runs a file, or one test of it, under a seed."""
    return [
        *[sys.executable, "-m", "pytest", "--all", "-m", "hypothesis", test],
        *["--hypothesis-profile=soak", f"--hypothesis-seed={seed}"],
    ]


def run_round(file: Path, seed: int) -> tuple[int, int, str]:
    """Runs one file; returns pytest's exit code, how many scenes were tried, and what pytest printed."""
    options = ["--hypothesis-show-statistics", "--quiet", "--maxfail=1", "-p", "no:cacheprovider"]
    done = subprocess.run([*command(str(file), seed), *options], capture_output=True, text=True, cwd=TESTS.parent)
    return done.returncode, sum(map(int, EXAMPLES.findall(done.stdout))), done.stdout + done.stderr


def soak(minutes: float) -> int:
    """Goes round the files until the time is over or a test fails; returns the exit code."""
    end_s = time.monotonic() + minutes * 60
    random = SystemRandom()
    scenes = 0
    for number, file in zip(count(1), cycle(property_files())):
        seed = random.randrange(2**32)
        code, tried, printed = run_round(file, seed)
        scenes += tried
        print(f"round {number}: {file}, seed {seed}: {tried} scenes, {scenes:,} so far", flush=True)
        if code not in (0, NO_TESTS):
            failed = next(iter(FAILED.findall(printed)), str(file))
            print(printed)
            print(f"failed (exit code {code}); to bring it back: {' '.join(command(repr(failed), seed))}", flush=True)
            return 1
        if time.monotonic() >= end_s:
            break
    print(f"clean: {scenes:,} scenes in {minutes:g} minutes")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run the property tests with fresh seeds.")
    parser.add_argument("--minutes", type=float, default=10, help="for how long (default: 10)")
    sys.exit(soak(parser.parse_args().minutes))
