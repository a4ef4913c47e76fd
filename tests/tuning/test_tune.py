"""Tuning on training days, and on nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shunter.comparison import bench as bench_module
from shunter.comparison.classics import DISPATCHES, Choice, choose_classic, classics, learns
from shunter.comparison.combinations import CLASSICS
from shunter.comparison.objective import Objective, parse_objective
from shunter.errors import InputError
from shunter.model.log import Log
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.simulation.windows import WindowRunner
from shunter.tuning.space import SPACES, Axis, Space, spec_text
from shunter.tuning.weights import Plan, Tuned, find_weights, training_benches
from tests.tuning.small import PLAN, small_log

METRIC = "mean_bounded_slowdown"
SPREAD = 0.25
OBJECTIVE = parse_objective("bounded-slowdown", ["mean-wait=1.1"])
SCHEDULER = resolve_scheduler(dispatch="easy", estimate="posterior")


def tuned_on(*logs: Log, plan: Plan = PLAN, kind: str = "linear") -> Tuned:
    benches = training_benches(logs, plan)
    chosen = [choose_classic(bench, classics(SCHEDULER, ["requested"]), OBJECTIVE) for bench in benches]
    return find_weights(benches, chosen, SCHEDULER, SPACES[kind], OBJECTIVE, plan)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Returns where each window that was simulated began and ended."""
    seen: list[tuple[int, int]] = []

    class Spy(WindowRunner):
        def run(self, settings: Any, first: Sequence[int], length: int, threads: int = 1) -> Any:  # noqa: ANN401
            seen.extend((one, one + length) for one in first)
            return super().run(settings, first, length, threads)

    monkeypatch.setattr(bench_module, "WindowRunner", Spy)
    return seen


def test_only_training_days_are_simulated(runs: list[tuple[int, int]]) -> None:
    tuned_on(small_log(), plan=replace(PLAN, warmup=20, generations=2))
    # 60 % of 600 jobs; 6 windows for each classic, each candidate, each middle, and what was found.
    assert max(end for _, end in runs) <= 360
    assert min(first for first, _ in runs) >= 0
    assert len(runs) == 6 * (len(classics(SCHEDULER, ["requested"])) + 2 * 8 + 2 + 1)


def test_later_days_change_nothing() -> None:
    log = small_log()
    jobs = log.workload.jobs
    later = pl.int_range(pl.len()) >= 360
    changed = jobs.with_columns(
        pl.when(later).then(pl.col("run_s") * 7).otherwise("run_s").alias("run_s"),
        pl.when(later).then(pl.lit(1)).otherwise("tasks").alias("tasks"),
    )
    assert not changed.equals(jobs)
    other = Log(replace(log.workload, jobs=changed), log.cluster)
    first, second = tuned_on(log), tuned_on(other)
    assert first.parameters == second.parameters
    assert first.chosen[0].combination == second.chosen[0].combination


@pytest.mark.parametrize("kind", SPACES)
def test_the_training_cost_becomes_better(kind: str) -> None:
    found = tuned_on(small_log(), plan=replace(PLAN, generations=6, population=16), kind=kind)
    assert found.costs[-1] < found.costs[0] - 0.01
    assert len(found.costs) == 6 + 1
    # Six windows for each candidate, and for the middle of each generation and the policy found.
    assert found.simulations == 6 * (6 * 16 + 6 + 1)


def test_costs_are_those_of_the_first_policy_and_of_the_one_found() -> None:
    log = small_log()
    benches = training_benches([log], PLAN)
    chosen = choose_classic(benches[0], classics(SCHEDULER, ["requested"]), OBJECTIVE)
    found = find_weights(benches, [chosen], SCHEDULER, SPACES["linear"], OBJECTIVE, PLAN)
    begin = spec_text("linear", SPACES["linear"].parameters(SPACES["linear"].center))
    for policy, cost in ((begin, found.costs[0]), (found.spec, found.costs[-1])):
        measured = benches[0].measure(SCHEDULER.changed(policy=policy), OBJECTIVE.metrics)
        assert OBJECTIVE.search_cost(measured, chosen.measured) == cost


def test_the_seed_decides_everything_and_threads_nothing() -> None:
    first, again = tuned_on(small_log()), tuned_on(small_log(), plan=replace(PLAN, threads=2))
    other = tuned_on(small_log(), plan=replace(PLAN, seed=1))
    assert first.parameters == again.parameters != other.parameters
    np.testing.assert_array_equal(first.costs, again.costs)


