"""The names that a user can give to policies, dispatch rules, placements and estimates."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from shunter.errors import InputError

POLICIES: dict[str, str] = {
    "fcfs": "first come, first served",
    "fifo": "the same as fcfs",
    "lcfs": "last come, first served",
    "sjf": "shortest estimated run time first",
    "ljf": "longest estimated run time first",
    "smallest": "fewest cores first",
    "largest": "most cores first",
    "saf": "smallest area first: r·n",
    "laf": "largest area first",
    "srf": "smallest ratio first: r/n",
    "lrf": "largest ratio first",
    "sexp": "smallest expansion factor first: (w + r)/r",
    "lexp": "largest expansion factor first",
    "f1": "log10(r)·n + 870·log10(s), fitted by Carastan-Santos and de Camargo",
    "f2": "√r·n + 25600·log10(s), of the same family",
    "f3": "r·n + 6860000·log10(s), of the same family",
    "f4": "r·√n + 530000·log10(s), of the same family",
    "wfp3": "highest (w/r)³·n first, of Tang and others",
    "unicef": "highest w/(log2(n)·r) first, of the same authors",
    "hybrid": "sjf with aging: r + aging·s",
    "priority": "the log's own priorities, the highest first",
    "fair-share": "the user who has used least first, old use fading",
    "multifactor": "Slurm's weighted sum: age, size, fair share, partition, QOS",
    "linear": "a weighted sum that 'shunter tune' fits to a log",
    "random": "a random order, drawn once from the seed",
    "random-feasible": "any job that fits, drawn anew each time; never waits (implies greedy)",
    "first-available": "fcfs on the first nodes with room (implies first-fit)",
    "qssf": "smallest GPU service first: GPUs·r, with r from history unless an estimate is named",
    "srtf": "shortest remaining time first; stops jobs that have more left (implies greedy)",
    "las": "least attained GPU service first, by levels; stops jobs that have had more (implies greedy)",
}
"""Policies: who is next. r is the estimate, n the cores, s the submit time, w the wait; docs/policies.md has it all."""

DISPATCHES: dict[str, str] = {
    "strict": "the first job that does not fit blocks all behind it",
    "greedy": "every job that fits starts, in order",
    "easy": "the first job that does not fit holds a reservation; others may pass if they do not delay it",
    "conservative": "every waiting job holds a reservation that nobody behind it can delay",
    "committed": "the chosen job is committed; the clock moves until it fits (RLScheduler's rule)",
    "committed-backfill": "committed, with jobs that end before its earliest start filled in",
}
"""Dispatch rules: what happens when the next job does not fit. A number k means that k jobs hold reservations."""

PLACEMENTS: dict[str, str] = {
    "first-fit": "nodes by number",
    "best-fit": "nodes with the least room first",
    "worst-fit": "nodes with the most room first",
    "pack": "as few nodes as possible",
    "spread": "as many nodes as possible, evenly",
    "random": "nodes in random order, drawn from the seed",
    "fastest": "the type with the fastest GPUs that has room, packed",
    "slowest-that-fits": "the type with the slowest GPUs that has room, packed",
    "tiered-defrag": "as few nodes as possible, or one more; the fewest partly used nodes after it",
    "tiered-balance": "as few nodes as possible, or one more; the evenest use of nodes after it",
    "tiered-lex": "as few nodes as possible, or one more; the nodes with the lowest numbers",
    "fgd": "nodes whose free GPUs stay of most use to the jobs of the log (fragmentation gradient)",
    "topology": "under one switch if possible, otherwise in one rack, as few nodes as possible",
    "milp": "the best of the tiers' options for the nodes and the waiting jobs, by a mixed-integer solver",
    "milp-full": "the same over all splits of the job's tasks",
}
"""Placements: which nodes a job gets."""

PYTHON_PLACEMENTS = ("milp", "milp-full")
"""Those whose rule is written in Python, and which take parameters: ``milp?alpha=2``."""

ESTIMATES: dict[str, str] = {
    "requested": "the run time that the user asked for",
    "perfect": "the true run time",
    "noisy": "the true run time with noise: noisy?sigma=1",
    "last-two": "the mean of the user's last two jobs that have ended, otherwise the request",
    "posterior": "what the jobs that have ended say of those like them",
    "history": "the mean run time of the user's ended jobs of the same size, or else of those nearest to them",
}
"""Estimates: the run time that a policy may see."""

RESERVE_BY: dict[str, str] = {
    "requested": "reservations last as long as the user asked for",
    "estimate": "reservations last as long as the estimate",
}
"""Which run time a reservation, and a running job's expected end, goes by."""

PROGRESS: dict[str, str] = {
    "kept": "the job goes on from where it was",
    "lost": "what the job has done since its latest start is lost",
}
"""What becomes of the work of a job that is stopped, by a policy or by the failure of a node."""


def check_name(kind: str, value: str, names: Iterable[str], also: str = "") -> str:
    """Returns the value if it is one of the names, and otherwise raises an error with the nearest of them.

    Args:
        kind: what the value is, as the user calls it: ``policy``.
        value: what the user gave.
        names: the values allowed.
        also: what else is allowed, for the error message.
    """
    names = list(names)
    if value in names:
        return value
    nearest = get_close_matches(value.lower(), names, n=5, cutoff=0.4)
    # Letters are often swapped: sfj is sjf, though srf is as near.
    nearest.sort(key=lambda name: sorted(name) != sorted(value.lower()))
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    raise InputError(f"unknown {kind} {value!r}; {hint}The known ones are {', '.join(names)}{also}")
