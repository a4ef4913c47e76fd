"""What the files of a site tell, before a cluster and a policy are made of it, and what is not taken over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shunter.errors import InputError
from shunter.files import toml_value
from shunter.model.site import COUNT_LIMIT, NO_RULES, RUNNING, Limit, SiteRules

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.text.repairs import Repairs

_SHOWN: Final = 80
"""So much of a value is shown."""


class Told(NamedTuple):
    """A value, and where it stands."""

    place: int
    key: str
    """As the file spells it."""
    value: str


Record = dict[str, Told]
"""What is told of one thing, by keys in lower case."""


class LeftOut(NamedTuple):
    """What was read, and not taken over."""

    file: str
    line: int
    """Of the first, if there are several alike."""
    key: str
    value: str
    why: str
    """In a few words."""
    places: int
    """In how many places it is so, with values that may differ."""

    @property
    def text(self) -> str:
        """What a comment says of it."""
        more = f" (and {self.places - 1:,} more)" if self.places > 1 else ""
        text = f"{self.file}:{self.line}: {self.key} = {self.value}{more}: {self.why}"
        # TOML allows no other signs in a comment.
        return "".join(sign if sign.isprintable() else "?" for sign in text)

    def to_json(self) -> dict[str, str | int]:
        """Returns it as a plain object."""
        return self._asdict()


@dataclass(frozen=True)
class SitePolicy:
    """How a site orders its jobs: what a policy file says."""

    kind: str
    parameters: Mapping[str, float | bool] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    dispatch: str | None = None
    """What happens when a job does not fit; None: no file tells."""
    scan_depth: int | None = None

    @property
    def options(self) -> str:
        """The options of a command line that the policy's file cannot bring or should not hide."""
        words = [] if self.dispatch is None else ["--dispatch", self.dispatch]
        return " ".join([*words, *(["--scan-depth", str(self.scan_depth)] if self.scan_depth else [])])

    def to_toml(self, comments: Sequence[str] = ()) -> str:
        """Returns the text of a policy file."""
        lines = [*(f"# {comment}" for comment in comments), "[policy]", f"kind = {toml_value(self.kind)}"]
        lines += [f"{name} = {toml_value(value)}" for name, value in self.parameters.items()]
        for name, table in self.tables.items():
            if table:
                lines += ["", f"[policy.{name}]", *(f"{toml_value(key)} = {value!r}" for key, value in table.items())]
        if self.dispatch is not None:
            lines += ["", "[settings]", f"dispatch = {toml_value(self.dispatch)}"]
        return "\n".join(lines) + "\n"


class Assembled(NamedTuple):
    """What all files of a site come to."""

    nodes: Sequence[Node]
    rules: SiteRules = NO_RULES
    policy: SitePolicy | None = None


class Site:
    """What the files of one site tell, as text with places; readers fill it."""

    def __init__(self, repairs: Repairs) -> None:
        self.repairs = repairs
        self.settings: Record = {}
        """Lines of slurm.conf or lsb.params that hold for the whole site."""
        self.partitions: dict[str, Record] = {}
        """Partitions of Slurm, queues of LSF."""
        self.node_sets: dict[str, Record] = {}
        self.qos: dict[str, Record] = {}
        self.associations: list[Record] = []
        self.reservations: list[Record] = []
        self.licenses: dict[str, Told] = {}
        self.host_groups: dict[str, Told] = {}
        self.user_groups: dict[str, Told] = {}
        self.slots: dict[str, Told] = {}
        """The slots of hosts, by names and wildcards, in the order of the file."""
        self._left: dict[tuple[str, str, str], LeftOut] = {}
        self._seen: set[tuple[Told, str]] = set()

    @property
    def left(self) -> tuple[LeftOut, ...]:
        """What was not taken over, in the order in which it was found."""
        return tuple(self._left.values())

    def leave(self, told: Told, why: str, key: str | None = None) -> None:
        """Notes that something is not taken over, with its place; what is alike in a file is told once."""
        # The QOS of a partition is gone through for its partition as well.
        if (told, why) in self._seen:
            return
        self._seen.add((told, why))
        file, _, line = self.repairs.locate(told.place).rpartition(":")
        name = file.rpartition("/")[2]
        entry = LeftOut(name, int(line), key or told.key, told.value[:_SHOWN], why, 1)
        same = self._left.setdefault((file, entry.key, why), entry)
        if same is not entry:
            self._left[file, entry.key, why] = same._replace(places=same.places + 1)

    def wrong(self, told: Told, expected: str) -> InputError:
        """Returns the error for a value that makes no sense."""
        where = self.repairs.locate(told.place)
        return InputError(f"{where}: {told.key} is {told.value[:_SHOWN]!r}; expected {expected}")

    def name_of(self, told: Told) -> str:
        """Returns the name of a partition or queue.

        Raises:
            InputError: It is blank: no cluster file could name it.
        """
        if not told.value.strip():
            raise self.wrong(told, "a name")
        return told.value

    def where(self, record: Record) -> str:
        """Returns where a record begins, for errors of its rules."""
        return self.repairs.locate(next(iter(record.values())).place)

    def count(self, told: Told, unlimited: Sequence[str] = ()) -> int | None:
        """Returns a whole number, or None for one of the words that bound nothing.

        Raises:
            InputError: It is neither.
        """
        text = told.value.strip().lower()
        if text in unlimited:
            return None
        if not (text.isascii() and text.isdigit()) or int(text[:20]) > COUNT_LIMIT:
            raise self.wrong(told, f"a whole number from 0 to {COUNT_LIMIT}")
        return int(text)


def limit(where: str, bounds: Mapping[str, float | None], **filters: tuple[str, ...]) -> list[Limit]:
    """Returns a limit with these bounds, or none if nothing is bounded.

    Args:
        where: What errors call it.
        bounds: By the names of `Limit`; None does not bind.
        **filters: Whose jobs, and for whom it counts separately.
    """
    given = {name: value for name, value in bounds.items() if value is not None}
    # Nobody may submit: then nobody can run either, which a limit can say.
    if given.get("queued_jobs") == 0:
        del given["queued_jobs"]
        given["running_jobs"] = 0
    for running in RUNNING[:3]:
        # What is bounded while it waits is bounded while it runs.
        queued = given.get(running.replace("running", "queued"))
        if queued is not None and running in given:
            given[running] = min(given[running], queued)
    # Only a time may be a share of one.
    counts: dict[str, Any] = {name: value if name == "max_time_s" else int(value) for name, value in given.items()}
    return [Limit(**filters, **counts, where=where)] if given else []  # type: ignore[arg-type]
