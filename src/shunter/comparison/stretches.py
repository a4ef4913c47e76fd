"""Days of a log simulated without a break, and measured part by part.

A window that begins and ends by itself hides what takes long: a job that is passed over again and again waits at most
until the last jobs of its window have ended. In a stretch of days it goes on waiting.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shunter.comparison.bench import Bench
from shunter.comparison.log_windows import LogWindows
from shunter.model.windows import Windows
from shunter.simulation.windows import WindowRunner

if TYPE_CHECKING:
    from shunter.model.log import Log
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.windows import WindowResults


@dataclass(frozen=True)
class Stretches(LogWindows):
    """Long windows, each cut into parts; to whoever measures, the parts are the windows."""

    whole: Windows
    """What is simulated: each is as long as a number of parts."""

    def run(self, scheduler: Scheduler, threads: int = 1) -> WindowResults:
        """Returns what happens in each part, the stretches being simulated as a whole."""
        results = LogWindows(self.log, self.whole, self.runner).run(scheduler, threads)
        shape = (len(self.windows), self.windows.length)
        cut = {name: values[:, self.whole.warmup :].reshape(shape) for name, values in vars(results).items()}
        return replace(results, **cut)


def stretched(log: Log, first: int, end: int, *, stretches: int, parts: int, warmup: int, threads: int = 1) -> Bench:
    """Returns a bench on some days of a log, simulated as a few stretches that lie side by side.

    Args:
        log: The log and its cluster.
        first: The place of the first job.
        end: The place behind the last; a few jobs before it may be left out, so that all parts are equally long.
        stretches: How many there are; each is simulated by itself.
        parts: How many parts each is cut into; a part is a block.
        warmup: How many jobs before each stretch are simulated too, as far as the log has them.
        threads: How many threads share the stretches.
    """
    each = (end - first) // (stretches * parts)
    long = each * parts
    # The first stretch may have to give some of its jobs for its own warm-up.
    begins = np.arange(stretches) * long + max(first, min(warmup, end - stretches * long))
    warmup = min(warmup, int(begins[0]))
    places = (begins[:, None] + np.arange(parts) * each).ravel()
    windows = Windows(places.astype(np.uintp), np.arange(len(places)), length=each, warmup=0)
    whole = Windows(begins.astype(np.uintp), np.arange(stretches), length=long, warmup=warmup)
    return Bench([Stretches(log, windows, WindowRunner(log.workload, log.cluster), whole)], threads)
