"""What if there were more nodes, another policy, another dispatch rule? Asked of those that wait now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.model.cluster import Cluster, Node
from shunter.model.state import State
from shunter.service.live.controls import Choice, Control, Slider, read_answers
from shunter.service.live.panels import Column, Fact, Line, facts, lines, table
from shunter.service.live.sources import Panels
from shunter.simulation.eta import StartTimes, eta_of
from shunter.simulation.foresight import Foresight

if TYPE_CHECKING:
    from shunter.policies.scheduler import Scheduler

AS_IT_IS: Final = "as it is"
TO_COME: Final = {"like the last weeks": "recent", "nobody": "nobody"}
"""Whether more jobs come, in words, and as futures have it."""
FUTURES: Final = 40
MOST_LISTED: Final = 25
HOUR_S: Final = 3600.0
MOST_STEPS: Final = 200
"""Of a curve."""


@dataclass(frozen=True)
class Offer:
    """What may be asked of those that wait now."""

    policies: Mapping[str, Scheduler]
    """By name, as the service has loaded them."""
    most_added: int
    """How many nodes, or cores of the one node, may be added."""
    what: str
    """``nodes`` or ``cores``."""

    @property
    def controls(self) -> list[Control]:
        """The sliders and choices."""
        return [
            Slider("added", f"More {self.what}", 0, self.most_added, 1, 0, self.what),
            Choice("policy", "Policy", (AS_IT_IS, *self.policies), AS_IT_IS),
            Choice("to_come", "More jobs come", tuple(TO_COME), next(iter(TO_COME))),
        ]

    def answer(self, question: Mapping[str, Any], state: State, scheduler: Scheduler, scores: Any = None) -> Panels:  # noqa: ANN401 - an array
        """Returns when jobs start as things are, and when they would.

        Args:
            question: The values of the controls.
            state: What is known now.
            scheduler: Who decides now.
            scores: An order that takes the place of the policy's, as long as that stays.

        Raises:
            InputError: Something was asked that is not offered.
        """
        asked = read_answers(self.controls, question)
        foresight = Foresight(futures=FUTURES, arrivals=TO_COME[asked["to_come"]])
        now = eta_of(state, scheduler, foresight=foresight, threads=1, scores=scores).waiting
        is_same = asked["policy"] == AS_IT_IS
        other = scheduler if is_same else self.policies[asked["policy"]]
        changed = with_more(state, round(asked["added"]))
        then = eta_of(changed, other, foresight=foresight, threads=1, scores=scores if is_same else None).waiting
        return answer_panels(now, then)


def with_more(state: State, added: int) -> State:
    """Returns a state with more nodes like the most common one; a machine of one node gets more cores."""
    if not added:
        return state
    nodes = state.cluster.nodes
    if len(nodes) == 1:
        larger = replace(nodes[0], cores=nodes[0].cores + added)
        return replace(state, cluster=_like(state.cluster, (larger,)))
    shapes = [replace(node, name="") for node in nodes]
    usual = nodes[shapes.index(max(shapes, key=shapes.count))]
    fresh = tuple(replace(usual, name=f"{usual.name}+{number}") for number in range(1, added + 1))
    shot = replace(state.snapshot, down=np.append(state.snapshot.down, np.zeros(added, state.snapshot.down.dtype)))
    return replace(state, cluster=_like(state.cluster, (*nodes, *fresh)), snapshot=shot)


def _like(cluster: Cluster, nodes: tuple[Node, ...]) -> Cluster:
    return Cluster.from_nodes(nodes, cluster.name, cluster.mix, cluster.kinds, cluster.slowdown, rules=cluster.rules)


def answer_panels(now: StartTimes, then: StartTimes) -> Panels:
    """Returns both, side by side."""
    one, other = now.median_s, then.median_s
    known = np.isfinite(one) & np.isfinite(other)
    columns = [Column("Job"), Column("Starts in", "seconds"), Column("Would start in", "seconds")]
    rows = [[str(job), _finite(one[place]), _finite(other[place])] for place, job in enumerate(now.job_ids)]
    rows.sort(key=lambda row: float("inf") if row[1] is None else row[1])
    found = [
        Fact("Mean wait from now, as it is", _mean(one[known]), "seconds"),
        Fact("and then", _mean(other[known]), "seconds", note=_change(one[known], other[known])),
        Fact("The last starts in", _finite(one.max(initial=0.0)), "seconds"),
        Fact("and then", _finite(other.max(initial=0.0)), "seconds"),
    ]
    lead = f"Medians of {FUTURES} futures; both ways see the same ones."
    curves = [_started("as it is", one), _started("then", other)]
    return {
        "facts": facts("The answer", found, lead),
        "started": lines("Jobs that have started", curves, ("hours from now", "jobs")),
        "jobs": table("Job by job", columns, rows[:MOST_LISTED], more=max(0, len(rows) - MOST_LISTED)),
    }


def _started(name: str, wait_s: Any) -> Line:  # noqa: ANN401 - an array
    ordered = np.sort(wait_s[np.isfinite(wait_s)])
    kept = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_STEPS)).astype(int))
    return Line(name, (ordered[kept] / HOUR_S).tolist(), (kept + 1).tolist())


def _mean(values: Any) -> float | None:  # noqa: ANN401 - an array
    return float(values.mean()) if len(values) else None


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _change(one: Any, other: Any) -> str:  # noqa: ANN401 - arrays
    before = _mean(one)
    return f"{100 * (float(other.mean()) / before - 1):+.0f} %" if before else ""
