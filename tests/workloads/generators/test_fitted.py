"""The generators that are fitted to logs: against their tables always, against the logs where these are present."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shunter.workloads import read_cluster, read_workload
from shunter.workloads.generators import helios_like, philly_like
from shunter.workloads.generators.arrivals import ARRIVALS, Rhythm
from shunter.workloads.generators.fitted import PROBABILITIES, Fit, FittedParameters, draw_fitted
from shunter.workloads.load import offered_load
from tests.support import trace
from tests.workloads.formats.published_logs import quantiles
from tests.workloads.generators.distributions import exponential, gaps, is_sample_of

JOBS = 50_000
FITS = {"helios-like": helios_like.FIT, "philly-like": philly_like.FIT}
EACH = pytest.mark.parametrize("name", FITS)
CUT_S = 172_800.0
"""At which the list of Helios Venus cuts run times."""
BOUNDS = {"helios-like": (1, 2, 7, 8, 16, 32), "philly-like": (1, 2, 4, 8)}
"""Classes of sizes that have at least a thousand of 50,000 jobs, by the largest size of each; the first has most."""


def generated(name: str, query: str = "", jobs: int = JOBS) -> pl.DataFrame:
    return read_workload(f"generate:{name}?jobs={jobs}&seed=3{query}").jobs


@cache
def logged(name: str) -> pl.DataFrame:
    """Returns the jobs that a generator is fitted to; those of Helios from the time on at which its log is whole."""
    if name == "philly-like":
        return read_workload(trace("philly/philly_sia.csv.gz"), format="philly").jobs
    jobs = read_workload(trace("helios/venus_gpu_jobs_clip48h.csv.gz"), format="helios").jobs
    return jobs.filter(pl.col("submit_s") >= 1.15e6)


def local_s(name: str, jobs: pl.DataFrame) -> NDArray[np.float64]:
    """Returns a log's submit times as its clocks showed them, counted from the midnight before a Monday."""
    submit_s = jobs["submit_s"].to_numpy()
    if name == "helios-like":
        # The list's time 0 is a Wednesday, 04:01:39.
        return submit_s + 2 * 86_400 + 4 * 3600 + 99
    clock = pl.from_epoch(pl.col("submit_s").cast(pl.Int64)).dt.convert_time_zone("America/Los_Angeles")
    shown_s = jobs.select(clock.dt.replace_time_zone(None).dt.epoch("s")).to_series().to_numpy()
    # 1 January 1970 was a Thursday.
    return shown_s.astype(np.float64) + 3 * 86_400


def shares(values: pl.Series) -> dict[int, float]:
    return {value: count / values.len() for value, count in values.value_counts().iter_rows()}


