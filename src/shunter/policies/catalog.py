"""Every policy, dispatch rule, placement and estimate that has a name, with what is known of it.

To add a policy that the core runs, add an entry here, its score in the core (``order/``), and its formula in
``docs/policies.md``. In the descriptions r is the estimated run time, n the size, s the submit time and w the wait.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from shunter.native import core_numbers

# The names are ours, and the numbers are the core's: they come with the compiled library.
_CODES, _RULES = core_numbers("Policy"), core_numbers("Dispatch")
_PLACEMENTS, _ESTIMATES, _PAIR_RULES = (core_numbers(name) for name in ("Placement", "Estimate", "Pairs"))

WEEK_S: Final = 604_800.0
INFINITE: Final = float("inf")
MOST_RESERVATIONS: Final = 2**32 - 1
"""As a number of reservations: every waiting job holds one."""


@dataclass(frozen=True)
class KnownPolicy:
    """What is known of a policy that the core runs."""

    words: str
    """One line for the help."""
    code: int
    """The core's number."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """What stands behind its name, as in ``hybrid?aging=0.5``, with the defaults."""
    tables: tuple[str, ...] = ()
    """The tables of names and numbers that its file may have."""
    dispatch: str | None = None
    """The only dispatch rule that it goes with; None: any, and easy by default."""
    why: str = ""
    """Why it goes with that rule alone, to follow its name in an error."""
    placement: str | None = None
    """The only placement that it goes with; None: any, and first-fit by default."""
    estimate: str = "requested"
    """The estimate that it uses unless another is named."""
    preempts: bool = False
    """Whether it stops running jobs."""
    parameters_together: bool = False
    """Whether its parameters have their defaults only once one of them is given: without any it works otherwise."""


_STOPS: Final = "starts whatever fits, and stops others for it"
# The defaults weigh what every log tells; partitions, queues and priorities count once a file gives them weights.
_MULTIFACTOR: Final = {
    "age": 1000.0,
    "size": 1000.0,
    "fair_share": 1000.0,
    "partition": 0.0,
    "qos": 0.0,
    "priority": 0.0,
    "max_age_s": WEEK_S,
    "half_life_s": WEEK_S,
    "favor_small": 0.0,
}
ORIGINS: Final = {"log": 0.0, "absolute": 1.0}
"""From when f1 to f4 count how late a job comes, by the word that stands behind their names: ``f2?origin=absolute``."""
OUTLIVED: Final = {"ends": 0.0, "doubles": 1.0}
"""What an estimate counts for that a job has outlived, by the word behind the name: ``srtf?outlived=ends``."""
WORDS: Final = {"origin": ORIGINS, "outlived": OUTLIVED}
"""The parameters that are words, with the number that stands for each."""
_SINCE: Final = {"origin": ORIGINS["log"]}
# With these weights it is sjf, and nobody is kept from a reservation or held back: tuning begins at a score that is
# good on every log.
_LINEAR: Final = {
    "estimate": 1.0,
    "size": 0.0,
    "wait": 0.0,
    "wait_ratio": 0.0,
    "free_estimate": 0.0,
    "free_size": 0.0,
    "queue_estimate": 0.0,
    "queue_size": 0.0,
    "reserve_below": INFINITE,
    "hold_share": 0.0,
    "hold_from_s": 3600.0,
    "hold_patience_s": INFINITE,
}
# The order of the core's own parameters. Without prices it is sjf on the type where each job is fastest, and nothing is
# refused; with them a job refuses types that cost it more than 1.2 times its cheapest.
_PAIRS: Final = {
    "estimate": 1.0,
    "slower": 0.0,
    "size": 0.0,
    "wait": 0.0,
    "wait_ratio": 0.0,
    "free": 0.0,
    "apart": 0.0,
    "price": 0.0,
    "lost_slower": 0.0,
    "lost_apart": 0.0,
    "lost_price": 1.0,
    "accept": math.log(1.2),
    "accept_estimate": 0.0,
    "accept_size": 0.0,
    "accept_wait": 0.0,
    "accept_free": 0.0,
    "accept_queue": 0.0,
}
# The order of the core's own parameters.
_GITTINS: Final = {
    "bins": 12.0,
    "shortest_s": 30.0,
    "growth": 3.0,
    "decay": 0.98,
    "common_decay": 0.999,
    "shrinkage": 4.0,
}
GIVEN: Final = _CODES["given"]
"""The core's number for a policy whose scores are handed over with the jobs."""

