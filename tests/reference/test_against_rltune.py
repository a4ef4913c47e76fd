"""The placements ``tiered-*`` of the reference simulator are never worse than what RLTune finds, score by score."""

from __future__ import annotations

import pytest

from tests.reference.asking import TasksOn
from tests.reference.published import TierPool, rltune_pools
from tests.reference.tiers import LikePool, best_in_tier, change_of, variance_delta


@pytest.mark.parametrize("vector", rltune_pools()[::4], ids=range(0, 200, 4))
def test_tiers_are_never_worse_than_those_of_rltune(vector: TierPool) -> None:
    free = dict(enumerate(vector.free))
    can_take = {node: gpus for node, gpus in free.items() if gpus}
    pool = LikePool(vector.gpus_per_node, free, can_take, vector.request, 1)
    assert pool.fewest_nodes == vector.min_nodes
    for (tier, order), theirs in vector.best.items():
        if theirs is None:
            continue
        assignment: TasksOn = dict(theirs.assignment)
        change = change_of(pool, assignment)
        assert (change.frag, change.waste) == (theirs.frag_delta, theirs.waste_delta)
        assert variance_delta(pool, assignment) == pytest.approx(theirs.variance_delta)
        best = best_in_tier(pool, tier, order)
        assert best is not None
        assert scores(pool, best, order) <= scores(pool, assignment, order)


def scores(pool: LikePool, assignment: TasksOn, order: str) -> tuple[int, ...]:
    """Returns the scores by which an order compares assignments."""
    change = change_of(pool, assignment)
    defrag = (change.frag, change.waste, change.squares)
    return defrag if order == "defrag" else (change.squares, change.frag, change.waste)
