"""What all generators have in common, and how their specs are read."""

from __future__ import annotations

import re
from dataclasses import fields

import polars as pl
import pytest

import shunter
from shunter.errors import InputError
from shunter.workloads import read_cluster, read_workload
from shunter.workloads.generators import GENERATORS, generator_of
from shunter.workloads.generators.parameters import JobParameters, PoolParameters
from shunter.workloads.load import offered_load
from tests.support import PROJECT

EACH = pytest.mark.parametrize("name", GENERATORS)


@EACH
def test_same_seed_same_jobs_other_seed_other_jobs(name: str) -> None:
    first, again, other = (
        read_workload(f"generate:{name}?{query}") for query in ("seed=5&jobs=300", "jobs=300&seed=5", "seed=6&jobs=300")
    )
    assert first.jobs.equals(again.jobs)
    assert first.content_sha256 == again.content_sha256 != other.content_sha256
    for column in ("submit_s", "run_s"):
        assert not first.jobs[column].equals(other.jobs[column])


@EACH
def test_as_many_jobs_as_asked_for_in_order(name: str) -> None:
    for count in (1, 2, 777):
        workload = read_workload(f"generate:{name}?jobs={count}")
        assert len(workload) == count
        assert workload.jobs["submit_s"].is_sorted()
        assert not workload.ledger
        assert workload.jobs["job_id"].to_list() == list(range(1, count + 1))


@EACH
@pytest.mark.parametrize("load", [0.1, 0.9, 1.5])
def test_the_load_on_its_own_cluster_is_as_asked(name: str, load: float) -> None:
    workload = read_workload(f"generate:{name}?seed=1&jobs=2000&load={load}")
    assert workload.cluster_spec is not None
    assert offered_load(workload, read_cluster(workload.cluster_spec)) == pytest.approx(load, rel=1e-4)
    assert workload.name == f"generate:{name}?seed=1&jobs=2000&load={load}"


@EACH
def test_the_load_changes_arrivals_and_nothing_else(name: str) -> None:
    plain, loaded = (read_workload(f"generate:{name}?jobs=500{extra}") for extra in ("", "&load=2"))
    assert plain.jobs.drop("submit_s").equals(loaded.jobs.drop("submit_s"))
    assert not plain.jobs["submit_s"].equals(loaded.jobs["submit_s"])
    assert plain.content_sha256 != loaded.content_sha256


@EACH
def test_defaults_load_the_cluster_but_do_not_flood_it(name: str) -> None:
    workload = read_workload(f"generate:{name}?jobs=50000")
    load = offered_load(workload, read_cluster(str(workload.cluster_spec)))
    assert load is not None
    assert 0.6 < load < 1.0


@EACH
def test_requests(name: str) -> None:
    none, accurate, factor = (
        read_workload(f"generate:{name}?jobs=5000&requests={requests}&factor=3").jobs
        for requests in ("none", "accurate", "factor")
    )
    assert none["requested_s"].null_count() == 5000
    assert accurate["requested_s"].equals(accurate["run_s"], check_names=False)
    assert (factor["requested_s"] == factor["requested_s"].ceil()).all()
    excess = ((factor["requested_s"] - factor["run_s"]) / factor["run_s"]).to_numpy()
    rounding = 1 / factor["run_s"].to_numpy()
    assert (excess >= 0).all()
    assert (excess <= 3 + rounding).all()
    long = rounding < 0.1
    assert excess[long].mean() == pytest.approx(1.5, abs=0.1)
    assert none.drop("requested_s").equals(factor.drop("requested_s"))


KNOWN = {
    "lublin": [(32.0, 7.0, 45), (947.0, 3605.0, 167), (1548.0, 1406.0, 3)],
    "poisson": [(871.9, 678.717, 1), (2517.367, 1269.053, 16), (2929.1, 464.987, 2)],
    "uniform": [(3666.977, 5081.0, 20), (7310.923, 568.0, 120), (10817.293, 5572.0, 47)],
    "bursty-gpu": [(2330.989, 322.0, 8), (2335.812, 36.0, 8), (2337.322, 50.0, 8)],
    "eda": [(0.0, 54.0, 1), (0.0, 46.0, 2), (0.0, 56.0, 1)],
    "helios-like": [(32.448, 1417.0, 1), (47.139, 125536.0, 8), (127.711, 900.0, 1)],
    "philly-like": [(72.939, 3024.0, 1), (105.963, 47272.0, 1), (287.077, 2385.0, 1)],
}
"""Submit time, run time and cores of three jobs, or GPUs of jobs that ask for no cores."""