KNOWN_POLICIES: Final[dict[str, KnownPolicy]] = {
    "fcfs": KnownPolicy("first come, first served", _CODES["fcfs"]),
    "fifo": KnownPolicy("the same as fcfs", _CODES["fcfs"]),
    "lcfs": KnownPolicy("last come, first served", _CODES["lcfs"]),
    "sjf": KnownPolicy("shortest estimated run time first", _CODES["sjf"]),
    "ljf": KnownPolicy("longest estimated run time first", _CODES["ljf"]),
    "smallest": KnownPolicy("smallest size first: fewest cores or GPUs", _CODES["smallest"]),
    "largest": KnownPolicy("largest size first", _CODES["largest"]),
    "saf": KnownPolicy("smallest area first: r·n", _CODES["saf"]),
    "laf": KnownPolicy("largest area first", _CODES["laf"]),
    "srf": KnownPolicy("smallest ratio first: r/n", _CODES["srf"]),
    "lrf": KnownPolicy("largest ratio first", _CODES["lrf"]),
    "sexp": KnownPolicy("smallest expansion factor first: (w + r)/r", _CODES["sexp"]),
    "lexp": KnownPolicy("largest expansion factor first", _CODES["lexp"]),
    "f1": KnownPolicy("log10(r)·n + 870·log10(s), fitted by Carastan-Santos and de Camargo", _CODES["f1"], _SINCE),
    "f2": KnownPolicy("√r·n + 25600·log10(s), of the same family", _CODES["f2"], _SINCE),
    "f3": KnownPolicy("r·n + 6860000·log10(s), of the same family", _CODES["f3"], _SINCE),
    "f4": KnownPolicy("r·√n + 530000·log10(s), of the same family", _CODES["f4"], _SINCE),
    "wfp3": KnownPolicy("highest (w/r)³·n first, of Tang and others", _CODES["wfp3"]),
    "unicef": KnownPolicy("highest w/(log2(n)·r) first, of the same authors", _CODES["unicef"]),
    "hybrid": KnownPolicy("sjf with aging: r + aging·s", _CODES["hybrid"], {"aging": 1.0}),
    "priority": KnownPolicy("the log's own priorities, the highest first", GIVEN),
    "fair-share": KnownPolicy(
        "the user who has used least first, old use fading", _CODES["fair-share"], {"half_life_s": WEEK_S}, ("shares",)
    ),
    "multifactor": KnownPolicy(
        "Slurm's weighted sum: age, size, fair share, partition, QOS",
        _CODES["multifactor"],
        _MULTIFACTOR,
        ("partitions", "queues", "shares"),
    ),
    "linear": KnownPolicy("a weighted sum that 'shunter tune' fits to a log", _CODES["linear"], _LINEAR),
    "pairs": KnownPolicy(
        "a weighted sum over jobs and types of GPUs that may refuse a type; 'shunter tune' fits it to a log",
        _CODES["pairs"],
        _PAIRS,
    ),
    "random": KnownPolicy("a random order, drawn once from the seed", _CODES["random"]),
    "random-feasible": KnownPolicy(
        "any job that fits, drawn anew each time; never waits (implies greedy)",
        _CODES["random-feasible"],
        dispatch="greedy",
        why="never waits",
    ),
    "first-available": KnownPolicy(
        "fcfs on the first nodes with room (implies first-fit)", _CODES["fcfs"], placement="first-fit"
    ),
    "qssf": KnownPolicy(
        "smallest service first: r·n, with r from history unless an estimate is named",
        _CODES["qssf"],
        estimate="history",
    ),
    # Policies that stop jobs have a pass of their own, in which nothing is reserved.
    "srtf": KnownPolicy(
        "shortest remaining time first; stops jobs that have more left (implies greedy)",
        _CODES["srtf"],
        {"outlived": OUTLIVED["doubles"]},
        dispatch="greedy",
        why=_STOPS,
        preempts=True,
    ),
    "las": KnownPolicy(
        "least attained service (time × n) first; stops jobs that have had more (implies greedy)",
        _CODES["las"],
        {"first_s": 3600.0, "second_s": 36_000.0},
        dispatch="greedy",
        why=_STOPS,
        preempts=True,
        parameters_together=True,
    ),
    "srsf": KnownPolicy(
        "shortest remaining service first: what is left times n; stops jobs that have more left (implies greedy)",
        _CODES["srsf"],
        dispatch="greedy",
        why=_STOPS,
        preempts=True,
    ),
    "gittins": KnownPolicy(
        "most likely to end soon per n first, by run times of jobs like it; stops the others (implies greedy)",
        _CODES["gittins"],
        _GITTINS,
        dispatch="greedy",
        why=_STOPS,
        preempts=True,
    ),
}
SYNONYMS: Final = {
    **dict.fromkeys(("backfill", "backfilling", "easy-backfill", "easy-backfilling", "sched/backfill"), "easy"),
    **dict.fromkeys(("conservative-backfill", "conservative-backfilling"), "conservative"),
    **dict.fromkeys(("no-backfill", "builtin", "sched/builtin"), "strict"),
    "first-come-first-served": "fcfs",
    **dict.fromkeys(("shortest", "shortest-job-first", "shortest-first", "spt", "spf"), "sjf"),
    **dict.fromkeys(("longest", "longest-job-first", "lpt"), "ljf"),
    **dict.fromkeys(("fairshare", "fair"), "fair-share"),
    **dict.fromkeys(("slurm", "priority/multifactor"), "multifactor"),
    **dict.fromkeys(("tiresias", "least-attained-service"), "las"),
    **dict.fromkeys(("srpt", "shortest-remaining-time"), "srtf"),
    "shortest-remaining-service": "srsf",
    "gittins-index": "gittins",
    **dict.fromkeys(("oracle", "actual", "clairvoyant"), "perfect"),
    **dict.fromkeys(("walltime", "timelimit", "request"), "requested"),
}
"""What the field calls some of these things otherwise: suggested in errors, but not taken."""

