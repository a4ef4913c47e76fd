"""Nodes that go down and come back: as given, or drawn for each node on its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.reference.arithmetic import nearest
from tests.reference.model import Config, RefNode
from tests.reference.randomness import MASK, mix, splitmix64

FAILURE_SALT = 0x6661696C
MOST_FAILURES = 1000
"""A job under which nodes have failed so often ends for good."""


@dataclass(frozen=True)
class NodeEvent:
    """A node goes down, or is up again."""

    time_ms: int
    node: int
    up: bool
    drawn: bool


def exponentials(seed: int, node: int) -> Iterator[float]:
    """Yields draws of an exponential distribution of mean 1, for ever."""
    for output in splitmix64(mix((mix(seed ^ FAILURE_SALT) + node) & MASK)):
        yield -math.log(((output >> 11) + 1) * 2.0**-53)


def drawn_events(config: Config, node: int, begin_ms: int) -> Iterator[NodeEvent]:
    """Yields when a node fails and is repaired, in turn, for ever."""
    assert config.mtbf_ms is not None
    assert config.mttr_ms is not None
    time_ms, up = begin_ms, False
    for draw in exponentials(config.seed, node):
        time_ms += max(1, nearest(draw * (config.mttr_ms if up else config.mtbf_ms)))
        yield NodeEvent(time_ms, node, up, drawn=True)
        up = not up


@dataclass
class Failures:
    """The node events still to come, and which nodes are down now, by those given and by those drawn."""

    given: list[NodeEvent]
    drawn: list[tuple[NodeEvent, Iterator[NodeEvent]]]
    """Of each node: its next event, and those after it."""
    down_given: set[int] = field(default_factory=set)
    down_drawn: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, config: Config, nodes: Sequence[RefNode], begin_ms: int) -> Failures:
        """Returns the events of a simulation that begins at a moment."""
        given = [NodeEvent(time_ms, node, up, drawn=False) for time_ms, node, up in config.failures]
        numbers = range(len(nodes)) if config.mtbf_ms is not None else range(0)
        drawn = [drawn_events(config, node, begin_ms) for node in numbers]
        return cls(sorted(given, key=lambda event: event.time_ms), [(next(events), events) for events in drawn])

    @property
    def down(self) -> set[int]:
        """The nodes that are down now."""
        return self.down_given | self.down_drawn

    def next_ms(self) -> int | None:
        """Returns when the next event comes, or None if none does."""
        coming = [*self.given[:1], *(event for event, _ in self.drawn)]
        return min((event.time_ms for event in coming), default=None)

    def take_due(self, now_ms: int) -> list[NodeEvent]:
        """Returns the events until now, those given first, then those drawn by node; they are no longer to come."""
        due = [event for event in self.given if event.time_ms <= now_ms]
        self.given = self.given[len(due) :]
        for number, (event, after) in enumerate(self.drawn):
            while event.time_ms <= now_ms:
                due.append(event)
                event = next(after)
            self.drawn[number] = (event, after)
        return due

    def change(self, event: NodeEvent) -> bool:
        """Takes note of an event, and returns whether the node goes down by it."""
        was_down = event.node in self.down
        down = self.down_drawn if event.drawn else self.down_given
        (down.discard if event.up else down.add)(event.node)
        return not was_down and event.node in self.down

    def may_bring_back(self) -> bool:
        """Tells whether an event to come may bring back a node that is down now."""
        return bool(self.given) or bool(self.down_drawn - self.down_given)
