"""Placement by optimization: the best of some options, or of all splits, found by a mixed-integer solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.errors import InputError
from shunter.policies.own import Assignment, Placer, Scene
from shunter.policies.placements.scene_objective import Weights, make_profile
from shunter.policies.placements.solver import NoSolution, Solver, solve_options, solve_splits
from shunter.policies.placements.tier_options import TIERS, find_options, like_pools, tier_choice

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload


class MilpPlacer(Placer):
    """Minimizes the objective of `shunter.policies.placements.scene_objective` for jobs whose tasks take whole GPUs.

    Other jobs get the fewest nodes. Where the solver has no optimum, `tiered-defrag` stands in, and it is counted.
    """

    def __init__(
        self,
        *,
        full: bool = False,
        weights: Weights | None = None,
        time_limit_s: float = 1.0,
    ) -> None:
        """Prepares the placement.

        Args:
            full: Whether all splits of the tasks are looked at, instead of the options of the two tiers.
            weights: The weights of the objective; without them, the defaults.
            time_limit_s: How long the solver may take for one decision.
        """
        if not time_limit_s >= 0:
            raise InputError(f"time_limit_s is {time_limit_s:g}; expected 0 or more")
        self.name = "milp-full" if full else "milp"
        self.fallbacks: dict[str, int] = {}
        """How often another rule stood in, by the kind of reason."""
        self._full = full
        self._weights = weights or Weights()
        self._time_limit_s = time_limit_s
        self._solver: Solver | None = None
        self._examples: dict[str, str] = {}

    def begin(self, workload: Workload, cluster: Cluster) -> None:
        """Forgets what earlier runs have counted."""
        self.fallbacks.clear()
        self._examples.clear()

    def place(self, scene: Scene) -> Assignment | None:
        """Returns the placement with the least objective; None if the job does not fit."""
        if scene.request.gpus == 0:
            return fewest_nodes(scene)
        try:
            return self.solve(scene)[1]
        except NoSolution as reason:
            self.fallbacks[reason.kind] = self.fallbacks.get(reason.kind, 0) + 1
            self._examples.setdefault(reason.kind, f"job {scene.job} at {scene.now_s:g} s: {reason.detail}")
            return tiered_defrag(scene)

    def solve(self, scene: Scene) -> tuple[float, Assignment]:
        """Returns the least objective and a placement that has it, for a job that asks for whole GPUs.

        Raises:
            NoSolution: The solver is absent, has failed, has no solution, or has not proved one in time.
        """
        # HiGHS takes long to load, and a run may never have a job with whole GPUs.
        if self._solver is None:
            self._solver = Solver(self._time_limit_s)
        profile = make_profile(scene, self._weights)
        nodes: list[int] = profile.nodes.tolist()
        if self._full:
            value, rows = solve_splits(scene, profile, self._weights.beta, self._solver)
        else:
            place = {node: row for row, node in enumerate(nodes)}
            options = find_options(scene, profile)
            # The models count rows of the profile, which leaves out nodes without room.
            by_row = [[(place[node], tasks) for node, tasks in option] for option in options]
            value, rows = solve_options(profile, by_row, self._weights.beta, self._solver)
        return value, [(nodes[row], tasks) for row, tasks in rows]

    def ledger(self) -> list[tuple[str, int, str]]:
        """Returns how often another rule stood in, for each kind of reason, with the first example."""
        return [
            (f"{self.name}: {kind}: tiered-defrag stands in", count, self._examples[kind])
            for kind, count in self.fallbacks.items()
        ]


def tiered_defrag(scene: Scene) -> Assignment | None:
    """Returns the placement that `tiered-defrag` would choose; None if the job does not fit."""
    pools = like_pools(scene)
    for tier in TIERS:
        choices = [tier_choice(scene, pool, tier, "defrag") for pool in pools]
        found = [choice for choice in choices if choice is not None]
        # A pool of the lower tier is taken before any pool of the next; of several, the one that needs fewest nodes.
        if found:
            return min(found, key=len)
    return fewest_nodes(scene)


def fewest_nodes(scene: Scene) -> Assignment | None:
    """Returns the placement on the fewest nodes, of one pool if it has to be; None if the job does not fit."""
    members: dict[int, list[int]] = {}
    for node in scene.capacity.nonzero()[0].tolist():
        members.setdefault(int(scene.pool[node]) if scene.one_pool else 0, []).append(node)
    placements = [_fill(scene, nodes) for nodes in members.values()]
    return min((placement for placement in placements if placement is not None), key=len, default=None)


def _fill(scene: Scene, nodes: list[int]) -> Assignment | None:
    """Fills the greatest nodes until one node can take the rest, and gives that to the tightest such node."""
    capacity = {node: int(scene.capacity[node]) for node in nodes}
    left = scene.request.tasks
    if sum(capacity.values()) < left:
        return None

    def room(node: int) -> tuple[int, int, int]:
        gpus = int(scene.free_gpus[node]) if scene.request.gpu_milli else 0
        return gpus, int(scene.free_cores_milli[node]), int(scene.free_memory_mb[node])

    # Of nodes with the same capacity, those with the least room come first.
    order = sorted(nodes, key=lambda node: (-capacity[node], room(node), node))
    filled: Assignment = []
    while capacity[order[0]] < left:
        filled.append((order[0], capacity[order[0]]))
        left -= capacity[order.pop(0)]
    # The rest goes where least is left over: larger holes stay for larger jobs.
    last = min((node for node in order if capacity[node] >= left), key=lambda node: (capacity[node], room(node), node))
    return sorted([*filled, (last, left)])
