"""The local queue under fire: daemon, clients and supervisors are killed at random moments, a thousand times.

    PYTHONPATH=. python benchmarks/local_queue_kills.py [--kills 1000] [--seed 1]

Every acknowledged job must run exactly once, with the right exit code, whatever was killed. The job of a killed
supervisor must be lost, with nothing left running, and run again only if that was chosen.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.execution.box import Box
from tests.execution.kills import kill_supervisors, soak


def main() -> None:
    """Runs the soak and says what came of it; the exit code is 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    supervisors = given.kills // 10
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines"
        box = Box(Path(folder) / "queue")
        box.start()
        told = soak(box, lines, given.kills - supervisors, given.seed)
        ran = Counter(map(int, lines.read_text().split()))
        missing = [number for number in told.acknowledged if ran[number] == 0]
        twice = [number for number, times in ran.items() if times > 1]
        wrong = [number for number, job in told.acknowledged.items() if box.show(job)["code"] != number % 3]
        states = kill_supervisors(box, Path(folder) / "lost", supervisors, given.seed)
        intact = box.is_intact()
        box.stop()
    kills = ", ".join(f"{count} of {what}" for what, count in [*told.kills.items(), ("supervisors", supervisors)])
    print(f"{kills} killed in {time.perf_counter() - began:.0f} s")
    print(f"{len(told.acknowledged):,} jobs acknowledged, {sum(ran.values()):,} ran")
    print(f"missing: {missing}\ntwice: {twice}\nwrong exit codes: {wrong}\nintact: {intact}")
    print(f"after a killed supervisor: {dict(Counter(states.values()))}")
    bad_states = set(states.values()) - {"fail lost", "requeue queued", "requeue running"}
    sys.exit(bool(missing or twice or wrong or bad_states or not intact))


if __name__ == "__main__":
    main()
