"""How long the command line takes to start: the help of all verbs, of one verb, and a small simulation.

    python benchmarks/startup.py [--rounds 7]

The promise is 0.4 s for the help on a quiet machine. Python's own start stands beside it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

WORKLOAD = "generate:lublin?seed=42&jobs=1000&cores=256&load=0.9&requests=factor"
COMMANDS = {
    "python itself": ["-c", ""],
    "shunter --help": ["-m", "shunter", "--help"],
    "shunter simulate --help": ["-m", "shunter", "simulate", "--help"],
    "shunter train --help": ["-m", "shunter", "train", "--help"],
    "shunter simulate, 1,000 jobs": ["-m", "shunter", "simulate", "--workload", WORKLOAD, "--json"],
}


def seconds(arguments: list[str]) -> float:
    """Returns how long a Python process with these arguments takes."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    """Prints the best and the median of some rounds, the commands taking turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, arguments in COMMANDS.items():
            times[name].append(seconds(arguments))
    for name, measured in times.items():
        measured.sort()
        print(f"{name:32} best {measured[0]:.2f} s, median {measured[len(measured) // 2]:.2f} s")


if __name__ == "__main__":
    main()
