"""From a log to a decision, on an embedded workload: what to run, what it gains, who pays, how sure that is.

Classics, a tuned score and a trained network are searched for in the first half of the jobs. The choice is made on the
next fifth, and judged once on the last 30 %, which nothing has looked at before.

python examples/demo.py
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import shunter
from shunter.advice.terminal import print_advice
from shunter.comparison.classics import Progress

WORKLOAD = "generate:lublin?seed=2026&jobs=40000&cores=256&load=0.9"


@contextmanager
def told(what: str) -> Iterator[Progress]:
    """Says what is done next."""
    print(f"{what} ...", flush=True)
    yield lambda done, total: None


def main() -> None:
    """Advises, and says where the page is."""
    began = time.perf_counter()
    advice = shunter.advise(WORKLOAD, out="demo", budget="100s", stage=told)
    print_advice(advice)
    print(f"All of it took {time.perf_counter() - began:.0f} s. Next, your own log:")
    print("  .venv/bin/shunter advise LOG.swf.gz")
    print(f"Open this in a browser: {advice.page}")


if __name__ == "__main__":
    main()
