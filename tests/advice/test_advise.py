"""From a log to a decision: what is advised, when nothing is, and that it says what its tables say."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shunter.advice.advise import Advice
from shunter.advice.conclusion import changes, conclude
from shunter.advice.kept import STAGES
from shunter.advice.page import advice_page
from shunter.advice.site import INFERRED
from shunter.comparison import combinations
from shunter.comparison.objective import parse_objective
from shunter.errors import InputError
from shunter.execution.operating.configuration import read_configuration
from shunter.metrics.labels import brief_seconds, percent
from shunter.policies.scheduler import resolve_scheduler
from shunter.report.page.parts import NOTE
from tests.advice.small import CROWDED, FEW, QUIET, TRAINED, advised, asked, written


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Advice:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(combinations, "CLASSICS", FEW)
        return advised(out=tmp_path_factory.mktemp("crowded") / "advice")


def row(stage: dict[str, Any], label: str) -> dict[str, Any]:
    return next(one for one in stage["rows"] if one["label"] == label)


def test_the_sentence_is_what_the_tables_say(crowded: Advice) -> None:
    later, conclusion = crowded.stages["later"], crowded.conclusion
    assert conclusion["kind"] == "change"
    against = row(later, later["advised"])["against"][later["today"]]
    assert against["ratio_high"] < 1
    assert all(one["holds"] for one in row(later, later["advised"])["bounds"])
    assert f"falls by {percent(1 - against['ratio'])}" in crowded.headline
    assert f"(95 %: {percent(1 - against['ratio_high'])} to {percent(1 - against['ratio_low'])})" in crowded.headline
    # The price is named beside it, and it is that of the tables and of the runs.
    longest_s = {name: row(later, later[name])["max_wait_s"] for name in ("today", "advised")}
    rises = f"the longest wait rises from {brief_seconds(longest_s['today'])} to {brief_seconds(longest_s['advised'])}"
    assert rises in crowded.headline
    assert longest_s == later["pays"]["longest_s"]


@pytest.mark.parametrize(
    ("ratio", "low", "high", "words"),
    [
        (0.18, 0.09, 0.38, "falls by 82 % (95 %: 62 % to 91 %)"),
        (0.004, 0.001, 0.01, "falls by 99.6 % (95 %: 99.0 % to 99.9 %)"),
        (0.9, 0.7, 1.2, "falls by 10 % (95 %: 30 % less to 20 % more)"),
        (1.5, 1.2, 1.9, "rises by 50 % (95 %: 20 % to 90 %)"),
        (20.0, 5.0, 40.0, "becomes 20.0 times as much (95 %: 5.00 to 40.0 times)"),
        (0.5, None, None, "falls by 50 % (no interval: too few blocks)"),
    ],
)
def test_changes_are_told_in_percent(ratio: float, low: float | None, high: float | None, words: str) -> None:
    assert changes({"identical": False, "ratio": ratio, "ratio_low": low, "ratio_high": high}) == words


def test_a_fallback_names_the_choice_that_failed_and_why(crowded: Advice) -> None:
    stages = deepcopy(crowded.stages)
    later = stages["later"]
    later["chosen"] = "sjf/easy"
    later["failures"]["sjf/easy"] = ["has a longest wait 4.01 times that of fcfs/easy (allowed: at most 1.5)"]
    sentences = conclude("change", stages)["sentences"]
    replaced = next(each for each in sentences if each.startswith("sjf/easy was chosen on the days before"))
    assert "has a longest wait 4.01 times" in replaced
    assert replaced.endswith(f"{later['advised']}, with shorter waits on the days before, takes its place.")
    assert any("after another choice had failed there" in each for each in sentences)
    assert not any("judged once" in each for each in sentences)
    assert any("judged once" in each for each in conclude("change", crowded.stages)["sentences"])


def test_a_refused_choice_shows_todays_figures_and_not_the_gain(crowded: Advice) -> None:
    stages = deepcopy(crowded.stages)
    chosen = stages["later"]["chosen"]
    stages["later"] |= {"is_better": False}
    stages["later"]["failures"][chosen] = ["has a longest wait 1.62 times that of fcfs/easy (allowed: at most 1.5)"]
    conclusion = conclude("keep", stages)
    assert conclusion["headline"] == "Keep fcfs/easy. The choice does not hold on the later days."
    assert f"{chosen} was chosen on the days before, but on the later days it has a longest wait 1.62 times" in str(
        conclusion["sentences"]
    )
    assert all("under fcfs/easy" in fact["note"] for fact in conclusion["facts"] if fact["label"] == "mean wait")
    assert not any(fact["label"] == "mean bounded slowdown" for fact in conclusion["facts"])


def test_what_is_advised_is_what_was_chosen_and_can_be_run(crowded: Advice) -> None:
    choice, later = crowded.stages["choice"], crowded.stages["later"]
    file = str(crowded.folder / "advised.toml")
    scheduler = resolve_scheduler(policy=file, estimate=file)
    assert f"{scheduler.policy.kind}/{scheduler.settings.dispatch}" in choice["chosen"].replace("tuned score", "linear")  # type: ignore[union-attr]
    (chosen, *_) = choice["path"]
    assert scheduler.settings.max_wait_s == chosen["max_wait_s"] == later["max_wait_s"]
    assert later["kind"] == chosen["kind"]
    assert later["advised"] == choice["chosen"] == chosen["label"]
    # Without a limit, too: beside a scheduler there is one of a week unless 'off' is said.
    assert read_configuration(crowded.folder / "operate.toml", {}).max_wait_s == later["max_wait_s"]
    assert any(file in command for step in crowded.conclusion["next"] for command in step["commands"])


def test_no_recommendation_lets_the_longest_wait_grow_beyond_the_bound() -> None:
    for number, spec in enumerate((CROWDED, CROWDED.replace("seed=1", "seed=3"))):
        later = advised(spec, out=Path(f"advice-{number}")).stages["later"]
        today, shown = row(later, later["today"]), row(later, later["advised"])
        if later["is_better"]:
            assert shown["max_wait_s"] <= 1.5 * today["max_wait_s"]
            assert shown["mean_wait_ratio"] <= 1
        else:
            assert later["failures"].get(later["chosen"], ["none"])


def test_limits_take_part_in_the_choice(crowded: Advice) -> None:
    stages = crowded.stages
    limited = [each for each in stages["choice"]["candidates"] if each["max_wait_s"] is not None]
    assert len({each["max_wait_s"] for each in limited}) >= 3
    assert any(not each["failures"] for each in limited)
    # Without reservations a limit only changes the order.
    assert not any("/strict" in each["label"] or "/greedy" in each["label"] for each in limited)


def test_the_best_of_the_chart_is_explained_on_the_first_screen(crowded: Advice) -> None:
    best = crowded.stages["later"]["best"]
    assert best["label"] == crowded.stages["later"]["rows"][0]["label"]
    (line,) = [each for each in crowded.conclusion["sentences"] if each.startswith("The best of the chart")]
    assert line.startswith(f"The best of the chart, {best['label']}, is not recommended: it ")


def test_where_every_candidate_breaks_a_bound_the_figure_is_the_one_that_was_held_against_it() -> None:
    advice = advised(objective=parse_objective("bounded-slowdown", ("max-wait=0.2",)))
    later = advice.stages["later"]
    assert advice.headline.startswith("Keep fcfs/easy. ")
    better, tried = advice.stages["choice"]["better"], len(advice.stages["choice"]["candidates"]) - 1
    assert advice.headline.endswith(f"on the days to choose on ({better} of {tried}) breaks a bound.")
    assert advice.stages["choice"]["path"] == []
    (line,) = [each for each in advice.conclusion["sentences"] if each.startswith("The best of the chart")]
    best = row(later, later["best"]["label"])
    longest = best["max_wait_s"] / row(later, later["today"])["max_wait_s"]
    on_average = next(each["ratio"] for each in best["bounds"])
    assert f"it has a longest wait {max(longest, on_average):.3g} times that of fcfs/easy" in line
    assert line.endswith("(allowed: at most 0.2).")
    # The way out is named, and it is the command that was run with a wider bound.
    assert "--bound max_wait_s=0.4" in advice.conclusion["next"][0]["commands"][0]


def test_the_configuration_for_operate_can_be_read(crowded: Advice) -> None:
    from shunter.execution.operating.configuration import Configured
    from shunter.execution.operating.modes import mode_of

    file = str(crowded.folder / "advised.toml")
    told = Configured(crowded.folder / "operate.toml", {"policy": file, "estimate": file}, mode_of("observe"))
    assert told.now.max_wait_s == crowded.stages["later"]["max_wait_s"]


def test_every_stage_is_kept_and_a_page_is_written(crowded: Advice) -> None:
    assert list(crowded.stages) == list(STAGES)
    for name in STAGES:
        content = json.loads((crowded.folder / f"{name}.json").read_text())
        assert content["result"] == crowded.stages[name]
    assert crowded.page is not None
    assert crowded.page.stat().st_size > 10_000
    for run in ("today", "advised"):
        assert (crowded.folder / "runs" / run / "manifest.json").is_file()


def test_each_section_of_the_page_is_called_otherwise(crowded: Advice) -> None:
    titles = [section.title for section in advice_page(crowded.folder).sections]
    assert "Who pays" in titles
    assert len(set(titles)) == len(titles)


def test_later_days_change_nothing_before_the_choice(tmp_path: Path) -> None:
    late = pl.int_range(pl.len()) >= 840
    changed = {
        "run_s": pl.when(late).then(pl.col("run_s") * 3).otherwise("run_s"),
        "requested_s": pl.when(late).then(pl.col("requested_s") * 5).otherwise("requested_s"),
        "tasks": pl.when(late).then(1).otherwise("tasks"),
    }
    found = [
        advised(written(tmp_path, name=f"{name}.parquet", columns=columns), out=Path(name))
        for name, columns in (("as-it-was", None), ("changed", changed))
    ]
    first, second = (one.stages for one in found)
    for name in ("comparison", "tuning", "choice"):
        told = [json.dumps(one[name]).replace("as-it-was", "X").replace("changed", "X") for one in (first, second)]
        assert told[0] == told[1], name
    assert first["later"]["rows"] != second["later"]["rows"]


def test_where_nobody_waits_there_is_no_advice() -> None:
    advice = advised(QUIET)
    assert advice.conclusion["kind"] == "quiet"
    assert "too few jobs wait" in advice.headline
    # Options that other verbs have and this one has not.
    assert not any("--part" in one or "--warmup" in one for one in advice.conclusion["sentences"])
    assert "later" not in advice.stages
    assert advice.page is not None


def test_too_short_a_log_is_said_to_be() -> None:
    advice = advised("generate:lublin?seed=3&jobs=799&cores=64&load=1.0")
    assert advice.conclusion["kind"] == "too-short"
    assert "799 jobs are too few" in advice.headline
    assert "800 jobs or more" in advice.headline
    assert "comparison" not in advice.stages


@pytest.mark.slow
def test_a_simulation_that_does_not_explain_the_log_stops_it(tmp_path: Path) -> None:
    log = written(tmp_path, columns={"logged_wait_s": pl.col("run_s").shuffle(seed=1) * 40 + 5000})
    advice = advised(log)
    assert advice.conclusion["kind"] == "not-believed"
    assert "does not explain the waits" in advice.headline
    assert "comparison" not in advice.stages
    anyway = advised(log, anyway=True)
    assert anyway.conclusion["kind"] == "change"
    assert any("does NOT explain" in sentence for sentence in anyway.conclusion["sentences"])
    assert anyway.headline.startswith("Not to be relied on")
    # Green is for what is settled.
    assert advice_page(anyway.folder).summary.tone == NOTE
    # What was kept of the first go is not done again.
    assert "calibration" in anyway.reused


@pytest.mark.slow
def test_what_was_reached_before_and_is_not_now_is_gone() -> None:
    advised()
    advised(QUIET)
    assert not Path("advice/later.json").exists()


@pytest.mark.slow
def test_run_times_that_are_known_are_said_to_be() -> None:
    for spec in (CROWDED.replace("factor", "none"), CROWDED.replace("factor", "accurate")):
        advice = advised(spec, out=Path(spec[-8:]))
        assert any("assumes that run times are known" in one for one in advice.conclusion["sentences"])


def test_who_needs_true_run_times_is_never_advised(tmp_path: Path) -> None:
    none = pl.lit(None, dtype=pl.Float64)
    advice = advised(written(tmp_path, columns={"requested_s": none}))
    candidates = advice.stages["choice"]["candidates"]
    knowing = [each for each in candidates if each["label"].startswith("sjf/easy") and "posterior" not in each["label"]]
    assert knowing
    assert all(each["failures"] for each in knowing)
    for one in advice.stages["comparison"]["best"]:
        assert one["words"]["policy"] not in ("sjf", "saf", "f2")
    assert any("no requested time" in one for one in advice.conclusion["sentences"])


@pytest.mark.slow
def test_users_stand_in_for_requests(tmp_path: Path) -> None:
    none = pl.lit(None, dtype=pl.Float64)
    user = "u" + (pl.col("run_s").rank("ordinal") // 200).cast(pl.String)
    advice = advised(written(tmp_path, columns={"requested_s": none, "user": user}))
    assert advice.stages["comparison"]["combinations"][0]["estimate"] == "last-two"
    assert advice.stages["cluster"]["reserve_by"] == ["--reserve-by", "estimate"]


@pytest.mark.slow
def test_a_single_limit_is_used_and_several_are_chosen_from() -> None:
    single = advised(limits_s=(86_400.0,)).stages
    limits = {each["kind"]: each["max_wait_s"] for each in single["choice"]["candidates"]}
    assert limits.pop("today") is None
    assert set(limits.values()) == {86_400.0}
    assert "--max-wait 1d" in single["later"]["advised"]
    several = advised(limits_s=(None, 7200.0)).stages
    assert {each["max_wait_s"] for each in several["choice"]["candidates"]} == {None, 7200.0}
    assert len(several["later"]["limits"]) == 2


@pytest.mark.slow
def test_the_policy_of_today_may_be_the_best_already() -> None:
    best = advised().stages["comparison"]["best"][0]["label"]
    advice = advised(site=best, out=Path("again"))
    assert advice.stages["later"]["today"] == best
    assert [each["label"] for each in advice.stages["choice"]["candidates"]].count(best) == 1


def test_the_machine_may_be_inferred(tmp_path: Path) -> None:
    log = written(tmp_path, columns={"logged_wait_s": pl.col("run_s") * 0})
    jobs = pl.read_parquet(log)
    jobs.write_parquet(log)  # Without the note of the machine that Shunter writes beside the table.
    advice = advised(log, anyway=True)
    assert advice.stages["cluster"]["from"] == INFERRED
    assert advice.stages["cluster"]["words"] == ["--cluster", "advice/cluster.toml"]
    # Where nobody waits on what was inferred, the machine may be another.
    jobs.with_columns(submit_s=pl.int_range(pl.len()) * 86_400.0).write_parquet(log)
    quiet = advised(log, anyway=True)
    assert quiet.conclusion["kind"] == "quiet"
    assert "--nodes nodes.txt" in quiet.conclusion["next"][0]["commands"][0]


@pytest.mark.slow
def test_the_sites_own_files_tell_the_machine_and_the_order(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "ClusterName=small\nSchedulerType=sched/backfill\nPriorityType=priority/multifactor\nPriorityWeightAge=1000\n"
        "PriorityWeightJobSize=10\nNodeName=n[1-4] CPUs=16 RealMemory=64000\nPartitionName=all Nodes=ALL Default=YES\n"
    )
    advice = advised(nodes=(str(conf),))
    cluster = advice.stages["cluster"]
    assert cluster["cluster"]["cores"] == 64
    assert cluster["site"]["label"] == "site-policy.toml/conservative"
    assert Path("advice/site-policy.toml").is_file()


@pytest.mark.slow
def test_a_network_is_trained_where_there_is_time() -> None:
    advice = advised(effort=TRAINED)
    training = advice.stages["training"]
    assert training["skipped"] is None
    assert training["steps"] >= TRAINED.steps
    assert Path("advice/learned/best/policy.json").is_file()


@pytest.mark.slow
def test_policies_that_stop_jobs_are_tried_only_if_allowed() -> None:
    plain = {row["policy"] for row in advised().stages["comparison"]["combinations"]}
    allowed = advised(allow_preemption=True).stages["comparison"]["combinations"]
    assert not plain & {"srtf", "las"}
    stopping = [row for row in allowed if row["policy"] in ("srtf", "las")]
    assert stopping
    # At a cost: no mark of free stops.
    assert not any("free-preemption" in row["marks"] for row in stopping)


NASTY = "<script>alert(1)</script>\"'$x\u202e"


@pytest.mark.slow
def test_names_of_strangers_are_shown_as_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from shunter.advice.terminal import print_advice

    log = written(tmp_path, name="<b>'$x\u202e.parquet", columns={"user": pl.lit(NASTY)})
    advice = advised(log)
    assert advice.page is not None
    page = advice.page.read_text()
    assert "<script>alert(1)" not in page
    assert "<b>'$x" not in page
    assert "\u202e" not in page
    print_advice(advice)
    assert "\u202e" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nodes": ("a.conf",), "cluster": "64"}, "both describe the machine"),
        ({"threads": 0}, "--threads is 0"),
        ({"placements": ("nowhere",)}, "unknown placement 'nowhere'"),
        ({"site": "nobody/easy"}, "unknown policy 'nobody'"),
        ({"load": -1.0}, "load"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_read(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        asked("no-such-file.swf", **given).check()
