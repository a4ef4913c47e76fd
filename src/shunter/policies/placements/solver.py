"""Mixed-integer models, and HiGHS, which solves them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.policies.own import Assignment, Scene

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.policies.placements.scene_objective import Profile

# The numbers of HiGHS for how a matrix is stored, and for the sense of the objective.
BY_ROWS: Final = 2
MINIMIZE: Final = 1


class NoSolution(Exception):
    """The solver has no optimum to offer; says of which kind the reason is, and what it is this time."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail


@dataclass
class Model:
    """A model to be minimized, built column by column and row by row, and handed over at once."""

    offset: float = 0.0
    cost: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    row_lower: list[float] = field(default_factory=list)
    row_upper: list[float] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    columns: list[int] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)

    def add_columns(self, costs: list[float], lower: float, upper: float, *, whole: bool) -> int:
        """Adds variables that have the same bounds, and returns the number of the first."""
        first = len(self.cost)
        self.cost += costs
        self.lower += [lower] * len(costs)
        self.upper += [upper] * len(costs)
        self.whole += [int(whole)] * len(costs)
        return first

    def add_row(self, columns: list[int], factors: list[float], lower: float, upper: float) -> None:
        """Adds a constraint: the weighted sum of some columns lies between two numbers."""
        self.columns += columns
        self.factors += factors
        self.starts.append(len(self.columns))
        self.row_lower.append(lower)
        self.row_upper.append(upper)


class Solver:
    """HiGHS on one thread, kept from one model to the next."""

    def __init__(self, time_limit_s: float) -> None:
        """Loads HiGHS.

        Raises:
            NoSolution: It is not installed.
        """
        try:
            import highspy
        except ImportError as error:
            raise NoSolution("the solver is absent", str(error)) from None
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._out_of_time = highspy.HighsModelStatus.kTimeLimit
        self._error = highspy.HighsStatus.kError
        self._time_limit_s = time_limit_s
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]
        # On models this small the feasibility jump takes longer than all the rest. No gap is left.
        options: dict[str, bool | int | float | str] = {
            "output_flag": False,
            "threads": 1,
            "mip_heuristic_run_feasibility_jump": False,
            "mip_rel_gap": 0.0,
            "mip_abs_gap": 1e-9,
            "random_seed": 0,
            "time_limit": min(time_limit_s, 1e30),
        }
        for name, value in options.items():
            self._highs.setOptionValue(name, value)

    def solve(self, model: Model) -> tuple[NDArray[np.float64], float]:
        """Returns the values of the columns at the optimum, and the objective.

        Raises:
            NoSolution: There is none, it was not found and proved in time, or the solver has failed.
        """
        try:
            return self._run(model)
        except (AttributeError, RuntimeError, TypeError, ValueError) as error:
            # What HiGHS raises, or a version of it that is called in another way.
            raise NoSolution("the solver has failed", f"{type(error).__name__}: {error}") from error

    def _run(self, model: Model) -> tuple[NDArray[np.float64], float]:
        status = self._highs.passModel(
            len(model.cost),
            len(model.row_lower),
            len(model.columns),
            BY_ROWS,
            MINIMIZE,
            model.offset,
            np.array(model.cost),
            np.array(model.lower),
            np.array(model.upper),
            np.array(model.row_lower),
            np.array(model.row_upper),
            np.array(model.starts[:-1], dtype=np.int32),
            np.array(model.columns, dtype=np.int32),
            np.array(model.factors, dtype=np.float64),
            np.array(model.whole, dtype=np.int32),
        )
        if status == self._error or self._highs.run() == self._error:
            raise NoSolution("the solver has failed", f"status {self._highs.getModelStatus()}")
        outcome = self._highs.getModelStatus()
        if outcome == self._out_of_time:
            raise NoSolution("no optimum in time", f"time_limit_s is {self._time_limit_s:g}")
        if outcome != self._optimal:
            raise NoSolution("no feasible placement in the model", f"status {outcome.name}")
        value = self._highs.getInfo().objective_function_value
        if not math.isfinite(value):
            raise NoSolution("the solver has failed", f"the objective is {value}")
        return np.array(self._highs.getSolution().col_value), float(value)


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
    # All nodes are idle to begin with; an option costs what it changes.
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
    # Binaries come back as floats near 0 and 1.
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
    # The tasks placed in a pool are all of the job's if the pool is chosen, and none otherwise.
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
    # That much spread there is whatever is decided: nodes only ever lose free GPUs, and the others keep theirs.
    model.offset += beta * (most - fewest)
    steps = [(level, 1) for level in seen if level > most] + [(level, -1) for level in reversed(seen) if level < fewest]
    reached = {1: most, -1: fewest}
    for level, way in steps:
        binary = model.add_columns([beta * abs(level - reached[way])], 0, 1, whole=True)
        reached[way] = level
        for rows, start, levels in zip(profile.groups, first, after, strict=True):
            beyond = [start + tasks for tasks, free in enumerate(levels) if (free - level) * way >= 0]
            if beyond:
                # As long as any node of the group is at this level or beyond it, the binary must be 1.
                model.add_row([*beyond, binary], [1.0] * len(beyond) + [-float(len(rows))], -INFINITE, 0)


def _split(profile: Profile, first: list[int], values: list[int]) -> Assignment:
    """Returns who gets what: in each group the first nodes get the most."""
    assignment: Assignment = []
    for rows, start in zip(profile.groups, first, strict=True):
        left = iter(rows)
        for tasks in range(int(profile.limit[rows[0]]), 0, -1):
            assignment += [(next(left), tasks) for _ in range(values[start + tasks])]
    return sorted(assignment)
