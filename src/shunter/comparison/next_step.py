"""What to do with a result: one line for an operator, by the same rule and in the same words for every verb.

Policies stand on a ladder, from the plainest to the most involved. One climbs it only to what is surely better: what is
not surely better is not worth the trouble.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shunter.comparison.marks import TRUE_PLANS, TRUE_TIMES
from shunter.comparison.report import BETTER, LONGEST, WAIT, WORSE, judge_contrast, largest_known
from shunter.comparison.roles import BEGINNING, BEST, CHOSEN, OTHERS, TUNED
from shunter.metrics.calibration_verdict import Verdict
from shunter.metrics.labels import brief_seconds

if TYPE_CHECKING:
    from shunter.comparison.believability import Believability
    from shunter.comparison.comparison import Comparison
    from shunter.comparison.report import LogReport

WHAT_TO_DO: Final = "What to do:"
"""How the sentence begins."""
SIMULATE: Final = "to simulate it"
NOTHING_BETTER: Final = "Nothing that a real scheduler could run is surely better here"
WITHOUT: Final = {TRUE_TIMES: "--estimate last-two,posterior", TRUE_PLANS: "--reserve-by estimate"}
"""What is given to see what is left without a mark."""

Ladder = Mapping[str, str]
"""Those that an operator could run, by role, with what sentences call them: the plainest first."""


@dataclass(frozen=True)
class Step:
    """What to do."""

    role: str
    """Whom to run."""
    sentence: str
    """What to tell the operator."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """What to run next, by what for."""

    @property
    def text(self) -> str:
        """The sentence, and each command at the end of a line, where it can be copied."""
        return "\n".join([self.sentence, *(f"  {why}: {command}" for why, command in self.commands.items())])


def judged_step(report: LogReport, judged: str, name: str, command: str, also: Ladder | None = None) -> Step:
    """Returns whether to run a policy that was tuned or learned, or what it was judged against, and why.

    Args:
        report: What all did, by role.
        judged: The role of the policy.
        name: What sentences call it.
        command: What simulates it on the log.
        also: Others that could be run in its place.
    """

    def called(*roles: str) -> Ladder:
        there = [role for role in roles if role in report.contenders]
        return {role: f"{OTHERS[role]} ({report.contenders[role].label})" for role in there}

    # Nobody would have chosen the best in hindsight; it stands in where no training days have chosen.
    plainest = called(CHOSEN) or called(BEST)
    # What a search of weights began with is no policy that anybody runs: the file stands in its place.
    between = () if judged == TUNED else (TUNED, BEGINNING)
    ladder = {**plainest, **(also or {}), **called(*between), judged: name}
    role = taken(report, ladder)
    return Step(role, _sentence(_told(report, ladder), ladder), {SIMULATE: command} if role == judged else {})


def compared_step(comparison: Comparison) -> Step:
    """Returns whether to run the best policy of a comparison, or to keep the baseline, and why."""
    baseline, best = comparison.against, comparison.best_plain
    if (first := doubt(comparison)) is not None:
        return first
    ladder = {one.label: one.label for one in (baseline, best)}
    told, role = _told(comparison, ladder, NOTHING_BETTER), taken(comparison, ladder)
    log, commands = comparison.log.words, {}
    if role != baseline.label:
        commands[SIMULATE] = shlex.join(["shunter", "simulate", *log, *best.combination.settings.options()])
        commands["to look for a better one still"] = shlex.join(["shunter", "tune", *log, "--out", "tuned.toml"])
    carried = {mark for one in comparison.scored for mark in one.marks}
    if options := [option for mark, option in WITHOUT.items() if mark in carried]:
        told.append(f"To see what is left without true run times: {' '.join(options)}")
    return Step(role, _sentence(told, ladder), commands)


def disbelief(belief: Believability | None, role: str) -> Step | None:
    """Returns what to do where a description of the machine does not explain the log's waits; None: it does.

    Args:
        belief: Whether it does; None: the log does not tell.
        role: Of whom is kept until then.
    """
    if belief is None or belief.verdict != Verdict.DOES_NOT:
        return None
    sentence = f"{WHAT_TO_DO} describe the machine better before you believe these rows."
    return Step(role, sentence, {"to see what is wrong": belief.command})


def doubt(comparison: Comparison) -> Step | None:
    """Returns what to do before anything else where these windows cannot tell who is better; None: they can."""
    if (first := disbelief(comparison.believability, comparison.against.label)) is not None:
        return first
    if (cold := comparison.cold_start) is not None:
        sentence = f"{WHAT_TO_DO} run it again with --warmup {cold.warmup}: a busy cluster makes jobs wait longer."
        return Step(comparison.against.label, sentence)
    if comparison.quiet_note is None:
        return None
    sentence = f"{WHAT_TO_DO} {comparison.remedy}. Too few wait here for policies to differ."
    return Step(comparison.against.label, sentence)


def _sentence(told: Sequence[str], ladder: Ladder) -> str:
    """Returns sentences as one line, in which each policy is called by its whole name once."""
    line = f"{WHAT_TO_DO} {'. '.join(told)}."
    for name in ladder.values():
        # A sentence may begin with a capital.
        whole = name.removeprefix("the ")
        first, *others = line.split(whole)
        if others:
            line = first + whole + whole.partition(" (")[0].join(others)
    return line


def _told(report: LogReport, ladder: Ladder, otherwise: str = "") -> list[str]:
    """Returns what to do, why, and what that does to the waits, in sentences.

    Args:
        report: What all did, by role.
        ladder: Those that could be run; the last is judged.
        otherwise: What is said where something else is kept; by default what speaks against the last.
    """
    *others, judged = ladder
    best, plainest = taken(report, ladder), next(iter(ladder))
    if best == judged and others:
        before = taken(report, {role: ladder[role] for role in others})
        told = [f"try {ladder[judged]}", *_own_marks(report, ladder, before), _contrast(report, ladder, judged, before)]
        told += [*_bounds(report, judged), _waits(report, ladder, judged, before)]
    else:
        told = [f"keep {ladder[best]}"]
        if best != plainest:
            told += [*_own_marks(report, ladder, plainest), _contrast(report, ladder, best, plainest)]
            told.append(_waits(report, ladder, best, plainest))
        told += [otherwise] if otherwise else _against(report, ladder, best) if others else []
        # Of two that did the same there is nothing to tell.
        if best != judged and not report.contenders[judged].against[best].identical:
            told.append(_waits(report, ladder, judged, best))
    told += [f"Mind that {ladder[best]} {mark.words}" for mark in report.contenders[best].marks]
    return told + _hindsight(report, ladder, best)


def taken(report: LogReport, ladder: Ladder) -> str:
    """Returns the role to take: surely better than any below, within its bounds, and without a mark of its own."""
    shared = set(report.shared_marks)
    possible = [role for role in ladder if set(report.contenders[role].marks) <= shared] or [*ladder][:1]
    best = possible[0]
    for role in possible[1:]:
        is_better = _result(report, role, best) == BETTER
        if is_better and all(held.holds for held in report.contenders[role].held):
            best = role
    return best


def _result(report: LogReport, role: str, other: str) -> str:
    return judge_contrast("", "", report.contenders[role].against[other], report.metric)[0]


def _against(report: LogReport, ladder: Ladder, best: str) -> list[str]:
    """Returns all that speaks against the one that is judged."""
    *_, judged = ladder
    one, name = report.contenders[judged], ladder[judged]
    told = _own_marks(report, ladder, judged)
    is_beginning = BEGINNING in ladder and one.against[BEGINNING].identical
    if is_beginning:
        told.append(_capital(f"{name} did the same as its beginning in every window: training found nothing better"))
    if not (is_beginning and best == BEGINNING):
        told.append(_contrast(report, ladder, judged, best))
    return told + [line for held, line in zip(one.held, _bounds(report, judged), strict=True) if not held.holds]


def _own_marks(report: LogReport, ladder: Ladder, role: str) -> list[str]:
    """Returns what a policy has that no scheduler has, and not all of them have."""
    marks = report.contenders[role].marks
    return [_capital(f"{ladder[role]} {mark.words}") for mark in marks if mark not in report.shared_marks]


def _contrast(report: LogReport, ladder: Ladder, judged: str, other: str) -> str:
    found = report.contenders[judged].against[other]
    return _capital(judge_contrast(ladder[judged], ladder[other], found, report.metric)[1])


def _bounds(report: LogReport, role: str) -> list[str]:
    """Returns whether each of its bounds is kept."""
    reference = report.contenders[report.reference].label
    return [
        f"It {'keeps' if held.holds else 'breaks'} the bound on {held.bound.metric}, {held.bound.words} that of "
        f"{reference}: {held.words}"
        for held in report.contenders[role].held
    ]


def _waits(report: LogReport, ladder: Ladder, judged: str, other: str) -> str:
    """Returns what becomes of the mean and of the longest wait, which orders that prefer short jobs make longer."""
    own, base = report.contenders[judged], report.contenders[other]
    means_s = [report.mean(one, WAIT) or 0.0 for one in (own, base)]
    longest_s = [largest_known(one.metrics[LONGEST]) or 0.0 for one in (own, base)]
    mean, longest = (" instead of ".join(map(brief_seconds, pair)) for pair in (means_s, longest_s))
    limit = " (--max-wait limits it)" if longest_s[0] > longest_s[1] else ""
    return f"With {ladder[judged]} the mean wait is {mean}, the longest {longest}{limit}"


def _hindsight(report: LogReport, ladder: Ladder, best: str) -> list[str]:
    """Returns that a classic did better, which nobody would have chosen without having seen these very days."""
    if BEST not in report.contenders or BEST in ladder or _result(report, best, BEST) != WORSE:
        return []
    return [f"In hindsight {report.shown_label(BEST)} is better still; see whether it is on other days, too"]


def _capital(sentence: str) -> str:
    """Returns a sentence with a capital, unless it begins with a name: files and policies are written as they are."""
    return f"T{sentence[1:]}" if sentence.startswith("the ") else sentence