@EACH
def test_known_jobs_of_a_seed(name: str) -> None:
    """If this fails, results on generated workloads can no longer be compared with older ones."""
    jobs = read_workload(f"generate:{name}?seed=42&jobs=3").jobs
    amount = pl.when(pl.col("cores_per_task") > 0).then(pl.col("cores_per_task")).otherwise(pl.col("gpus_per_task"))
    sizes = jobs.select((pl.col("tasks") * amount).cast(pl.Int64)).to_series()
    assert list(zip(jobs["submit_s"].round(3), jobs["run_s"].round(3), sizes, strict=True)) == KNOWN[name]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("lubli?jobs=5", "unknown generator 'lubli'; did you mean 'lublin'?"),
        ("", "unknown generator ''; the known ones are lublin, poisson, uniform, bursty-gpu, eda"),
        ("lublin?job=5", "generate:lublin: unknown parameter 'job'; did you mean 'jobs'?"),
        (
            "poisson?kind=all",
            "generate:poisson: unknown parameter 'kind'; the known ones are jobs, seed, load, requests, factor,",
        ),
        ("lublin?jobs=0", "jobs is 0; expected a whole number from 1 to 100000000"),
        ("lublin?jobs=1e4", "jobs is '1e4'; expected a whole number"),
        ("lublin?jobs=", "jobs is ''; expected a whole number"),
        ("lublin?jobs=1_000", "jobs is '1_000'; expected a whole number"),
        ("lublin?jobs=" + "9" * 40, "expected a whole number from 1 to 100000000"),
        ("lublin?cores=-4", "cores is -4; expected a whole number"),
        ("lublin?seed=-1", "seed is -1; expected a whole number"),
        ("lublin?load=0", "load is 0.0; expected a number from 0.001 to 10"),
        ("lublin?load=nan", "load is nan; expected a number"),
        ("lublin?load=high", "load is 'high'; expected a number"),
        ("lublin?jobs=1&load=1", "ask for at least 2 jobs"),
        ("lublin?jobs", "generate:lublin: parameters cannot be read; write them as seed=42&jobs=1000"),
        ("lublin?jobs=5&jobs=6", "parameter 'jobs' is given twice"),
        (
            "lublin?requests=some",
            "unknown requests 'some'; the known ones are none, accurate, factor",
        ),
        ("lublin?kind=night", "unknown kind 'night'; the known ones are all, batch"),
        ("poisson?load=1&mean_gap_s=5", "load and mean_gap_s both say how fast jobs arrive; give one of them"),
        ("uniform?mean_gap_s=5&load=1", "load and mean_gap_s both say how fast jobs arrive"),
        ("bursty-gpu?load=1&mean_gap_s=5", "load and mean_gap_s both say how fast jobs arrive"),
        ("poisson?n_max=5&cores=4", "n_max is 5, but cores is 4; no job may be larger than that"),
        ("uniform?n_min=5&n_max=4", "n_min is 5, but n_max is 4; give the smaller one first"),
        ("uniform?n_min=5&cores=4", "n_min is 5, but n_max is 4"),
        ("uniform?p_min=5&p_max=4", "p_min is 5, but p_max is 4"),
        ("eda?p_min=5&p_max=4", "p_min is 5, but p_max is 4"),
        ("helios-like?mean_gap_s=5&load=1", "load and mean_gap_s both say how fast jobs arrive"),
        (
            "philly-like?arrival=daily",
            "unknown arrival 'daily'; the known ones are steady, bursty, diurnal",
        ),
        ("bursty-gpu?correlation=1.1", "correlation is 1.1; expected a number from -1 to 1"),
        ("bursty-gpu?sigma=inf", "sigma is inf; expected a number from 0 to 10"),
    ],
)
def test_bad_specs(spec: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_workload(f"generate:{spec}")
    assert message in str(caught.value)


def test_two_spellings_of_one_default_are_one_workload() -> None:
    short, long = (read_workload(f"generate:poisson?jobs=9{extra}") for extra in ("", "&n_max=256&cores=256&factor=4"))
    assert short.content_sha256 == long.content_sha256


def test_numbers_are_those_of_policies_and_estimates() -> None:
    short, long = (read_workload(f"generate:poisson?jobs=9&mean_gap_s={gap}") for gap in ("1000", "1e+3"))
    assert short.content_sha256 == long.content_sha256


DOCUMENTED = (PROJECT / "docs" / "workloads.md").read_text(encoding="utf-8")


def documented(heading: str) -> dict[str, str]:
    """Returns the parameters and defaults in the first table of a section."""
    section = DOCUMENTED.split(f"\n{heading}\n", 1)[1].split("| parameter |", 1)[1].split("\n\n", 1)[0]
    return dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", section, re.MULTILINE))


def defaults(kind: type[JobParameters]) -> dict[str, str]:
    """Returns the parameters and defaults of a class, as they are written."""
    words = {each.name: "none" if each.default is None else each.default for each in fields(kind)}
    return {name: f"{word:g}" if isinstance(word, float) else str(word) for name, word in words.items()}


@EACH
def test_every_parameter_is_documented_with_its_default(name: str) -> None:
    common, own = documented("## Generators"), documented(f"### `generate:{name}`")
    assert common == defaults(JobParameters)
    assert common | own == defaults(generator_of(name).parameters)
    assert f"\n| `{name}` | " in DOCUMENTED


@EACH
def test_a_cluster_takes_no_parameter_that_its_jobs_do_not(name: str) -> None:
    generator = generator_of(name)
    if generator.draw_nodes is None:
        assert issubclass(generator.parameters, PoolParameters)
        return
    assert set(generator.node_parameters) <= {each.name for each in fields(generator.parameters)}


@EACH
def test_a_site_gives_the_waits_of_a_simulation_and_changes_nothing_else(name: str) -> None:
    plain = read_workload(f"generate:{name}?jobs=1000&load=9&requests=factor")
    past = read_workload(f"generate:{name}?jobs=1000&load=9&requests=factor&site=sjf/easy")
    assert past.jobs.drop("logged_wait_s").equals(plain.jobs.drop("logged_wait_s"))
    assert past.content_sha256 != plain.content_sha256
    schedule = shunter.simulate(plain, policy="sjf", dispatch="easy")
    assert past.jobs["logged_wait_s"].to_list() == schedule.queue_wait_s.tolist()
    assert float(schedule.queue_wait_s.max()) > 0


@pytest.mark.parametrize(
    ("site", "message"),
    [
        ("fcfs/esy", "unknown dispatch 'esy'; did you mean 'easy'?"),
        ("mine.py/easy", "unknown policy 'mine.py'"),
        ("las/greedy", "las stops running jobs, but a log has one wait for each job; give another policy"),
    ],
)
def test_a_site_that_cannot_be_simulated_is_refused(site: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"generate:lublin: site is '{site}': {message}")):
        read_workload(f"generate:lublin?jobs=10&site={site}")


def test_generated_clusters() -> None:
    hosts = read_cluster("generate:eda?hosts=3&seed=42")
    assert hosts.name == "generate:eda?hosts=3&seed=42"
    assert [node.name for node in hosts.nodes] == ["host0", "host1", "host2"]
    assert hosts == read_cluster("generate:eda?hosts=3&seed=42")
    assert hosts.content_sha256 == read_cluster("generate:eda?seed=42&hosts=3").content_sha256
    assert len(read_cluster("generate:eda").nodes) == 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("generate:edaa", "unknown generator 'edaa'; did you mean 'eda'?"),
        ("generate:poisson", "the cluster of this generator is a number of cores; give that instead"),
        ("generate:eda?host=3", "generate:eda: unknown parameter 'host'; did you mean 'hosts'?"),
        ("generate:eda?jobs=3", "generate:eda: unknown parameter 'jobs'; the known ones are"),
        ("generate:bursty-gpu?nodes=0", "nodes is 0; expected a whole number from 1 to 1000000"),
    ],
)
def test_mistakes_in_the_text_of_a_cluster(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_cluster(text)
    assert message in str(caught.value)
