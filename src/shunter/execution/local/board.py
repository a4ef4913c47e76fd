"""The queue in memory: who may start, who waits for whom, and which groups are paused or full.

Nothing here grows dearer with the length of the queue: a job is found by its id, and those that may start are looked up
lane by lane. A lane holds jobs of one priority that share one limit.
"""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from shunter.execution.view import SeenJob

NO_LIMIT: Final = 10**9


@dataclass(slots=True)
class Entry:
    """A job that is not over."""

    seen: SeenJob
    group: str
    array_id: int | None = None
    array_limit: int | None = None
    state: str = "queued"
    needs: set[int] = field(default_factory=set)
    """The jobs that it waits for."""


@dataclass
class Group:
    """What the jobs of a group may do."""

    paused: bool = False
    most_running: int | None = None


LaneKey = tuple[str, int | None]
"""A group, and an array if it has a limit of its own."""


class Board:
    """All jobs that are not over, by id."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.groups: dict[str, Group] = defaultdict(Group)
        self.running: dict[int, Entry] = {}
        self.is_paused = False
        # Jobs leave a lane at its front: a plain dict would look at all that have left, each time.
        self._lanes: dict[int, dict[LaneKey, OrderedDict[int, Entry]]] = {}
        self._needed_by: dict[int, list[int]] = {}
        self._running_in: Counter[str] = Counter()
        self._running_of: Counter[int] = Counter()

    def add(self, entry: Entry) -> None:
        """Adds a job that is queued, held or running."""
        self.entries[entry.seen.id] = entry
        for needs in entry.needs:
            self._needed_by.setdefault(needs, []).append(entry.seen.id)
        if entry.state == "running":
            self._count(entry, 1)
        else:
            self._file(entry)

    def remove(self, job: int) -> list[Entry]:
        """Takes a job that is over from the board; returns those that waited for it."""
        entry = self.entries.pop(job)
        self._unfile(entry)
        if entry.state == "running":
            self._count(entry, -1)
        return [self.entries[one] for one in self._needed_by.pop(job, ()) if one in self.entries]

    def satisfy(self, entry: Entry, job: int) -> None:
        """Lets a job wait for another one no longer."""
        entry.needs.discard(job)
        self._file(entry)

    def set_state(self, job: int, state: str) -> None:
        """Moves a job to another state."""
        entry = self.entries[job]
        self._unfile(entry)
        if "running" in (entry.state, state) and entry.state != state:
            self._count(entry, 1 if state == "running" else -1)
        entry.state = state
        self._file(entry)

    def set_priority(self, job: int, priority: int) -> None:
        """Changes the priority of a job that waits."""
        entry = self.entries[job]
        self._unfile(entry)
        entry.seen.priority = priority
        self._file(entry)

    def ready(self, most: int) -> list[Entry]:
        """Returns jobs that may start if there is room: by priority, then by id, at most so many."""
        if self.is_paused:
            return []
        found: list[Entry] = []
        in_group: Counter[str] = Counter()
        for priority in sorted(self._lanes, reverse=True):
            lanes = self._lanes[priority]
            each = [self._allowed(key, lane) for key, lane in lanes.items()]
            for _, entry in heapq.merge(*each, key=lambda pair: pair[0]):
                if in_group[entry.group] >= self._room_in_group(entry.group):
                    continue
                in_group[entry.group] += 1
                found.append(entry)
                if len(found) == most:
                    return found
        return found

    def why_not(self, entry: Entry) -> str | None:
        """Returns why a job may not start, whatever is free; None if it may."""
        if entry.state == "held":
            return "it is held; 'shunter queue release' lets it start"
        if entry.needs:
            return f"it waits for job {', '.join(map(str, sorted(entry.needs)[:5]))}"
        if self.is_paused:
            return "the queue is paused; 'shunter queue resume' lets it go on"
        group = self.groups[entry.group]
        if group.paused:
            return f"its group {entry.group} is paused; 'shunter queue resume --group {entry.group}' lets it go on"
        if self._room_in_group(entry.group) <= 0:
            return f"its group {entry.group} has {group.most_running} jobs running, which is its limit"
        if entry.array_id is not None and self._room_in_array(entry) <= 0:
            return f"its array has {entry.array_limit} jobs running, which is its limit"
        return None

    def _allowed(self, key: LaneKey, lane: OrderedDict[int, Entry]) -> Iterator[tuple[int, Entry]]:
        """Yields the jobs of a lane, as many as its limits let run."""
        group, array = key
        room = self._room_in_group(group)
        if room > 0 and array is not None:
            room = min(room, self._room_in_array(next(iter(lane.values()))))
        return islice(lane.items(), max(0, room))

    def _room_in_group(self, name: str) -> int:
        group = self.groups[name]
        if group.paused:
            return 0
        return NO_LIMIT if group.most_running is None else group.most_running - self._running_in[name]

    def _room_in_array(self, entry: Entry) -> int:
        if entry.array_limit is None or entry.array_id is None:
            return NO_LIMIT
        return entry.array_limit - self._running_of[entry.array_id]

    def _count(self, entry: Entry, change: int) -> None:
        self._running_in[entry.group] += change
        if entry.array_id is not None:
            self._running_of[entry.array_id] += change
        if change > 0:
            self.running[entry.seen.id] = entry
        else:
            self.running.pop(entry.seen.id, None)

    def _key(self, entry: Entry) -> LaneKey:
        return entry.group, entry.array_id if entry.array_limit is not None else None

    def _file(self, entry: Entry) -> None:
        if entry.state == "queued" and not entry.needs:
            lanes = self._lanes.setdefault(entry.seen.priority, {})
            lanes.setdefault(self._key(entry), OrderedDict())[entry.seen.id] = entry

    def _unfile(self, entry: Entry) -> None:
        lanes = self._lanes.get(entry.seen.priority)
        lane = None if lanes is None else lanes.get(self._key(entry))
        if lanes is None or lane is None:
            return
        lane.pop(entry.seen.id, None)
        # Empty lanes would be looked at for ever.
        if not lane:
            del lanes[self._key(entry)]
        if not lanes:
            del self._lanes[entry.seen.priority]
