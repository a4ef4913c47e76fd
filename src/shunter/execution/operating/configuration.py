"""The configuration of an operation: one TOML file, read again whenever it has changed."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from shunter.checks import NOTHING, TIME, check_fields, declared, from_table
from shunter.errors import InputError
from shunter.execution.operating.modes import MODES, Mode, mode_of
from shunter.execution.operating.site import Site
from shunter.files import read_toml

SITE_ORDER: Final = "site"
"""The fallback that is the scheduler's own order."""
OFF: Final = "off"
"""What a file may say of something that is never to be done."""
MAY_BE_OFF: Final = ("max_wait_s", "counterfactual_every_s", "eta_every_s")
"""The keys that may be so."""
LISTED: Final = 10
"""How many names are told to people."""
MOST_NUDGE: Final = 2_000_000_000
"""Slurm takes no site factor or nice value beyond some 2³¹."""


@dataclass(frozen=True)
class Configuration:
    """What an operation does. Times end in ``_s``."""

    policy: str = declared("fcfs", "Who orders the queue: a name, a TOML file, or the folder of a run.")
    mode: str = declared(
        "observe", "How far to go, at most as far as the command line allowed at the start.", choices=MODES
    )
    dispatch: str | None = declared(None, "What happens when the next job does not fit; none: as the policy has it.")
    estimate: str | None = declared(None, "The run time that the policy sees; none: as the policy has it.")
    history: str | None = declared(None, "A log of jobs that have ended (sacct, lsb.acct), from which estimates learn.")
    period_s: float = declared(30.0, "From one reading to the next.", low=0.1, high=86_400, metavar=TIME)
    deadline_s: float = declared(0.2, "How long a decision may take.", low=0.001, high=600, metavar=TIME)
    fallback: str = declared(
        SITE_ORDER, "Who decides when the policy cannot: 'site', the scheduler's own order, or a classic policy."
    )
    max_wait_s: float | None = declared(
        7 * 86_400.0, "A job that has waited so long goes before all others, whatever the policy says; 'off': none.",
        low=1.0, metavar=TIME,
    )  # fmt: skip
    most_failures: int = declared(3, "So many failures within the window open the breaker.", low=1, high=1000)
    failure_window_s: float = declared(600.0, "The window in which failures count.", low=1, metavar=TIME)
    probe_s: float = declared(60.0, "How long an open breaker waits before one attempt.", low=0.1, metavar=TIME)
    slow_s: float = declared(2.0, "A reading that takes longer makes the next come later.", low=0.01, metavar=TIME)
    most_period_s: float = declared(600.0, "The longest time between readings then.", low=0.1, metavar=TIME)
    timeout_s: float = declared(20.0, "How long one command may take.", low=0.1, high=600, metavar=TIME)
    programs: str = declared("", "The folder of the scheduler's programs; empty: the search path.")
    answers: str = declared(
        "auto", "How the programs are to answer; 'auto': as JSON where they can.", choices=("auto", "json", "text")
    )
    most_nudge: int = declared(100_000, "The largest nudge, up or down.", low=1, high=MOST_NUDGE)
    step: int = declared(100, "The room that is left between two jobs.", low=1, high=1_000_000)
    depth: int = declared(200, "How many jobs at the front of the queue are put in order.", low=1, high=100_000)
    changes_per_minute: int = declared(120, "How many changes are made in a minute.", low=1, high=100_000)
    canary_percent: float = declared(
        100.0, "The share of jobs that may be changed, drawn by their ids.", low=0, high=100
    )
    users: tuple[str, ...] = declared((), "Only jobs of these users are changed; empty: of all.")
    partitions: tuple[str, ...] = declared((), "Only jobs in these partitions are changed; empty: in all.")
    pin_s: float = declared(120.0, "How long a job stays bound to the nodes it was named.", low=1, metavar=TIME)
    most_pins: int = declared(20, "How many jobs are bound to nodes at a time.", low=1, high=100_000)
    brun_queues: tuple[str, ...] = declared(
        (), "LSF's queues whose jobs are started with brun in enforce, which passes over all limits."
    )
    site_policy: str = declared(
        "fcfs", "How the site itself orders its queue: a name, or the file of 'shunter trace cluster --policy-out'."
    )
    site_dispatch: str | None = declared(None, "The site's own dispatch rule; none: as its policy has it, or easy.")
    counterfactual_every_s: float | None = declared(
        3600.0, "So often it is simulated what the policy would have done; 'off': never.", low=1, metavar=TIME
    )
    counterfactual_stretch_s: float = declared(
        3600.0, "How long the same reading is simulated from; then a new one is.", low=1, high=7 * 86_400, metavar=TIME
    )
    eta_every_s: float | None = declared(
        600.0, "So often the starts of waiting jobs are predicted, to be scored; 'off': never.", low=1, metavar=TIME
    )
    audit_mb: float = declared(100.0, "A file of the audit is closed when it is this large.", low=0.001)
    audit_files: int = declared(10, "How many closed files of the audit are kept.", low=1, high=10_000)
    inputs_mb: float = declared(500.0, "How much of what was decided on is kept, for replays.", low=0)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.period_s > self.most_period_s:
            what = f"period_s is {self.period_s:g}, more than most_period_s ({self.most_period_s:g})"
            raise InputError(f"{what}; raise most_period_s")

    @property
    def words(self) -> dict[str, Any]:
        """The settings that name the policy."""
        given = {"policy": self.policy, "dispatch": self.dispatch, "estimate": self.estimate}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def site_words(self) -> dict[str, str]:
        """The settings that name the site's own policy."""
        dispatch = {} if self.site_dispatch is None else {"dispatch": self.site_dispatch}
        return {"policy": self.site_policy, **dispatch}

    @property
    def has_allow_list(self) -> bool:
        """Whether it says whose jobs may be changed."""
        return bool(self.users or self.partitions)


