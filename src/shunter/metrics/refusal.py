"""Which types of GPUs a job refused though they had room, and why (``docs/policies.md``)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shunter.model.kinds import NO_KIND
from shunter.policies.pairs import ANY, PRICE, SCORE, resolve_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shunter.metrics.record import Record

_MICRO: Final = 1_000_000
GREEDY: Final = ("greedy", "0")
"""The dispatch rule under which whatever fits starts, as it may be written."""


@dataclass(frozen=True)
class Refusal:
    """What a job thought of the types that it could have had."""

    why: Mapping[str, str]
    """By type that it refused, why."""
    lasted_ms: Counter[str] = field(default_factory=Counter)
    """For how long each had room meanwhile, and nothing that it accepted had."""

    @classmethod
    def of(cls, record: Record, row: int, types: list[str]) -> Refusal | None:
        """Returns it; None if the job took any type.

        Args:
            record: The run.
            row: The job.
            types: The types that it could have had.
        """
        pairs = resolve_pairs(record.pairs)
        if pairs.kind == ANY or len(types) < 2 or record.milli_gpus[row] == 0:
            return None
        if pairs.kind == PRICE:
            cost = {name: pairs.prices[name] / _speed(record, row, name) for name in types}
            best = min(types, key=lambda name: cost[name])
            dear = {name: cost[name] / cost[best] for name in types if cost[name] > pairs.factor * cost[best]}
            return cls({name: f"price {ratio:.2g} × its {best}" for name, ratio in dear.items()})
        own = _started_on(record, row)
        if own is None:
            return None
        why = "the score over pairs was against it" if pairs.kind == SCORE else "it would have ended later there"
        refused = {name: f"{why}, and it waited for {own}" for name in types if name != own}
        # Under greedy nothing else keeps a job from a type that has room: it refused for a time what it took at last.
        return cls(refused | {own: f"{why} for a time"} if record.dispatch in GREEDY else refused)

    def note(self, with_room: list[str], lasted_ms: float) -> bool:
        """Takes note of a stretch of time, and returns whether only types that it refused had room."""
        if not with_room or any(name not in self.why for name in with_room):
            return False
        self.lasted_ms.update(dict.fromkeys(with_room, lasted_ms))
        return True

    @property
    def text(self) -> str:
        """What it refused longest: ``refused V100: price 3.1 × its P100``."""
        ranked = sorted(self.lasted_ms, key=lambda name: -self.lasted_ms[name])
        return "; ".join(f"refused {name}: {self.why[name]}" for name in ranked)


def _speed(record: Record, row: int, name: str) -> float:
    cluster, kind = record.cluster, int(record.kind_rows[row])
    if cluster.kinds is not None and kind != NO_KIND:
        return cluster.kinds.rows[kind].micro[cluster.kinds.types.index(name)] / _MICRO
    return next(node.speed for node in cluster.nodes if node.gpu_type == name)


def _started_on(record: Record, row: int) -> str | None:
    """Returns the type on which the job ran last; None if it never ran."""
    segments = record.segments
    own = (segments.job == row).nonzero()[0]
    if not len(own):
        return None
    first = int(segments.nodes[segments.node_offsets[own[-1]]])
    return record.cluster.nodes[first].gpu_type
