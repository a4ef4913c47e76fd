"""The values in PBS's records: how PBS writes sizes, times and hosts, and what a job has in all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from shunter.workloads.text.durations import limit_s
from shunter.workloads.text.records import number_of, tasks_of

T = TypeVar("T")

_TOKEN: Final = re.compile(r'(?:[^\s"]|"[^"]*")+')
_SLOTS: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9})|\*(\d{1,9}))?", re.ASCII)
_SIZE: Final = re.compile(r"(\d{1,18}(?:\.\d*)?)([kmgtp]?)([bw]?)", re.IGNORECASE | re.ASCII)
_BYTES_PER_WORD: Final = 8
_GPU_KEYS: Final = ("ngpus", "gpus", "gpu")
_REQUESTS: Final = ("Resource_List.select", "Resource_List.nodes", "Resource_List.neednodes", "Resource_List.nodect")
"""The keys whose values list chunks of nodes; some sites write chunks where the number of nodes belongs."""
_NAMING: Final = _REQUESTS[1:3]
"""The keys of Torque, whose chunks may name nodes."""
_VNODE: Final = re.compile(r"(?<=[(+])[^:+()]+|[()]")
"""Names of vnodes, which may be numbers, and the brackets around them."""


class Chunks(NamedTuple):
    """What a request for nodes adds up to: ``4:ppn=8:gpus=1+2:ppn=4``, or ``2:ncpus=16:ngpus=1:mem=4gb``."""

    nodes: int = 0
    cores: int = 0
    gpus: int = 0
    memory_mb: float | None = None
    is_even: bool = False


class Size(NamedTuple):
    """What a job has on all of its nodes."""

    nodes: int
    cores: int
    gpus: int
    memory_mb: float | None
    is_even: bool
    hosts: Mapping[str, int]
    """Cores by host; empty if they are not known."""

    @property
    def tasks(self) -> int:
        """Into how many tasks it is divided; 0 if the size is not known."""
        return tasks_of(self.nodes, self.cores, self.gpus, is_even=self.is_even)


class Said:
    """What a record says of a job, by key; the first of equal keys counts."""

    def __init__(self, text: str) -> None:
        quotes = text.count('"')
        # Quotes are rare, and cutting at blanks is quick. A quote that is not closed is an ordinary character.
        tokens = _TOKEN.findall(text) if quotes and quotes % 2 == 0 else text.split()
        self._pairs: dict[str, str] = {}
        for token in tokens:
            key, sign, value = token.partition("=")
            if sign and value:
                self._pairs.setdefault(key, value.strip('"'))
        self.odd: list[str] = []
        """The values that are not what PBS writes, with their keys."""

    def text(self, key: str) -> str | None:
        """Returns a value as it is written."""
        return self._pairs.get(key)

    def time(self, *keys: str) -> float | None:
        """Returns the number of the first key that is there."""
        return next((number_of(self._pairs[key], key) for key in keys if key in self._pairs), None)

    def whole(self, key: str) -> int:
        """Returns a whole number; 0 if the record does not have it."""
        return self._parsed(key, _whole) or 0

    def limit(self, key: str) -> float | None:
        """Returns a time in seconds."""
        return self._parsed(key, limit_s)

    def memory(self, key: str) -> float | None:
        """Returns an amount in MB; None if the record does not have it."""
        return self._parsed(key, memory_mb) or None

    def size(self) -> Size:
        """Returns what the job was given; if the record does not tell that, what it asked for."""
        wide = self.whole("Resource_List.mppwidth") * (self.whole("Resource_List.mppdepth") or 1)
        if wide:
            # On a Cray the host is that of the script; the processing elements run elsewhere.
            return Size(0, wide, 0, self.memory("Resource_List.mem"), is_even=False, hosts={})
        asked = self._asked()
        hosts = self._parsed("exec_host", exec_hosts) or {}
        # A job may have memory on a vnode, and no cores.
        given = sum_chunks(_VNODE.sub("node", self._pairs.get("exec_vnode", "")), least_cores=0) or Chunks()
        listed, ncpus, nodect = sum(hosts.values()), self.whole("Resource_List.ncpus"), self._nodect()
        # The larger number counts: Torque lists one slot for a job that asks for eight CPUs in another way.
        cores = max(listed or given.cores, asked.cores, ncpus) or self.whole("resources_used.ncpus")
        # If the record tells only CPUs, they are on one node.
        nodes = len(hosts) or nodect or asked.nodes or int(ncpus > 0)
        memory = self.memory("Resource_List.mem") or asked.memory_mb
        if memory is None and (each_mb := self.memory("Resource_List.pmem")) is not None:
            memory = each_mb * cores
        gpus = self._gpus(given, asked)
        is_alike = len(set(hosts.values())) == 1 if listed == cores else asked.is_even or nodes == 1
        is_even = is_alike and nodes > 0 and cores % nodes == 0 and gpus % nodes == 0
        # If the cores do not add up, it is unknown how many each host gave.
        return Size(nodes, cores, gpus, memory, is_even, hosts if listed == cores else {})

    def _asked(self) -> Chunks:
        key = next((key for key in _REQUESTS if key in self._pairs), "")
        return self._parsed(key, lambda text: sum_chunks(text, may_name=key in _NAMING)) or Chunks()

    def _nodect(self) -> int:
        # Some sites write chunks there.
        return 0 if ":" in self._pairs.get("Resource_List.nodect", "") else self.whole("Resource_List.nodect")

    def _gpus(self, given: Chunks, asked: Chunks) -> int:
        listed = self._pairs.get("exec_gpus")
        told = len(listed.split("+")) if listed else given.gpus or asked.gpus
        return told or max(self.whole(f"Resource_List.{key}") for key in _GPU_KEYS)

    def _parsed(self, key: str, parse: Callable[[str], T | None]) -> T | None:
        """Returns what a value means; a value that cannot be read is noted and taken as unknown."""
        if key not in self._pairs:
            return None
        value = parse(self._pairs[key])
        if value is None:
            self.odd.append(f"{key} {self._pairs[key][:40]}")
        return value


def _whole(text: str) -> int | None:
    """Returns a whole number; None if the text is something else."""
    return int(text) if _is_whole(text) and len(text) < 10 else None


def _is_whole(text: str) -> bool:
    # Python also reads digits of other scripts, which PBS never writes.
    return text.isascii() and text.isdecimal()


@lru_cache(1 << 14)
def sum_chunks(text: str, least_cores: int = 1, *, may_name: bool = True) -> Chunks | None:
    """Returns what a list of chunks adds up to, or None if it is no such list.

    Args:
        text: The chunks: each is a number of nodes (or a name), and what each of these nodes gives.
        least_cores: How many cores a node gives if the text does not say.
        may_name: Whether a chunk may begin with the name of a node.
    """
    chunks = [_chunk(chunk, least_cores, may_name=may_name) for chunk in text.split("+")] if text else []
    known = [chunk for chunk in chunks if chunk is not None]
    if len(known) < len(chunks):
        return None
    # If a chunk does not tell its memory, the sum is unknown.
    told_mb = [chunk.memory_mb for chunk in known if chunk.memory_mb is not None]
    return Chunks(
        sum(chunk.nodes for chunk in known),
        sum(chunk.cores for chunk in known),
        sum(chunk.gpus for chunk in known),
        sum(told_mb) if told_mb and len(told_mb) == len(known) else None,
        len({(chunk.cores / chunk.nodes, chunk.gpus / chunk.nodes) for chunk in known}) == 1,
    )


def _chunk(text: str, least_cores: int, *, may_name: bool) -> Chunks | None:
    first, *rest = text.split(":")
    parts = dict(part.partition("=")[::2] for part in (first, *rest) if "=" in part)
    count = _whole(first) if _is_whole(first) else 1 if may_name or "=" in first else None
    cores = _whole(parts.get("ppn") or parts.get("ncpus") or str(least_cores))
    gpus = _whole(next((parts[key] for key in _GPU_KEYS if key in parts), "0"))
    size = parts.get("mem") or parts.get("reqmem")
    each_mb = None if size is None else memory_mb(size)
    # A part without "=" is a property of nodes, and these are words.
    if any(_is_whole(part) for part in rest):
        return None
    if not count or cores is None or gpus is None or (size is not None and each_mb is None):
        return None
    return Chunks(count, count * cores, count * gpus, count * each_mb if each_mb else None)


@lru_cache(1 << 14)
def exec_hosts(text: str) -> Mapping[str, int] | None:
    """Returns the cores by host of ``n1/0+n1/1``, ``n1/0-7+n2/0-7`` or ``n1/0*8``; None if it is something else."""
    cores: Counter[str] = Counter()
    for part in text.split("+"):
        host, slash, slots = part.partition("/")
        for slot in slots.split(","):
            match = _SLOTS.fullmatch(slot) if slash else None
            if not host or match is None:
                return None
            first, last, times = match.groups()
            cores[host] += int(times) if times is not None else int(last) - int(first) + 1 if last else 1
    # Some sites hide the number of cores.
    return cores if all(count > 0 for count in cores.values()) else {}


@lru_cache(1 << 14)
def memory_mb(text: str) -> float | None:
    """Returns ``4gb``, ``1993mb`` or a number of bytes in MB; None if the text is something else."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    amount, unit, kind = match.groups()
    power = " kmgtp".index(unit.lower() or " ")
    each = 1024.0**power * (_BYTES_PER_WORD if kind.lower() == "w" else 1)
    return float(amount) * each / 2**20
