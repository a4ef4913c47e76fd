"""Whether a cluster description explains its log: the checks, the verdict, and what to look at where it does not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from shunter.metrics.calibration import MINUTE_S
from shunter.metrics.labels import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shunter.metrics.calibration import Calibration
    from shunter.model.schedule import Schedule

RATIO_EXPLAINS, RATIO_ROUGHLY = 1.25, 2.0
"""How many times longer the mean wait of one side may be than that of the other."""
CORRELATION_EXPLAINS, CORRELATION_ROUGHLY = 0.9, 0.6
"""The least rank correlation."""
ABOVE_EXPLAINS = 0.01
"""The part of the time during which more cores than described may be in use."""
FEW_JOBS = 100
ROOM_FACTOR, ROOM_LEAST = 2.0, 0.2
"""From where on jobs that waited although there was room tell something: against the simulation, and of all."""
DELAY_S = 10.0
"""A usual delay of jobs that need not wait is worth a word from here on."""
UNKNOWN_REQUESTS = 0.1
"""So is this share of jobs without a request."""


class Verdict(IntEnum):
    """What a check says, and the lowest of all for the whole."""

    DOES_NOT = 0
    ROUGHLY = 1
    EXPLAINS = 2

    @property
    def words(self) -> str:
        """The verdict as it is printed."""
        return ("does not explain the log", "explains the log roughly", "explains the log")[self]

    @property
    def word(self) -> str:
        """The same, where there is little room."""
        return ("does not", "roughly", "explains")[self]


@dataclass(frozen=True)
class Check:
    """One check of which the verdict is made."""

    name: str
    value: float | None
    explains: str
    """What the value has to be, in words."""
    roughly: str
    result: Verdict | None
    """None where the value has no meaning for this log, and the check is left out."""
    finding: str
    """What was found, as part of a sentence."""

    def to_json(self) -> dict[str, Any]:
        """Returns the check as a plain object."""
        return {
            "check": self.name,
            "value": self.value,
            "explains": self.explains,
            "roughly": self.roughly,
            "result": None if self.result is None else self.result.word,
        }


@dataclass(frozen=True)
class Judgment:
    """The verdict with its grounds."""

    verdict: Verdict
    because: str
    """One sentence."""
    checks: tuple[Check, ...]
    hints: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns the judgment as a plain object."""
        return {
            "verdict": self.verdict.words,
            "because": self.because,
            "checks": [check.to_json() for check in self.checks],
            "hints": list(self.hints),
        }


def judge(calibration: Calibration, schedule: Schedule) -> Judgment:
    """Returns the verdict on a calibration; the rule is in ``docs/calibrating.md``."""
    checks = (
        _mean_check(calibration),
        _correlation_check("jobs", calibration.agreement.rank_correlation, calibration.compared),
        _correlation_check("days", calibration.agreement.daily_rank_correlation, calibration.agreement.days),
        _above_check(calibration),
    )
    # One weak check is enough: a mean that agrees by chance says little where other jobs wait.
    verdict = min(check.result for check in checks if check.result is not None)
    worst = [check.finding for check in checks if check.result == verdict]
    hints = list(_facts(calibration))
    if verdict < Verdict.EXPLAINS:
        hints.extend(_suspicions(calibration, schedule))
    return Judgment(verdict, "; ".join(worst), checks, tuple(hints))


def _mean_check(calibration: Calibration) -> Check:
    logged_s, simulated_s = calibration.logged.mean_wait_s, calibration.simulated.mean_wait_s
    longer, shorter = max(logged_s, simulated_s), min(logged_s, simulated_s)
    # Ratios of tiny waits mean nothing: on an idle machine 2 s against 10 s is no disagreement.
    if longer - shorter <= MINUTE_S or longer <= RATIO_EXPLAINS * shorter:
        result = Verdict.EXPLAINS
    else:
        result = Verdict.ROUGHLY if longer <= RATIO_ROUGHLY * shorter else Verdict.DOES_NOT
    return Check(
        name="mean wait, simulated ÷ logged",
        value=calibration.agreement.ratio,
        explains=f"{1 / RATIO_EXPLAINS:.2g} to {RATIO_EXPLAINS:g}, or within a minute",
        roughly=f"{1 / RATIO_ROUGHLY:.2g} to {RATIO_ROUGHLY:g}",
        result=result,
        finding=f"the mean wait is {simulated_s:,.0f} s simulated and {logged_s:,.0f} s logged",
    )


