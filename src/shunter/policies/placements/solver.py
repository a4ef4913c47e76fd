"""Mixed-integer models, and HiGHS, which solves them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
