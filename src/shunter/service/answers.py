"""From a decision in rows and numbers to what a client is told, by ids of jobs and names of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shunter.simulation.decision import REASONS
from shunter.simulation.rule_support import with_rule_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shunter.service.deciders import Decided
    from shunter.service.snapshots import Held


def line(decided: Decided, held: Held, first: Sequence[int]) -> list[int]:
    """Returns all that wait, the next first: those that starve, whom a learned policy chose, and then its order."""
    # Those that the order does not name (a scan may end before them) come last, as they came.
    return list(dict.fromkeys([*first, *decided.chosen, *decided.arrays.order, *held.waiting]))


def decision_parts(decided: Decided, held: Held, first: Sequence[int]) -> dict[str, Any]:
    """Returns the order, who starts where, reservations, and why each of the others waits."""
    ids, names, arrays = held.ids, held.node_names, decided.arrays
    starts, reserved = arrays.starts, arrays.who("reserves")
    places = arrays.places([*starts, *reserved])
    told: dict[str, Any] = {"order": [ids[row] for row in line(decided, held, first)]}
    told["starts"] = [
        {
            "job_id": ids[row],
            "nodes": [names[node] for node in place.nodes],
            "tasks": place.tasks,
            **({"devices": place.devices, "thousandths": place.millis} if place.devices else {}),
        }
        for row, place in zip(starts, places[: len(starts)], strict=True)
    ]
    told["reservations"] = [
        {"job_id": ids[row], "start_s": arrays.reserved_s(row), "nodes": [names[node] for node in place.nodes]}
        for row, place in zip(reserved, places[len(starts) :], strict=True)
    ]
    rules = rule_names(decided, held) if (arrays.rule >= 0).any() else {}
    told["waiting"] = [
        {
            "job_id": ids[row],
            "reason": WORDS[reason],
            "behind": None if blocker < 0 else ids[blocker],
            **({"rule": rules[row]} if row in rules else {}),
        }
        for row, reason, blocker, _ in arrays.waits
    ]
    return told


def rule_names(decided: Decided, held: Held) -> dict[int, str]:
    """Returns the rules of the site that jobs wait for, in words, by row."""
    decision = with_rule_names(decided.arrays.decision(held.now_s), held.state.workload, held.state.cluster)
    return {row: one.rule_name for row, one in decision.waiting.items() if one.rule_name}


WORDS: Final = tuple(reason.name.lower() for reason in REASONS)
"""What programs are told for a reason: ``no_room``; docs/deciding.md has the table."""