def _correlation_check(things: str, value: float | None, count: int) -> Check:
    result = None
    if value is not None:
        result = Verdict(int(value >= CORRELATION_ROUGHLY) + int(value >= CORRELATION_EXPLAINS))
    same = "the same" if result == Verdict.EXPLAINS else "mostly the same" if result == Verdict.ROUGHLY else "others"
    return Check(
        name=f"rank correlation over {count:,} {things}",
        value=value,
        explains=f"{CORRELATION_EXPLAINS:g} or more",
        roughly=f"{CORRELATION_ROUGHLY:g} or more",
        result=result,
        finding=f"the {things} with long waits are {same} (rank correlation {value or 0:.2f})",
    )


def _above_check(calibration: Calibration) -> Check:
    share = calibration.logged_load.time_above_share
    fits = share <= ABOVE_EXPLAINS
    unit = calibration.resource.unit
    most = f"{calibration.logged_load.capacity:,.15g} {unit}"
    return Check(
        name=f"part of the time with more {unit} in use",
        value=share,
        explains=f"{percent(ABOVE_EXPLAINS)} or less",
        roughly="any",
        # Never worse than roughly: cores in use beyond the description may be mistakes of the log.
        result=Verdict.EXPLAINS if fits else Verdict.ROUGHLY,
        finding=f"the log {'keeps within' if fits else f'has {percent(share, 1)} of the time more in use than'} {most}",
    )


def _facts(calibration: Calibration) -> Iterator[str]:
    """Yields what is worth knowing whatever the verdict."""
    load, unit = calibration.logged_load, calibration.resource.unit
    if load.spells_above:
        text = (
            f"The log has up to {load.most:,.15g} {unit} in use at once, more than the {load.capacity:,.15g} "
            f"described for {percent(load.time_above_share, 2)} of the time (spells: {load.spells_above:,}). "
        )
        if load.time_above_share > ABOVE_EXPLAINS:
            yield text + "The machine was larger than that."
        else:
            yield text + f"So short a time can come of rounded times, or of {unit} asked for and not given."
    if calibration.never_started:
        yield f"{calibration.never_started:,} jobs that ran in the log can never fit on this cluster."
    if calibration.compared < FEW_JOBS:
        yield f"Only {calibration.compared:,} jobs were compared: too few to lean on."


def _suspicions(calibration: Calibration, schedule: Schedule) -> Iterator[str]:
    """Yields what may be missing from the description."""
    agreement, logged, simulated = calibration.agreement, calibration.logged, calibration.simulated
    unit = calibration.resource.unit
    room, expected = logged.room_share, simulated.room_share or 0.0
    # Some wait beside free cores in every simulation too, behind a reservation: what counts is more than that.
    held = room is not None and room >= ROOM_LEAST and room > ROOM_FACTOR * expected
    if room is not None and held:
        yield (
            f"{percent(room)} of the logged jobs that waited more than a minute had enough {unit} free when they were "
            f"submitted (simulated: {percent(expected)}). Something that is not described held them: limits on users, "
            f"queues or hours of the day, reservations, dependencies, nodes down or of another kind, fewer {unit}."
        )
    elif simulated.mean_wait_s < logged.mean_wait_s / RATIO_EXPLAINS:
        yield f"Real jobs waited longer: try fewer {unit}, or another --policy or --dispatch."
    if simulated.mean_wait_s > logged.mean_wait_s * RATIO_EXPLAINS:
        yield (
            f"Simulated jobs wait longer: the machine had more {unit} than described, or its scheduler backfilled "
            "better (--dispatch, --estimate, --reserve-by)."
        )
    delay_s = agreement.immediate_logged_median_s
    if delay_s is not None and delay_s >= DELAY_S:
        yield (
            f"Half of the jobs that start at once in the simulation waited {delay_s:,.0f} s or more in the log: "
            "its scheduler worked in rounds, or starting took time."
        )
    # If something undescribed held jobs, that explains the order too, and no other policy will.
    correlation = agreement.rank_correlation
    if correlation is not None and correlation < CORRELATION_EXPLAINS and not held:
        yield f"Other jobs wait than in the log: its order was not {schedule.settings.policy}; try another --policy."
    yield from _undescribed(schedule)


def _undescribed(schedule: Schedule) -> Iterator[str]:
    """Yields what the log says and the simulation does not use, or the other way round."""
    jobs = schedule.workload.jobs
    unknown = jobs["requested_s"].null_count() / len(jobs)
    if unknown > UNKNOWN_REQUESTS:
        stand_in = schedule.settings.missing_request
        yield f"{percent(unknown)} of the jobs have no request; the site knew theirs, here {stand_in} stands in."
    queues = jobs["queue"].drop_nulls().n_unique()
    if queues > 1:
        yield f"The log has {queues:,} queues; what they limit is not simulated."
    partitions = jobs["partition"].drop_nulls().n_unique()
    if partitions > 1 and not schedule.cluster.partitions:
        yield f"The log has {partitions:,} partitions, the cluster none: a TOML file can describe them."