def dispersion(submit_s: NDArray[np.float64]) -> float:
    """Returns the variance of hourly counts over their mean."""
    counts = np.bincount(((submit_s - submit_s[0]) // 3600).astype(np.int64))
    return float(counts.var() / counts.mean())


def by_hour(submit_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns how busy each hour of the day is, 1 being the mean."""
    return np.bincount((submit_s % 86_400 // 3600).astype(np.int64), minlength=24) * 24 / submit_s.size


def by_day(submit_s: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount((submit_s % 604_800 // 86_400).astype(np.int64), minlength=7) * 7 / submit_s.size


def test_the_tables_are_whole() -> None:
    for fit in FITS.values():
        assert sum(fit.sizes.values()) == pytest.approx(100, abs=0.05)
        assert max(fit.sizes) == max(fit.runs)
        assert list(fit.runs) == sorted(fit.runs)
        for table_s in fit.runs.values():
            assert len(table_s) == len(PROBABILITIES)
            assert list(table_s) == sorted(table_s)
        assert set(fit.batches) == set(ARRIVALS) - {"steady"}
        assert (len(fit.rhythm.hours), len(fit.rhythm.days)) == (24, 7)
    assert sum(philly_like.FIT.partitions) == pytest.approx(100, abs=0.05)


@EACH
def test_sizes_are_those_of_the_table(name: str) -> None:
    found, weights = shares(generated(name)["tasks"]), FITS[name].sizes
    total = sum(weights.values())
    for size, weight in weights.items():
        share = weight / total
        assert found.get(size, 0.0) == pytest.approx(share, abs=4 * (share * (1 - share) / JOBS) ** 0.5)
    assert set(found) <= set(weights)


@EACH
def test_sizes_are_those_of_the_log(name: str) -> None:
    of_log, ours = shares(logged(name)["tasks"]), shares(generated(name)["tasks"])
    for size in set(of_log) | set(ours):
        assert ours.get(size, 0.0) == pytest.approx(of_log.get(size, 0.0), abs=0.008)


@EACH
def test_run_times_of_each_class_are_those_of_its_table(name: str) -> None:
    jobs = generated(name)
    low = 0
    for high, table_s in FITS[name].runs.items():
        run_s = jobs.filter(pl.col("tasks").is_between(low, high, closed="right"))["run_s"]
        if high in BOUNDS[name]:
            found = quantiles(run_s, 0.1, 0.5, 0.9)
            assert found == pytest.approx([table_s[PROBABILITIES.index(each)] for each in (0.1, 0.5, 0.9)], rel=0.25)
        assert 1 <= run_s.min() <= run_s.max() <= table_s[-1]  # type: ignore[operator]
        low = high
    assert (jobs["run_s"] == jobs["run_s"].floor()).all()


@EACH
def test_run_times_of_all_jobs_are_those_of_the_log(name: str) -> None:
    """The list of Helios cuts run times, which ours are not."""
    of_log, ours = logged(name)["run_s"], generated(name)["run_s"]
    if name == "helios-like":
        ours = ours.clip(upper_bound=CUT_S)
    assert quantiles(ours, 0.1, 0.5, 0.9, 0.99) == pytest.approx(quantiles(of_log, 0.1, 0.5, 0.9, 0.99), rel=0.12)


@EACH
def test_run_times_of_each_class_are_those_of_the_log(name: str) -> None:
    """Some quantiles are steep, and few jobs are large: more are drawn."""
    of_log, ours = logged(name), generated(name, jobs=10 * JOBS)
    low = 0
    for high in BOUNDS[name]:
        of_class = pl.col("tasks").is_between(low, high, closed="right")
        expected, found = (jobs.filter(of_class)["run_s"].clip(upper_bound=CUT_S) for jobs in (of_log, ours))
        for share in (0.1, 0.25, 0.5, 0.75, 0.9):
            assert quantiles(found, share) == pytest.approx(quantiles(expected, share), rel=0.35)
        low = high


def test_helios_has_the_published_means_though_its_list_cuts_run_times() -> None:
    """Mean run time 13,041 s; 12.35e9 GPU seconds in 125,303 jobs. Large and long jobs are few: a million is drawn."""
    jobs = read_workload("generate:helios-like?jobs=1000000").jobs
    run_s, gpus = jobs["run_s"].to_numpy(), jobs["tasks"].to_numpy()
    assert run_s.mean() == pytest.approx(13_041, rel=0.02)
    assert float(run_s @ gpus) / len(jobs) == pytest.approx(98_526, rel=0.03)
    assert np.mean(run_s > CUT_S) == pytest.approx(2379 / 125_303, rel=0.1)


def test_philly_has_the_means_of_the_log() -> None:
    jobs, of_log = read_workload("generate:philly-like?jobs=1000000").jobs, logged("philly-like")
    for values in (pl.col("run_s"), pl.col("run_s") * pl.col("tasks")):
        mean_s, expected_s = (frame.select(values.mean()).item() for frame in (jobs, of_log))
        assert mean_s == pytest.approx(expected_s, rel=0.03)


@EACH
def test_steady_arrivals_are_a_poisson_process(name: str) -> None:
    mean_gap_s = {"helios-like": 124.5, "philly-like": 114.4}[name]
    assert is_sample_of(gaps(generated(name, "&arrival=steady")["submit_s"].to_numpy()), exponential(mean_gap_s))


@EACH
@pytest.mark.parametrize("arrival", ["bursty", "diurnal"])
def test_hourly_counts_vary_as_in_the_log(name: str, arrival: str) -> None:
    """Ours vary from seed to seed, by a fifth: the mean of some is taken."""
    ours = [
        dispersion(
            read_workload(f"generate:{name}?jobs={JOBS}&seed={seed}&arrival={arrival}").jobs["submit_s"].to_numpy()
        )
        for seed in range(8)
    ]
    assert np.mean(ours) == pytest.approx({"helios-like": 37.3, "philly-like": 161.4}[name], rel=0.2)


@EACH
def test_the_log_varies_as_is_said(name: str) -> None:
    jobs = logged(name)
    submit_s = local_s(name, jobs)
    assert dispersion(submit_s) == pytest.approx({"helios-like": 37.3, "philly-like": 161.4}[name], abs=0.1)
    mean_gap_s = (submit_s[-1] - submit_s[0]) / (submit_s.size - 1)
    assert mean_gap_s == pytest.approx({"helios-like": 124.5, "philly-like": 114.4}[name], abs=0.05)


@EACH
def test_hours_and_days_of_the_fit_are_those_of_the_log(name: str) -> None:
    submit_s, rhythm = local_s(name, logged(name)), FITS[name].rhythm
    assert by_hour(submit_s) == pytest.approx(np.array(rhythm.hours), abs=0.006)
    assert by_day(submit_s) == pytest.approx(np.array(rhythm.days), abs=0.006)


@EACH
def test_diurnal_arrivals_follow_hours_and_days(name: str) -> None:
    """The batches disturb them: a million jobs is drawn, and less is asked of Philly, most of whose jobs come so."""
    rhythm: Rhythm = FITS[name].rhythm
    submit_s = read_workload(f"generate:{name}?jobs=1000000&arrival=diurnal").jobs["submit_s"].to_numpy()
    assert by_hour(submit_s) == pytest.approx(np.array(rhythm.hours), abs=0.1 if name == "helios-like" else 0.2)
    assert by_day(submit_s) == pytest.approx(np.array(rhythm.days), abs=0.1)


def test_virtual_clusters_have_their_shares() -> None:
    names = generated("philly-like")["partition"]
    for number, weight in enumerate(philly_like.FIT.partitions, start=1):
        assert (names == f"vc{number}").mean() == pytest.approx(weight / 100, abs=0.01)
    assert names.n_unique() == 11
    assert generated("helios-like")["partition"].null_count() == JOBS


def test_virtual_clusters_have_the_shares_of_the_log() -> None:
    names = logged("philly-like")["partition"]
    counts = names.value_counts(sort=True)["count"].to_numpy()
    assert counts[:11] * 100 / names.len() == pytest.approx(np.array(philly_like.FIT.partitions), abs=0.006)
    assert counts[11:].sum() == 18


@EACH
def test_a_job_asks_for_gpus_alone_and_never_for_more_than_there_are(name: str) -> None:
    jobs = generated(name, "&nodes=1")
    assert jobs["tasks"].max() == 8
    assert jobs["cores_per_task"].unique().to_list() == [0.0]
    assert jobs["gpus_per_task"].unique().to_list() == [1.0]
    larger = sum(weight for size, weight in FITS[name].sizes.items() if size >= 8) / sum(FITS[name].sizes.values())
    assert (jobs["tasks"] == 8).mean() == pytest.approx(larger, abs=0.01)


@EACH
@pytest.mark.parametrize("arrival", ARRIVALS)
def test_a_load_is_met_and_hours_stay_hours(name: str, arrival: str) -> None:
    workload = read_workload(f"generate:{name}?jobs=20000&nodes=9&arrival={arrival}&load=0.5")
    assert offered_load(workload, read_cluster(str(workload.cluster_spec))) == pytest.approx(0.5, rel=1e-6)
    if arrival == "diurnal" and name == "helios-like":
        busy = by_hour(workload.jobs["submit_s"].to_numpy())
        assert busy[3:8].mean() < 0.4 < 1.2 < busy[14:18].mean()


def test_their_clusters() -> None:
    assert read_workload("generate:helios-like?jobs=5").cluster_spec == "generate:helios-like?nodes=133"
    venus, preset = read_cluster("generate:helios-like?nodes=133"), read_cluster("helios-venus")
    assert venus.content_sha256 == preset.content_sha256
    philly = read_cluster("generate:philly-like?nodes=60")
    assert (philly.total_gpus, philly.total_cores) == (480, 480)
    assert philly.nodes[7] == read_cluster("philly").nodes[321 + 7]


def test_weights_need_not_add_up_to_anything() -> None:
    fit = Fit({1: 2.0, 4: 6.0}, {4: (5.0,) * 12}, {}, helios_like.FIT.rhythm)
    jobs = draw_fitted(FittedParameters(jobs=20_000, nodes=133, mean_gap_s=124.5), fit)
    assert (jobs["tasks"] == 4).mean() == pytest.approx(0.75, abs=0.02)
    assert jobs["run_s"].unique().to_list() == [5.0]
