"""Placement by optimization: the best of some options, or of all splits, found by a mixed-integer solver."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from shunter.errors import InputError
from shunter.policies.placements.fallback import fewest_nodes, tiered_defrag
from shunter.policies.placements.models import solve_options, solve_splits
from shunter.policies.placements.placer import Assignment, Placer, Scene
from shunter.policies.placements.profile import make_profile
from shunter.policies.placements.scene_objective import Weights
from shunter.policies.placements.solver import NoSolution, Solver
from shunter.policies.placements.tier_options import FindTier, find_options

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload


class MilpPlacer(Placer):
    """Minimizes `shunter.policies.placements.scene_objective.objective` for every job whose tasks take whole GPUs.

    Other jobs get the fewest nodes. Where the solver has no optimum, `tiered-defrag` stands in, and it is counted.
    """

    def __init__(
        self,
        *,
        full: bool = False,
        weights: Weights | None = None,
        time_limit_s: float = 1.0,
        find_tier: FindTier | None = None,
    ) -> None:
        """Prepares the placement.

        Args:
            full: Whether all splits of the tasks are looked at, instead of the options of the two tiers.
            weights: The weights of the objective; without them, the defaults.
            time_limit_s: How long the solver may take for one decision.
            find_tier: Finds the options; without it, `shunter.policies.placements.tiers.find_tier`.
        """
        if not time_limit_s >= 0:
            raise InputError(f"time_limit_s is {time_limit_s:g}; expected 0 or more")
        self.name = "milp-full" if full else "milp"
        self.fallbacks: dict[str, int] = {}
        """How often another rule stood in, by the kind of reason."""
        self._full = full
        self._weights = weights or Weights()
        self._time_limit_s = time_limit_s
        self._given_tiers = find_tier
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
            return tiered_defrag(scene, self._find_tier)

    def solve(self, scene: Scene) -> tuple[float, Assignment]:
        """Returns the least objective and a placement that has it, for a job that asks for whole GPUs.

        Raises:
            NoSolution: The solver is absent, has failed, has no solution, or has not proved one in time.
        """
        if self._solver is None:
            self._solver = Solver(self._time_limit_s)
        profile = make_profile(scene, self._weights)
        nodes: list[int] = profile.nodes.tolist()
        if self._full:
            value, rows = solve_splits(scene, profile, self._weights.beta, self._solver)
        else:
            place = {node: row for row, node in enumerate(nodes)}
            options = find_options(scene, profile, self._find_tier)
            by_row = [[(place[node], tasks) for node, tasks in option] for option in options]
            value, rows = solve_options(profile, by_row, self._weights.beta, self._solver)
        return value, [(nodes[row], tasks) for row, tasks in rows]

    @cached_property
    def _find_tier(self) -> FindTier:
        if self._given_tiers is not None:
            return self._given_tiers
        from shunter.policies.placements.tiers import find_tier

        return find_tier

    def ledger(self) -> list[tuple[str, int, str]]:
        """Returns how often another rule stood in, for each kind of reason, with the first example."""
        return [
            (f"{self.name}: {kind}: tiered-defrag stands in", count, self._examples[kind])
            for kind, count in self.fallbacks.items()
        ]