class Slope:
    """Stands in for a bench: each first spread of `cores` upwards makes the metric lower by so many per cent."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def __len__(self) -> int:
        return 3

    def take(self, rows: object) -> Slope:
        return self

    def each(self, schedulers: Sequence[Scheduler], _: object) -> Iterator[dict[str, NDArray[np.float64]]]:
        """Yields a metric that is large enough for nothing to be made of what is added to it."""
        for scheduler in schedulers:
            spreads = float(scheduler.policy.text.removeprefix("linear?size=")) / SPREAD
            yield {METRIC: np.full(3, 1e6 * np.exp(-self.gain * spreads))}


def tuned_slope(gain: float) -> float:
    """Returns how many first spreads the search went."""
    bench: Any = Slope(gain)
    space = Space("linear", (Axis("size", 0.0, SPREAD),), lambda numbers: numbers)
    base = Choice(classics(SCHEDULER, ["requested"])[0], {METRIC: np.full(3, 1e6)})
    found = find_weights([bench], [base], SCHEDULER, space, Objective(METRIC), Plan(generations=60, population=60))
    return found.parameters["size"] / SPREAD


def test_a_step_away_from_the_first_score_must_pay() -> None:
    """A gain of g for each of u spreads, at a cost of 0.03·u², is best at u = g/0.06."""
    assert tuned_slope(gain=0.0) == pytest.approx(0.0, abs=0.05)
    assert tuned_slope(gain=0.06) == pytest.approx(1.0, abs=0.05)
    assert tuned_slope(gain=0.12) == pytest.approx(2.0, abs=0.05)


def test_who_sees_more_than_requests(tmp_path: Path) -> None:
    """A file may say in many words that requested times are used."""
    file = tmp_path / "plain.toml"
    file.write_text('[estimate]\nkind = "requested"\n')
    seen = {name: learns(resolve_scheduler(estimate=name)) for name in ("requested", str(file), "last-two", "perfect")}
    assert list(seen.values()) == [False, False, True, True]


def test_several_logs_count_the_same() -> None:
    log, other = small_log(), small_log("generate:lublin?seed=9&jobs=500&cores=32&load=1&requests=factor", 32)
    both = tuned_on(log, other, plan=replace(PLAN, generations=1))
    one, two = (tuned_on(each, plan=replace(PLAN, generations=1)) for each in (log, other))
    assert both.costs[0] == pytest.approx((one.costs[0] + two.costs[0]) / 2)
    assert both.simulations == one.simulations + two.simulations
    assert [choice.combination for choice in both.chosen] == [one.chosen[0].combination, two.chosen[0].combination]


def test_a_few_windows_are_drawn_anew_for_each_generation(runs: list[tuple[int, int]]) -> None:
    log = small_log()
    plan = replace(PLAN, drawn=2, generations=3, population=4)
    benches = training_benches([log], plan)
    chosen = Choice(classics(SCHEDULER, ["requested"])[0], benches[0].measure(SCHEDULER, OBJECTIVE.metrics))
    runs.clear()
    found = find_weights(benches, [chosen], SCHEDULER, SPACES["linear"], OBJECTIVE, plan)
    assert found.simulations == len(runs) == 3 * 4 * 2 + (3 + 1) * 6
    # Each generation begins with its middle in all six windows.
    drawn = [{first for first, _ in runs[begin + 6 : begin + 14]} for begin in (0, 14, 28)]
    assert [len(each) for each in drawn] == [2, 2, 2]
    assert len(set.union(*drawn)) > 2


def test_the_classic_chosen_is_the_best_by_its_geometric_mean() -> None:
    log = small_log()
    bench = training_benches([log], PLAN)[0]
    told: list[tuple[int, int]] = []
    choice = choose_classic(
        bench, classics(SCHEDULER, ["requested"]), OBJECTIVE, progress=lambda done, total: told.append((done, total))
    )
    candidates = classics(SCHEDULER, ["requested"])
    # One of them, random-feasible, goes with greedy alone.
    assert len(candidates) == (len(CLASSICS) - 1) * len(DISPATCHES) + 1
    assert {one.settings.dispatch for one in candidates} == {"strict", "greedy", "easy", "conservative"}
    assert told[-1] == (len(candidates), len(candidates))
    means = {}
    for one in candidates:
        slowdown = bench.measure(one.scheduler, OBJECTIVE.metrics)["mean_bounded_slowdown"]
        means[one.label] = np.exp(np.log(slowdown + 1e-3).mean())
    assert choice.combination.label == min(means, key=lambda label: means[label])
    assert choice.combination.settings.estimate == "requested"


def test_a_metric_without_meaning_is_an_error() -> None:
    bench = training_benches([small_log()], PLAN)[0]
    with pytest.raises(InputError) as raised:
        choose_classic(bench, classics(SCHEDULER, ["requested"]), Objective("memory_utilization"))
    assert "memory_utilization has no meaning in the training windows" in str(raised.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"windows": 0}, "--windows is 0; expected 1 to 10000000"),
        ({"population": 3}, "--population is 3; expected 4 to 10000000"),
        ({"generations": 0}, "--generations is 0; expected 1 to 10000000"),
        ({"threads": 0}, "--threads is 0; expected 1 to 10000000"),
        ({"warmup": -1}, "--warmup is -1; expected 0 to 10000000"),
        ({"train": (0.0, 1.0)}, "--train is 1; expected a part of the log above 0 and below 1"),
        ({"train": (0.0, float("nan"))}, "--train is nan"),
    ],
)
def test_a_plan_that_cannot_be(change: dict[str, Any], message: str) -> None:
    PLAN.check()
    with pytest.raises(InputError) as raised:
        replace(PLAN, **change).check()
    assert message in str(raised.value)
