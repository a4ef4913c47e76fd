"""LSF's hosts: what ``lshosts``, ``bhosts`` and their ``-gpu`` print, as text or JSON, joined by the names of hosts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shunter.errors import InputError
from shunter.model.cluster import Node
from shunter.workloads.text.json_text import read_elements
from shunter.workloads.text.published import MB_OF_UNIT

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

_HOST: Final = "host_name"
_REST: Final = "resources"
"""The last column of lshosts, which holds blanks."""
_KINDS: Final = {
    "lshosts": {_HOST, "ncpus", "maxmem", "server"},
    "bhosts": {_HOST, "status", "max", "njobs"},
    "gpus": {_HOST, "gpu_id"},
}
"""The columns by which each list is known."""
_SAME: Final = {"id": "gpu_id", "gpu_model": "model"}
_JSON: Final = re.compile(rb'\s*\{\s*"COMMAND"\s*:\s*"(?:bhosts|lshosts)"')
_RECORDS: Final = "RECORDS"
_SIZE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGTP]?)B?", re.IGNORECASE)


@dataclass
class _Host:
    """What the lists say of a host."""

    place: int
    cores: float | None = None
    slots: float | None = None
    memory_mb: int | None = None
    gpus: int = 0
    gpu_type: str | None = None
    is_client: bool = False
    lists: set[str] = field(default_factory=set)
    """The kinds of lists that have it."""


def recognizes(source: Source) -> bool:
    """Returns whether the first line has the columns of one of the lists, or the file is their JSON."""
    return _JSON.match(source.head) is not None or _kind(_header(source)) is not None


def read(sources: Sequence[Source], repairs: Repairs) -> Sequence[Node]:
    """Returns the hosts that run jobs, in the order of the first list.

    A host has as many cores as bhosts has slots for it, or as lshosts counts where bhosts is not given or has no limit.

    Raises:
        InputError: A file is none of the lists, or they have no host in common.
    """
    lists = [_List(source, repairs) for source in sources]
    # lshosts before the others, so that nodes are in its order.
    lists.sort(key=lambda one: list(_KINDS).index(one.kind))
    hosts: dict[str, _Host] = {}
    for one in lists:
        one.note(hosts)
    kinds = {one.kind for one in lists}
    if kinds == {"gpus"}:
        raise InputError(f"{sources[0].where}: tells GPUs but no cores; give what lshosts or bhosts prints as well")
    both = {"lshosts", "bhosts"}
    if both <= kinds and not any(both <= host.lists for host in hosts.values()):
        raise InputError(f"{sources[0].where}: lshosts and bhosts have no host in common; print both with -w")
    return list(_nodes(hosts, repairs, "bhosts" in kinds))


class _List:
    """One of the lists."""

    def __init__(self, source: Source, repairs: Repairs) -> None:
        self._source = source
        self._repairs = repairs
        self._is_json = _JSON.match(source.head) is not None
        self._header = _header(source)
        if self._is_json:
            _, first = next(read_elements(source, _RECORDS), (0, {}))
            self._header = [_column(name) for name in first]
        kind = _kind(self._header)
        if kind is None:
            raise InputError(f"{source.where}: is none of LSF's lists; expected what lshosts or bhosts prints")
        self.kind = kind

    def note(self, hosts: dict[str, _Host]) -> None:
        """Notes what the list says of each host."""
        times: Counter[str] = Counter()
        for line, row in self._json_rows() if self._is_json else self._text_rows():
            place = self._repairs.place(self._source, line)
            name = row[_HOST]
            times[name] += 1
            if self.kind != "gpus" and times[name] > 1:
                rule = "name cut short, or that of an earlier host: numbered anew; print the list with -w"
                self._repairs.skip(place, f"{_HOST} {name}", rule)
                # Without -w LSF cuts names to a width, and then several hosts may have one name.
                name = f"{name}#{times[name]}"
            host = hosts.setdefault(name, _Host(place))
            host.lists.add(self.kind)
            _note_row(host, self.kind, row)

    def _json_rows(self) -> Iterator[tuple[int, dict[str, str]]]:
        for line, element in read_elements(self._source, _RECORDS):
            row = {_column(name): str(value) for name, value in element.items()}
            if all(name in row for name in _KINDS[self.kind]):
                yield line, row
            else:
                self._skip(line, f"the record has no {', '.join(sorted(_KINDS[self.kind] - set(row)))}")

    def _text_rows(self) -> Iterator[tuple[int, dict[str, str]]]:
        columns = [name for name in self._header if name != _REST]
        host = ""
        for number, line in self._source.lines():
            cells = line.split()
            if not cells or _column(cells[0]) == _HOST:
                continue
            # The further GPUs of a host stand in lines that do not repeat its name.
            if self.kind == "gpus" and line[0].isspace() and len(cells) == len(columns) - 1 and host:
                cells.insert(0, host)
            if len(cells) < len(columns):
                self._skip(number, f"the line has {len(cells)} fields, the header {len(columns)}")
                continue
            host = cells[0]
            yield number, dict(zip(columns, cells, strict=False))

    def _skip(self, line: int, what: str) -> None:
        self._repairs.skip(self._repairs.place(self._source, line), what)


def _note_row(host: _Host, kind: str, row: dict[str, str]) -> None:
    if kind == "gpus":
        host.gpus += 1
        host.gpu_type = host.gpu_type or _told(row.get("model"))
    elif kind == "bhosts":
        host.slots = _number(row["max"])
    else:
        host.cores, host.memory_mb = _number(row["ncpus"]), _memory_mb(row["maxmem"])
        host.is_client = row["server"].lower() == "no"


def _nodes(hosts: dict[str, _Host], repairs: Repairs, has_bhosts: bool) -> Iterator[Node]:
    for name, host in hosts.items():
        if host.is_client:
            repairs.tell("client, which runs no jobs: left out", 1, host.place, f"{_HOST} {name}")
        # bhosts lists the hosts of the batch system, lshosts all that LSF knows.
        elif has_bhosts and "bhosts" not in host.lists:
            repairs.tell("not in bhosts, so that it runs no jobs: left out", 1, host.place, f"{_HOST} {name}")
        else:
            # Slots are what LSF hands out; a host may have more of them than cores, or fewer.
            cores = host.cores if host.slots is None else host.slots
            if cores:
                yield Node(name, cores, host.memory_mb, host.gpus, host.gpu_type)
            else:
                repairs.skip(host.place, f"{_HOST} {name}", "neither processors nor slots told, or none: host left out")


def _header(source: Source) -> list[str]:
    return [_column(name) for name in source.head_lines[0].split()] if source.head_lines else []


def _column(name: str) -> str:
    return _SAME.get(name.lower(), name.lower())


def _kind(columns: Sequence[str]) -> str | None:
    return next((kind for kind, needed in _KINDS.items() if needed <= set(columns)), None)


def _number(text: str) -> float | None:
    """Returns a number of processors or slots; None for the ``-`` of what is unknown or has no limit."""
    return float(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _memory_mb(text: str) -> int | None:
    size = _SIZE.fullmatch(text)
    return int(float(size.group(1)) * MB_OF_UNIT[size.group(2).upper()]) or None if size else None


def _told(text: str | None) -> str | None:
    return text if text and text != "-" else None
