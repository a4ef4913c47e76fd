"""The two models: a choice among options, and all splits of a job's tasks.

Both are made of whole-number columns for what may happen: an option, or "this many nodes of a group get this many
tasks". Whether a node is then partly used, and which waiting jobs it can host, are known for each of these columns
beforehand. So the indicators are sums of columns, and need no rows that could hold in one direction only: neither a
partly used node nor a host can be claimed or denied against the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.policies.placements.placer import Assignment, Scene
from shunter.policies.placements.solver import Model, NoSolution, Solver

if TYPE_CHECKING:
    from shunter.policies.placements.profile import Profile

INFINITE: Final = float("inf")


def solve_options(
    profile: Profile, options: Sequence[Assignment], beta: float, solver: Solver
) -> tuple[float, Assignment]:
    """Returns the least objective, and the option that has it.

    Args:
        profile: What each node adds to the objective.
        options: Placements as pairs of row (of the profile) and tasks.
        beta: The weight of the spread of free GPUs.
        solver: The solver.

    Raises:
        NoSolution: There is no option, or the solver has no optimum.
    """
    if not options:
        raise NoSolution("no feasible placement in the model", "neither tier has an option")
    idle, free = profile.cost[:, 0].tolist(), profile.free.tolist()
    cost = profile.cost.tolist()
    model = Model(offset=profile.fixed_cost + sum(idle))
    model.add_columns(
        [sum(cost[row][tasks] - idle[row] for row, tasks in option) for option in options], 0, 1, whole=True
    )
    model.add_row(list(range(len(options))), [1.0] * len(options), 1, 1)
    touched: dict[int, tuple[list[int], list[float]]] = {}
    for number, option in enumerate(options):
        for row, tasks in option:
            columns, taken = touched.setdefault(row, ([], []))
            columns.append(number)
            taken.append(free[row][0] - free[row][tasks])
    if beta > 0:
        others = profile.fixed_free.tolist() + [levels[0] for row, levels in enumerate(free) if row not in touched]
        _bound_spread(model, beta, others, [(free[row][0], *touched[row]) for row in sorted(touched)])
    values, objective = solver.solve(model)
    return objective, options[int(np.argmax(values[: len(options)]))]


def _bound_spread(
    model: Model, beta: float, others: list[int], touched: list[tuple[int, list[int], list[float]]]
) -> None:
    """Adds the most and the fewest free GPUs; both are pulled towards each other, and held off by every node."""
    most = model.add_columns([beta], max(others, default=0), INFINITE, whole=False)
    fewest = model.add_columns([-beta], -INFINITE, min(others, default=INFINITE), whole=False)
    for free, columns, taken in touched:
        model.add_row([most, *columns], [1.0, *taken], free, INFINITE)
        model.add_row([fewest, *columns], [1.0, *taken], -INFINITE, free)


def solve_splits(scene: Scene, profile: Profile, beta: float, solver: Solver) -> tuple[float, Assignment]:
    """Returns the least objective over all splits of the scene's job, and a split that has it, by rows.

    Nodes that are alike are one group, and only how many of them get 0, 1, 2, ... tasks is decided: which of them
    makes no difference, and the solver would try them all.

    Raises:
        NoSolution: The job does not fit, or the solver has no optimum.
    """
    if not profile.groups:
        raise NoSolution("no feasible placement in the model", "no node has room")
    model = Model(offset=profile.fixed_cost)
    first = [
        model.add_columns(profile.cost[rows[0], : profile.limit[rows[0]] + 1].tolist(), 0, len(rows), whole=True)
        for rows in profile.groups
    ]
    for rows, start in zip(profile.groups, first, strict=True):
        levels = int(profile.limit[rows[0]]) + 1
        model.add_row(list(range(start, start + levels)), [1.0] * levels, len(rows), len(rows))
    _place_all_tasks(model, scene, profile, first)
    if beta > 0:
        _count_spread(model, profile, first, beta)
    values, objective = solver.solve(model)
    return objective, _split(profile, first, np.rint(values).astype(np.int64).tolist())


def _place_all_tasks(model: Model, scene: Scene, profile: Profile, first: list[int]) -> None:
    """All tasks go to the nodes of one pool, or to any nodes if the job is not bound to one."""
    by_pool: dict[int, tuple[list[int], list[float]]] = {}
    for rows, start in zip(profile.groups, first, strict=True):
        pool = int(scene.pool[profile.nodes[rows[0]]]) if scene.one_pool else 0
        columns, tasks = by_pool.setdefault(pool, ([], []))
        limit = int(profile.limit[rows[0]])
        columns += range(start + 1, start + limit + 1)
        tasks += map(float, range(1, limit + 1))
    chosen = model.add_columns([0.0] * len(by_pool), 0, 1, whole=True)
    for number, (columns, tasks) in enumerate(by_pool.values()):
        model.add_row([*columns, chosen + number], [*tasks, -float(scene.request.tasks)], 0, 0)
    model.add_row(list(range(chosen, chosen + len(by_pool))), [1.0] * len(by_pool), 1, 1)


def _count_spread(model: Model, profile: Profile, first: list[int], beta: float) -> None:
    """Adds a binary for each step that the most free GPUs may rise, or the fewest fall, beyond what is certain.

    A binary costs what its step adds to the spread, and each group forces it up, so it is 0 only where it may be.
    """
    fixed = profile.fixed_free.tolist()
    after = [profile.free[rows[0], : profile.limit[rows[0]] + 1].tolist() for rows in profile.groups]
    most = max([*fixed, *(levels[-1] for levels in after)])
    fewest = min([*fixed, *(levels[0] for levels in after)])
    seen = sorted({level for levels in after for level in levels})
    model.offset += beta * (most - fewest)
    steps = [(level, 1) for level in seen if level > most] + [(level, -1) for level in reversed(seen) if level < fewest]
    reached = {1: most, -1: fewest}
    for level, way in steps:
        binary = model.add_columns([beta * abs(level - reached[way])], 0, 1, whole=True)
        reached[way] = level
        for rows, start, levels in zip(profile.groups, first, after, strict=True):
            beyond = [start + tasks for tasks, free in enumerate(levels) if (free - level) * way >= 0]
            if beyond:
                model.add_row([*beyond, binary], [1.0] * len(beyond) + [-float(len(rows))], -INFINITE, 0)


def _split(profile: Profile, first: list[int], values: list[int]) -> Assignment:
    """Returns who gets what: in each group the first nodes get the most."""
    assignment: Assignment = []
    for rows, start in zip(profile.groups, first, strict=True):
        left = iter(rows)
        for tasks in range(int(profile.limit[rows[0]]), 0, -1):
            assignment += [(next(left), tasks) for _ in range(values[start + tasks])]
    return sorted(assignment)