WITH_ORIGIN: Final = tuple(name for name, known in KNOWN_POLICIES.items() if "origin" in known.parameters)
"""Policies that count how late a job comes."""
OF_BEFORE: Final = {"las": "las?first_s=3600&second_s=36000", "srtf": "srtf?outlived=ends"}
"""What names alone meant before `las` had no levels and an outlived estimate doubled."""
POLICIES: Final[dict[str, str]] = {name: known.words for name, known in KNOWN_POLICIES.items()}
"""The order in which waiting jobs are considered, by name, with one line each."""

BLIND: Final = (
    "fcfs",
    "fifo",
    "lcfs",
    "smallest",
    "largest",
    "priority",
    "fair-share",
    "multifactor",
    "random",
    "random-feasible",
    "first-available",
    "las",
    "gittins",
)
"""Policies whose order does not look at how long a job will run."""
RENAMED_PARAMETERS: Final = {"linear": {"cores": "size", "free_cores": "free_size", "queue_cores": "queue_size"}}
"""Parameters of policies that had another name, and counted cores alone, in earlier versions."""
POSITIVE: Final = ("half_life_s", "max_age_s", "hold_from_s", "first_s")
"""The parameters of policies that must be above 0."""
RANGES: Final = {
    "bins": (2.0, 64.0),
    "shortest_s": (0.001, 1e9),
    "growth": (1.1, 1e9),
    "decay": (0.0, 1.0),
    "common_decay": (0.0, 1.0),
    "shrinkage": (1e-6, 1e9),
}
"""The least and the most of the parameters of policies that have both."""
MAY_BE_INFINITE: Final = ("reserve_below", "hold_patience_s", "second_s")
"""The parameters of policies that may be infinite: a bound that never binds."""

