"""From options to a training: what is learned from, what is trained, and that a pause changes nothing."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from shunter.agents.learned_policy import load_policy
from shunter.agents.training.checkpoint_files import POLICY, read_part
from shunter.agents.training.setup import Site, open_trainer
from shunter.agents.training.trainer import Progress
from shunter.agents.training.validation import Validation
from shunter.comparison.combinations import Combination, combine
from shunter.envs.pick_host import PickHostOptions
from shunter.envs.rewards import register_reward
from shunter.envs.sources import Use
from shunter.errors import InputError
from shunter.model.log import Log
from shunter.policies.checkpoint import BEST, INITIAL, LAST
from tests.agents.small_training import EDA, FARM, HOSTS, LUBLIN, SMALL, small_site
from tests.agents.trying import placement_combination
from tests.agents.untrained import waiting, write_host_policy, write_policy

pytestmark = pytest.mark.usefixtures("few_classics")


@pytest.mark.parametrize(
    ("base", "sections", "message"),
    [
        (SMALL, {"data": {"workload": []}}, "no log to learn from; give --workload LOG"),
        (SMALL, {"data": {"cluster": ["64", "32"]}}, "--cluster is given 2 times for 1 logs; give one for each"),
        (
            HOSTS,
            {"data": {"cluster": ["64"]}},
            "pick-host draws its own hosts and jobs; leave --cluster out, or give a",
        ),
        (HOSTS, {"data": {"workload": [LUBLIN]}}, "64 is one node: there is no host to choose; give its nodes"),
        (
            HOSTS,
            {"data": {"workload": [EDA, EDA], "cluster": [FARM, "generate:eda?hosts=5"]}},
            "an observation has one size: train on clusters of equally many",
        ),
    ],
)
def test_logs_that_are_wrong(base: dict[str, Any], sections: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        small_site(base, **sections)


def test_hosts_on_logs() -> None:
    """What is learned from, and what it is held against, are windows of the log, as for policies that choose jobs."""
    short, data = {"length": 30}, {"workload": [EDA], "cluster": [FARM]}
    site = small_site(HOSTS, data=data, episodes=short, validation=short, report=short)
    environment = site.config.environment
    assert isinstance(environment, PickHostOptions)
    assert environment.num_hosts == 6
    site.check()
    (group,) = site.source.groups(site.config.episodes)
    ((log, windows),) = group.parts
    assert (group.name, len(log.cluster.nodes), windows.length, len(windows)) == (EDA, 6, 30, 6)
    assert windows.first.max() + 30 <= 0.6 * len(log.workload)
    assert [one.label for one in site.source.rivals()] == ["first-fit", "best-fit", "worst-fit", "pack", "spread"]
    assert site.source.usual().settings.dispatch == "strict"
    vector = site.environments([placement_combination("best-fit")])
    assert (vector.layout.num_hosts, vector.episodes) == (6, 6)
    with pytest.raises(InputError, match=r"--report is 0\.5:1, --validation 0\.6:0\.7; expected parts of the log"):
        small_site(HOSTS, data={"workload": [EDA]}, report={"part": [0.5, 1]}).check()


def test_a_policy_for_hosts_begins_with_any_number_of_them(tmp_path: Path) -> None:
    hosts, flat = write_host_policy(tmp_path / "hosts", hidden=(8,)), tmp_path / "flat"
    small_site(HOSTS, training={"init": hosts}).check_beginning()
    write_host_policy(flat, kind="mlp", hidden=(8,))
    site = small_site(HOSTS, network={"kind": "mlp"}, training={"init": str(flat)})
    with pytest.raises(InputError, match="was made for other observations: num_hosts 4 instead of 3"):
        site.check_beginning()


def test_a_cluster_for_each_log() -> None:
    site = small_site(data={"workload": [LUBLIN, LUBLIN], "cluster": ["64", "70"]})
    assert [log.cluster.name for log in site.logs] == ["64", "70"]


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"episodes": {"part": [0.0, 0.65]}}, "--validation is 0.6:0.7, --train 0:0.65; expected parts of the log one"),
        ({"validation": {"part": [0.6, 0.75]}}, "--report is 0.7:1, --validation 0.6:0.75; expected parts"),
        ({"validation": {"length": 61}}, r"a window has 61 jobs \(--length\), but .* its part 0.6:0.7 \(part\) 60;"),
    ],
)
def test_days_that_overlap_or_are_too_short(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        small_site(**sections).check()


def test_windows_of_the_parts_lie_apart() -> None:
    site = small_site()
    site.check()
    ends = []
    for episodes in (site.config.episodes, site.config.validation, site.report_episodes):
        ((_, windows),) = site.source.groups(episodes)[0].parts
        ends.append((int(windows.first.min()), int(windows.first.max()) + windows.length))
    (_, train_end), (validation_begin, validation_end), (report_begin, report_end) = ends
    assert train_end <= 360 <= validation_begin
    assert validation_end <= 420 <= report_begin
    assert report_end <= 600


def test_environments_are_those_of_the_options() -> None:
    environments = small_site().environments(combine(["sjf"], ["easy"]).possible)
    assert (environments.num_envs, environments.layout.window, environments.episodes) == (4, 8, 12)
    hosts = small_site(HOSTS).environments([placement_combination("best-fit")])
    assert (hosts.layout.num_hosts, hosts.episodes) == (3, 6)


def test_hosts_are_measured_on_episodes_that_are_not_trained_on() -> None:
    site = small_site(HOSTS)
    trained = {one.workload.content_sha256 for one in _logs(site, Use.TRAINING)}
    validated = {one.workload.content_sha256 for one in _logs(site, Use.VALIDATION)}
    reported = {one.workload.content_sha256 for one in _logs(site, Use.REPORT)}
    assert (len(validated), len(reported)) == (5, 5)
    assert trained.isdisjoint(validated | reported)
    assert validated.isdisjoint(reported)


def _logs(site: Site, use: Use) -> list[Log]:
    (group,) = site.trials(site.config.validation, use).groups
    return [log for log, _ in group.parts]


def trained(site: Site, folder: Path, **keywords: Any) -> list[Combination]:  # noqa: ANN401 - those of `open_trainer`
    chosen = site.choose()
    open_trainer(site, chosen, folder, **keywords).run()
    return chosen


def test_a_network_that_begins_as_an_order_decides_as_it_does(tmp_path: Path) -> None:
    """So the first validation is what the order itself gets with the dispatch rule that the mode is like."""
    site = small_site(environment={"window": 200}, network={"order_temperature": 8.0})
    chosen = trained(site, tmp_path)
    trials = site.trials(site.config.validation, Use.VALIDATION)
    (found,) = trials.of_schedulers([site.config.environment.scheduler], site.objective.metrics)
    (base,) = trials.of_schedulers([chosen[0].scheduler], site.objective.metrics)
    begun = Validation(trials, chosen, site.objective)(load_policy(tmp_path / INITIAL))
    assert begun["objective"] == pytest.approx(site.objective.cost(found, base))


def test_a_run_has_its_checkpoints_and_says_where_they_come_from(tmp_path: Path) -> None:
    site = small_site()
    (chosen,) = trained(site, tmp_path)
    for name in (INITIAL, BEST, LAST):
        assert load_policy(tmp_path / name).options == site.config.environment
    facts = read_part(tmp_path / BEST, POLICY).facts["training"]
    (log,) = facts["logs"]
    assert (log["name"], log["jobs"], log["cluster"]) == (LUBLIN, 600, "64")
    assert (facts["train"], facts["validation"]) == ([0.0, 0.6], [0.6, 0.7])
    assert (facts["chosen"], facts["objective"]) == ([chosen.label], "mean_bounded_slowdown")
    assert [(day["use"], day["part"]) for day in facts["days"]] == [("trained", [0.0, 0.6]), ("chosen", [0.6, 0.7])]
    rows = (tmp_path / "progress.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["steps", "0", "64", "128", "192"]


class PauseError(Exception):
    """Stands for a lost connection, or a power cut."""


@pytest.mark.parametrize("base", [SMALL, HOSTS])
def test_a_pause_changes_nothing(tmp_path: Path, base: dict[str, Any]) -> None:
    def pause(progress: Progress) -> None:
        raise PauseError

    site = small_site(base)
    trained(site, tmp_path / "whole")
    with pytest.raises(PauseError):
        trained(site, tmp_path / "paused", callbacks=(pause,))
    assert load_policy(tmp_path / "paused" / LAST).record.training["steps"] == 64
    trained(small_site(base), tmp_path / "paused", resume=True)
    for name in (INITIAL, BEST, LAST):
        files = [tmp_path / run / name / "policy.safetensors" for run in ("whole", "paused")]
        assert files[0].read_bytes() == files[1].read_bytes(), name
    whole, paused = (_validations(tmp_path / run) for run in ("whole", "paused"))
    assert whole == paused


def _validations(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="") as file:
        return [{key: row[key] for key in row if key.startswith("validation/")} for row in csv.DictReader(file)]


def test_gains_are_counted_from_the_beginning_after_a_pause_too(tmp_path: Path) -> None:
    # With this seed it does not learn to wait.
    trained(small_site(training={"seed": 1}), tmp_path)
    write_policy(tmp_path / INITIAL, order="saf", window=8, change=waiting)
    trained(small_site(training={"seed": 1, "steps": 256}), tmp_path, resume=True)
    gains = [float(row["validation/gain"]) for row in _validations(tmp_path)]
    assert gains[-1] > 0.1 > max(gains[:-1])


def test_another_log_is_not_gone_on_with(tmp_path: Path) -> None:
    trained(small_site(), tmp_path)
    other = small_site(data={"workload": [LUBLIN.replace("jobs=600", "jobs=601")]})
    message = r"was trained on .*jobs=600.* \(600 jobs\), which is not what .*jobs=601.* \(601 jobs\) holds"
    with pytest.raises(InputError, match=message):
        open_trainer(other, other.choose(), tmp_path, resume=True)


def test_seeds_give_other_policies_and_the_same_seed_the_same(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        trained(small_site(training={"seed": seed}), tmp_path / name)
    first, again, other = ((tmp_path / name / LAST / "policy.safetensors").read_bytes() for name in "abc")
    assert first == again != other


def test_a_reward_that_nobody_knows_is_told_before_anything_is_written() -> None:
    with pytest.raises(InputError, match="unknown reward 'fame'"):
        small_site(reward={"reward": {"fame": 1.0}}).check()


def test_the_core_computes_what_it_can() -> None:
    assert small_site().engine == "native"
    assert small_site(training={"engine": "torch"}).engine == "torch"
    register_reward("dullness")(lambda step: -step.elapsed_s)
    own = {"reward": {"dullness": 1.0}}
    assert small_site(reward=own).engine == "torch"
    with pytest.raises(InputError, match=r"engine is 'native', but rewards of your own are worked out in Python"):
        small_site(reward=own, training={"engine": "native"}).check()


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_checkpoints_say_what_computed_them(engine: str, tmp_path: Path) -> None:
    site = small_site(training={"engine": engine, "steps": 64})
    open_trainer(site, site.choose(), tmp_path).run()
    told = json.loads((tmp_path / "last" / "policy.json").read_text())["training"]
    assert told["engine"] == engine
    assert told.get("instructions") in ({"avx2", "portable"} if engine == "native" else {None})


def test_a_run_goes_on_with_the_engine_that_it_began_with(tmp_path: Path) -> None:
    site = small_site(training={"engine": "torch", "steps": 64})
    open_trainer(site, site.choose(), tmp_path).run()
    longer = small_site(training={"steps": 128})
    assert longer.engine == "native"
    outcome = open_trainer(longer, longer.choose(), tmp_path, resume=True).run()
    assert outcome.steps == 128
    assert json.loads((tmp_path / "last" / "policy.json").read_text())["training"]["engine"] == "torch"
