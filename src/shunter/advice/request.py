"""What an advice is asked for, checked before a log is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shunter.advice.plan import QUICK, Effort, effort_for
from shunter.checks import check_name, seconds_of, timed
from shunter.comparison.bench import available_threads
from shunter.comparison.combinations import combine_like
from shunter.comparison.contest import MOST_THREADS
from shunter.comparison.objective import Objective, parse_objective
from shunter.engines.choice import LOCAL, check_on
from shunter.errors import InputError
from shunter.model.cluster import GENERATE
from shunter.policies.catalog import PLACEMENTS, PYTHON_PLACEMENTS
from shunter.policies.scheduler import resolve_scheduler
from shunter.tuning.request import Guards
from shunter.workloads.load import check_load

BOUNDS: Final = ("mean-wait=1", "max-wait=1.5")
"""Bounds by default: the mean wait must not rise, the longest wait may be at most 1.5 times that of today."""
USUAL_BUDGET: Final = "10m"
LEAST_BUDGET_S: Final = 10.0
USUAL_SITE: Final = "fcfs/easy"
"""What a site is taken to run where neither the user nor its files tell."""


@dataclass(frozen=True)
class AdviseRequest:
    """What is asked for."""

    files: tuple[str, ...]
    """The parts of one log, or one generator."""
    out: Path = Path("advice")
    nodes: tuple[str, ...] = ()
    """Lists of machines, and of the site's rules."""
    cluster: str | None = None
    format: str | None = None
    columns: str | None = None
    only: str | None = None
    strict: bool = False
    load: float | None = None
    site: str | None = None
    """What the site runs, as ``fcfs/easy``; None: what its files tell, or `USUAL_SITE`."""
    objective: Objective = field(default_factory=lambda: parse_objective("bounded-slowdown", BOUNDS))
    limits_s: tuple[float | None, ...] = ()
    """Starvation limits to choose from; a single one is taken. None: without one. Empty: relative to today's waits."""
    placements: tuple[str, ...] = ()
    """Other placements to try; none: those that suit the cluster."""
    allow_preemption: bool = False
    anyway: bool = False
    """Whether to go on although the simulation does not explain the log."""
    effort: Effort = field(default_factory=lambda: effort_for(600.0))
    budget_s: float = 600.0
    seed: int = 0
    threads: int = 1
    on: str = LOCAL
    fresh: bool = False

    @staticmethod
    def of(
        workload: str | Path | Sequence[str | Path],
        *,
        cluster: str | int | Path | None = None,
        nodes: str | Path | Sequence[str | Path] = (),
        out: str | Path = "advice",
        objective: str = "bounded-slowdown",
        bounds: Sequence[str] | None = None,
        max_wait_s: Guards = (),
        budget: str | float | None = None,
        quick: bool = False,
        placement: str | Sequence[str] = (),
        seed: int = 0,
        threads: int | None = None,
        **others: object,
    ) -> AdviseRequest:
        """Returns what texts and numbers ask for.

        Raises:
            InputError: The first that is wrong.
        """
        if quick and budget is not None:
            raise InputError(f"--quick and --budget {budget} both say how much time there is; give one of them")
        budget_s = QUICK_S if quick else _budget_s(USUAL_BUDGET if budget is None else budget)
        request = AdviseRequest(
            files=_texts(workload),
            out=Path(out),
            nodes=_texts(nodes),
            cluster=None if cluster is None else str(cluster),
            objective=parse_objective(objective, BOUNDS if bounds is None else bounds),
            limits_s=_limits(max_wait_s),
            placements=_texts(placement),
            effort=QUICK if quick else effort_for(budget_s),
            budget_s=budget_s,
            seed=seed,
            threads=available_threads() if threads is None else threads,
            **others,  # type: ignore[arg-type]
        )
        request.check()
        return request

    def check(self) -> None:
        """Raises an error for what is wrong whatever the log is."""
        if not self.files or not all(self.files):
            raise InputError("no job log is given; name one, as in: shunter advise sacct.txt")
        if len(self.files) > 1 and any(name.startswith(GENERATE) for name in self.files):
            raise InputError("a generator is a whole log; give it alone, and logs of files without it")
        if self.nodes and self.cluster is not None:
            raise InputError(f"--cluster {self.cluster} and --nodes both describe the machine; give one of them")
        if not 1 <= self.threads <= MOST_THREADS:
            raise InputError(f"--threads is {self.threads}; expected 1 to {MOST_THREADS}")
        if self.load is not None:
            check_load(self.load)
        for name in self.placements:
            known = {one: what for one, what in PLACEMENTS.items() if one not in PYTHON_PLACEMENTS}
            check_name("placement", name, known)
        for limit_s in self.limits_s:
            resolve_scheduler(max_wait_s=limit_s, seed=self.seed)
        if self.site is not None:
            combine_like(self.site, resolve_scheduler(seed=self.seed))
        check_on(self.on)

    def words(self, *without: str) -> list[str]:
        """Returns what asks for the same on a command line, without some of its options."""
        usual, is_quick = AdviseRequest(self.files), self.effort == QUICK
        bounds = [f"{one.metric}={one.factor:.15g}" for one in self.objective.bounds]
        given: dict[str, Sequence[object]] = {
            "--nodes": self.nodes,
            "--cluster": _unusual(self.cluster),
            "--format": _unusual(self.format),
            "--map": _unusual(self.columns),
            "--only": _unusual(self.only),
            "--load": _unusual(self.load),
            "--site": _unusual(self.site),
            "--objective": _unusual(self.objective.metric, usual.objective.metric),
            "--bound": [] if self.objective.bounds == usual.objective.bounds else bounds,
            "--max-wait": _unusual(_limits_text(self.limits_s), ""),
            "--placement": _unusual(",".join(self.placements), ""),
            "--budget": _unusual(f"{self.budget_s:g}", f"{QUICK_S if is_quick else usual.budget_s:g}"),
            "--seed": _unusual(self.seed, usual.seed),
            "--on": _unusual(self.on, usual.on),
            "--out": [self.out],
        }
        flags = {
            "--quick": is_quick,
            "--allow-preemption": self.allow_preemption,
            "--anyway": self.anyway,
            "--strict": self.strict,
        }
        valued = [word for name, those in given.items() if name not in without for one in those for word in (name, one)]
        return [
            *self.files,
            *map(str, valued),
            *(name for name, is_set in flags.items() if is_set and name not in without),
        ]

    @property
    def spec(self) -> str | list[str]:
        """What `shunter.read_workload` takes."""
        return self.files[0] if len(self.files) == 1 else list(self.files)


QUICK_S: Final = 60.0
"""How long a quick advice may take, about."""


def _unusual(value: object, usual: object = None) -> list[object]:
    return [] if value == usual else [value]


def _limits_text(limits_s: Sequence[float | None]) -> str:
    return ",".join("off" if limit_s is None else f"{limit_s:g}" for limit_s in limits_s)


def _budget_s(budget: str | float) -> float:
    seconds = seconds_of(budget) if isinstance(budget, str) else float(budget)
    if seconds is None or not LEAST_BUDGET_S <= seconds < float("inf"):
        raise InputError(f"--budget is {budget!r}; expected a time of 10 s or more, such as 90s, 10m or 2h")
    return seconds


def _limits(given: Guards) -> tuple[float | None, ...]:
    several = [given] if given is None or isinstance(given, str | float | int) else list(given)
    return tuple(dict.fromkeys(timed("max_wait_s", one) for one in several))


def _texts(given: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    return tuple(str(one) for one in ([given] if isinstance(given, str | Path) else given))
