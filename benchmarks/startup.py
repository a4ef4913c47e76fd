"""How long the command line takes to start: for its help, for a client of a queue, and for a small simulation.

    python benchmarks/startup.py [--rounds 7]

The promises are 0.4 s for the help and 80 ms for a client, on a quiet machine. Python's own start stands beside them.
Compiled modules are kept, as an installed Shunter has them, whatever PYTHONDONTWRITEBYTECODE says.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

WORKLOAD = "generate:lublin?seed=42&jobs=1000&cores=256&load=0.9&requests=factor"
COMMANDS = {
    "python itself": ["-c", ""],
    "shunter --help": ["-m", "shunter", "--help"],
    "shunter simulate --help": ["-m", "shunter", "simulate", "--help"],
    "shunter train --help": ["-m", "shunter", "train", "--help"],
    "shunter queue submit": ["-m", "shunter", "queue", "submit", "--hold", "true"],
    "shunter queue list": ["-m", "shunter", "queue", "list", "--json"],
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
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/compiled"
        os.environ["SHUNTER_QUEUE"] = f"{folder}/queue"
        seconds(["-m", "shunter", "queue", "start"])
        for arguments in COMMANDS.values():
            seconds(arguments)  # Which compiles modules.
        for _ in range(rounds):
            for name, arguments in COMMANDS.items():
                times[name].append(seconds(arguments))
        seconds(["-m", "shunter", "queue", "stop"])
    for name, measured in times.items():
        measured.sort()
        best, middle = 1000 * measured[0], 1000 * measured[len(measured) // 2]
        print(f"{name:32} best {best:5.0f} ms, median {middle:5.0f} ms")


if __name__ == "__main__":
    main()