DISPATCHES: Final[dict[str, str]] = {
    "strict": "the first job that does not fit blocks all behind it",
    "greedy": "every job that fits starts, in order",
    "easy": "the first job that does not fit holds a reservation; others may pass if they do not delay it",
    "conservative": "every waiting job holds a reservation that nobody behind it can delay",
    "committed": "the chosen job is committed; the clock moves until it fits (RLScheduler's rule)",
    "committed-backfill": "committed, with jobs that end before its earliest start filled in",
}
"""What happens when the next job does not fit. A number k means that k jobs hold reservations."""
RESERVING: Final = _RULES["reserve"]
"""The core's number for the rule with any number of reservations."""
DISPATCH_CODES: Final = {
    "strict": (_RULES["strict"], 0),
    "greedy": (RESERVING, 0),
    "easy": (RESERVING, 1),
    "conservative": (RESERVING, MOST_RESERVATIONS),
    "committed": (_RULES["committed"], 0),
    "committed-backfill": (_RULES["committed-backfill"], 0),
}
"""The core's numbers for dispatch rules, and how many jobs hold reservations."""

PICK_JOB: Final = "pick-job"
PICK_JOB_AND_TYPE: Final = "pick-job-and-type"
PICK_HOST: Final = "pick-host"
"""What a learned policy decides: which job starts next, which one on which type of GPU, or the first one's host."""
CHOOSING_JOBS: Final = (PICK_JOB, PICK_JOB_AND_TYPE)
"""The kinds of decision by which jobs start, and which are therefore policies."""

PICK_JOB_MODES: Final = {
    "reserve": "easy",
    "feasible": "greedy",
    "committed": "committed",
    "committed-backfill": "committed-backfill",
}
"""The modes in which a learned policy picks jobs, in the order of the core's numbers, with the rule each is like."""

PLACEMENTS: Final[dict[str, str]] = {
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
"""The nodes that a job gets, by name; the last ones live in Python."""
PYTHON_PLACEMENTS: Final = ("milp", "milp-full")
"""Placements whose rule is written in Python, and which take parameters: ``milp?alpha=2``."""
EXTERNAL: Final = _PLACEMENTS["external"]
"""The core's number for a placement that lives in Python."""
LEARNED: Final = _PLACEMENTS["learned"]
"""The core's number for a placement by a learned policy."""
PLACEMENT_CODES: Final = {
    # The core has a shorter name for one of them.
    name: _PLACEMENTS["slowest" if name == "slowest-that-fits" else name]
    for name in PLACEMENTS
    if name not in PYTHON_PLACEMENTS
}
"""The core's numbers for placements."""

PAIRS: Final[dict[str, str]] = {
    "any": "any type of GPU that the placement gives it",
    "price": "types alone whose price, for as long as it runs there, is within a factor of its cheapest",
    "eft": "the type on which it ends first (earliest finish time), though it has to wait for it",
    "score": "as policy 'pairs' scores it, with prices for its score alone; with other policies the same as any",
}
"""Which types of GPUs a job takes, by name."""
# Prices beside a score are handed over as prices: the policy says that they are not kept to.
PAIR_CODES: Final = {name: _PAIR_RULES["price" if name == "score" else name] for name in PAIRS}
"""The core's numbers for them."""

ESTIMATES: Final[dict[str, str]] = {
    "requested": "the run time that the user asked for",
    "perfect": "the true run time",
    "noisy": "the true run time with noise: noisy?sigma=1",
    "last-two": "the mean of the user's last two jobs that have ended, otherwise the request",
    "posterior": "what the jobs that have ended say of those like them",
    "history": "the mean run time of the user's ended jobs of the same size, or else of those nearest to them",
}
"""The run time that a policy may see, by name."""
ESTIMATE_CODES: Final = {name: _ESTIMATES[name] for name in ESTIMATES}
"""The core's numbers for estimates."""
ESTIMATE_PARAMETERS: Final[dict[str, dict[str, float]]] = {
    "noisy": {"sigma": 1.0},
    "posterior": {
        "user_decay": 0.98,
        "decay": 0.6,
        "user_strength": 8.0,
        "request_strength": 2.0,
        "size_strength": 2.0,
    },
}
"""The parameters of the estimates that have some, with their defaults."""
LEARNED_ESTIMATES: Final = ("last-two", "posterior", "history")
"""Estimates that change as jobs end."""