def read_configuration(file: Path | None, words: Mapping[str, Any]) -> Configuration:
    """Returns the configuration of a file; what it leaves out is as the command line says.

    Args:
        file: The TOML file; None: there is none.
        words: Fields that the command line names.

    Raises:
        InputError: The file cannot be read, a key is unknown, or a value is wrong.
    """
    if file is None:
        return replace(Configuration(), **words)
    table = read_toml(file)
    if file.stat().st_mode & stat.S_IWOTH:
        raise InputError(f"{file}: everybody may write it; take that right away: chmod o-w {file}")
    plain = {name: NOTHING if value is None else value for name, value in words.items()}
    # Never is no time at all.
    table = {name: NOTHING if name in MAY_BE_OFF and value == OFF else value for name, value in table.items()}
    return from_table(Configuration, {**plain, **table}, str(file))


class Configured:
    """The configuration of a running operation. A file that has become wrong changes nothing but a complaint."""

    def __init__(self, file: Path | None, words: Mapping[str, Any], ceiling: Mode) -> None:
        self._file = file
        self._words = words
        self.ceiling = ceiling
        """The mode that the command line allowed; no file raises it."""
        self.now = read_configuration(file, words)
        self.trouble = ""
        """Why the file as it is now is not followed."""
        self._stamp = self._look()
        check_enforcing(self.now, self.mode)

    @property
    def has_file(self) -> bool:
        """Whether there is a file, which alone names what the command line has no option for."""
        return self._file is not None

    @property
    def is_policy_of_file(self) -> bool:
        """Whether the file names the policy: what Python that would run is for the user to trust."""
        return self.now.policy != self._words.get("policy")

    @property
    def mode(self) -> Mode:
        """The mode that holds now."""
        return min(mode_of(self.now.mode), self.ceiling)

    @contextmanager
    def blamed(self, *keys: str) -> Iterator[None]:
        """Lets an error name the file and those of these keys that it has.

        Raises:
            InputError: With the file and the keys before it.
        """
        usual = Configuration()
        said = [key for key in keys if getattr(self.now, key) != self._words.get(key, getattr(usual, key))]
        try:
            yield
        except InputError as error:
            if self._file is None or not said:
                raise
            raise InputError(f"{self._file}: {' or '.join(said)}: {error}") from None

    def renew(self) -> bool:
        """Reads the file again if it has changed; returns whether the configuration is another one now."""
        stamp = self._look()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            found = read_configuration(self._file, self._words)
            check_enforcing(found, min(mode_of(found.mode), self.ceiling))
        except InputError as error:
            self.trouble = str(error)
            return False
        before, self.now, self.trouble = self.now, found, ""
        return found != before

    def _look(self) -> tuple[int, int, int] | None:
        try:
            about = self._file.stat() if self._file else None
        except OSError:
            return None
        return (about.st_mtime_ns, about.st_size, about.st_ino) if about else None


def unknown_names(site: Site, configuration: Configuration) -> list[str]:
    """Returns a line for each list of partitions or queues that has names which the site does not tell of."""
    known = {name for node in site.nodes for name in node.partitions} | set(site.tiers)
    known |= {name for job in site.jobs for name in job.partitions}
    lines = []
    for key in ("partitions", "brun_queues"):
        unknown = [name for name in getattr(configuration, key) if name not in known]
        if unknown:
            lines.append(
                f"{key} names {', '.join(map(repr, unknown))}, which the site does not have; it has {_few(known)}"
            )
    return lines


def _few(names: set[str]) -> str:
    """Returns the first of some names in a line."""
    found = sorted(names)
    return ", ".join(found[:LISTED]) + (", …" if len(found) > LISTED else "") or "none"


def check_enforcing(configuration: Configuration, mode: Mode) -> None:
    """Checks that jobs are named nodes only where somebody says whose.

    Raises:
        InputError: There is no allow-list.
    """
    if mode == Mode.ENFORCE and not configuration.has_allow_list:
        raise InputError("mode enforce needs an allow-list; name users = [...] or partitions = [...] in the file")
