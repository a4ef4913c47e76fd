"""The policy ``gittins``: what is most likely to end soon for the time that it takes, by histograms of run times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from tests.reference.arithmetic import nearest
from tests.reference.model import RefJob
from tests.reference.specs import Spec

DEFAULTS = {"bins": 12, "shortest_s": 30, "growth": 3, "decay": 0.98, "common_decay": 0.999, "shrinkage": 4}
"""The parameters, in the order of `Histograms`."""
EVERYBODY = "everybody"


def gittins_index(chances: Sequence[float], borders_ms: Sequence[int], level: int) -> float:
    """Returns Gittins' index of a job that has reached the lower border of a bin.

    It is the most, over all horizons d, of P(ends within d) / E[min(time left, d)]. Ends are spread evenly over a bin:
    then the borders of bins are horizons enough. The chance to have come so far is in both, and cancels out.

    Args:
        chances: For each bin, how likely it is that the run time is in it.
        borders_ms: Where bins begin; the last number is the end of the last one.
        level: The bin at whose lower border the job is.
    """
    lasting = [0.0]
    for chance in reversed(chances):
        lasting.append(lasting[-1] + chance)
    lasting.reverse()
    best = ends = spent = 0.0
    for place in range(level, len(chances)):
        ends += chances[place]
        # Until a border, time is spent by whoever lasts so long: evenly fewer from one border to the next.
        width_s = (borders_ms[place + 1] - borders_ms[place]) / 1000
        spent += width_s * (lasting[place] + lasting[place + 1]) / 2
        best = max(best, ends / spent)
    return best


class Histograms:
    """How long jobs have run: all of them, each user's, and the narrower groups of the estimate ``posterior``."""

    def __init__(
        self, bins: int, shortest_s: float, growth: float, decay: float, common_decay: float, shrinkage: float
    ) -> None:
        self._borders_ms = [0]
        end_s = shortest_s
        for _ in range(bins):
            self._borders_ms.append(max(nearest(end_s * 1000), self._borders_ms[-1] + 1))
            end_s *= growth
        self._decay, self._common_decay, self._shrinkage = decay, common_decay, shrinkage
        self._counts: dict[Hashable, list[float]] = defaultdict(lambda: [0.0] * bins)
        self._totals: dict[Hashable, float] = defaultdict(float)

    def groups(self, job: RefJob) -> list[Hashable]:
        """Returns the groups that a job belongs to, the widest first; nobody's jobs are one user's."""
        narrow = [(job.user,), (job.user, job.requested_ms), (job.user, job.requested_ms, job.asked_milli)]
        return [EVERYBODY, *narrow]

    def level(self, run_ms: int) -> int:
        """Returns the bin in which a run time is; the last one has all that are longer."""
        return sum(border_ms <= run_ms for border_ms in self._borders_ms[1:-1])

    def level_end_ms(self, run_ms: int) -> int | None:
        """Returns where the bin of a run time ends, None for the last."""
        level = self.level(run_ms)
        return self._borders_ms[level + 1] if level + 2 < len(self._borders_ms) else None

    def learn(self, job: RefJob, run_ms: int) -> None:
        """Takes note of a job that has ended."""
        for group in self.groups(job):
            decay = self._common_decay if group == EVERYBODY else self._decay
            counts = [count * decay for count in self._counts[group]]
            counts[self.level(run_ms)] += 1
            self._counts[group] = counts
            self._totals[group] = self._totals[group] * decay + 1

    def chances(self, job: RefJob) -> list[float]:
        """Returns how likely each bin is: each group is shrunk towards the wider one; before any, all are alike."""
        bins, k = len(self._borders_ms) - 1, self._shrinkage
        chances = [1 / bins] * bins
        for group in self.groups(job):
            pairs = zip(self._counts[group], chances, strict=True)
            chances = [(count + k * chance) / (self._totals[group] + k) for count, chance in pairs]
        return chances

    def index(self, job: RefJob, attained_ms: int) -> float:
        """Returns the index of a job that has done so much work."""
        return gittins_index(self.chances(job), self._borders_ms, self.level(attained_ms))


def read_histograms(policy: Spec) -> Histograms:
    """Returns the histograms that a policy asks for; others have some that nobody looks at."""
    said = policy.said if policy.name == "gittins" else {}
    bins, *others = (float(said.get(name, default)) for name, default in DEFAULTS.items())
    return Histograms(int(bins), *others)
