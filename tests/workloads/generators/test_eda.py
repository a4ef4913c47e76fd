"""The chip design farm: its steps, its ranges, and its hosts."""

from __future__ import annotations

import numpy as np
import pytest

from shunter.workloads import read_cluster, read_workload

JOBS = 40_000
MOST = 7


@pytest.fixture(scope="module")
def counts() -> dict[float, int]:
    """How many jobs arrive in each step that has any."""
    jobs = read_workload(f"generate:eda?seed=3&jobs={JOBS}&max_jobs_per_step={MOST}").jobs
    values, counts = np.unique(jobs["submit_s"].to_numpy(), return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def test_steps_are_whole_seconds_from_0_on(counts: dict[float, int]) -> None:
    assert all(step.is_integer() for step in counts)
    assert min(counts) < 5
    assert sum(counts.values()) == JOBS


def test_every_number_of_jobs_in_a_step_is_as_likely_as_another(counts: dict[float, int]) -> None:
    # The last step is cut short.
    steps = int(max(counts))
    by_number = np.bincount([counts.get(float(step), 0) for step in range(steps)], minlength=MOST + 1)
    assert by_number.size == MOST + 1
    expected = steps / (MOST + 1)
    assert np.abs(by_number - expected).max() < 4 * np.sqrt(expected)


@pytest.mark.parametrize(
    ("column", "low", "high"), [("cores_per_task", 1, 4), ("memory_mb_per_task", 512, 4096), ("run_s", 2, 30)]
)
def test_amounts_are_uniform_whole_numbers(column: str, low: int, high: int) -> None:
    values = read_workload(f"generate:eda?jobs={JOBS}&p_min=2&p_max=30").jobs[column].to_numpy()
    assert np.array_equal(values, np.rint(values))
    assert (values.min(), values.max()) == (low, high)
    deviation = np.sqrt(((high - low + 1) ** 2 - 1) / 12)
    assert values.mean() == pytest.approx((low + high) / 2, abs=4 * deviation / np.sqrt(JOBS))
    assert values.std() == pytest.approx(deviation, rel=0.02)


def test_a_job_is_one_task() -> None:
    assert read_workload("generate:eda?jobs=100").jobs["tasks"].unique().to_list() == [1]


def test_hosts_have_16_to_32_cores_and_64_to_128_gb() -> None:
    nodes = read_cluster("generate:eda?hosts=3000&seed=1").nodes
    cores = np.array([node.cores for node in nodes])
    memory_gb = np.array([node.memory_mb or 0 for node in nodes]) / 1024
    assert np.unique(cores).tolist() == list(range(16, 33))
    assert np.unique(memory_gb).tolist() == list(range(64, 129))
    assert cores.mean() == pytest.approx(24, abs=0.4)
    assert memory_gb.mean() == pytest.approx(96, abs=1.4)
    assert abs(np.corrcoef(cores, memory_gb)[0, 1]) < 0.08


def test_jobs_and_hosts_are_of_one_seed() -> None:
    workload = read_workload("generate:eda?seed=42&hosts=5&jobs=10")
    assert workload.cluster_spec == "generate:eda?hosts=5&seed=42"


def test_more_hosts_begin_with_the_same_ones() -> None:
    few, many, other = (read_cluster(f"generate:eda?{query}").nodes for query in ("hosts=5", "hosts=9", "seed=1"))
    assert many[:5] == few
    assert [node.name for node in many] == [f"host{number}" for number in range(9)]
    assert len(other) == 20
    assert other[:5] != few
