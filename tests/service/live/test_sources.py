"""What each source shows: queues, operations, trainings, runs and logs, and what happens when they go away."""

from __future__ import annotations

import itertools
import json
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shunter.advice.kept import Kept
from shunter.cli.live_options import SourceArguments
from shunter.cli.report_kinds import kinds
from shunter.errors import InputError
from shunter.execution.deciding import queue_scheduler
from shunter.execution.operating.folder import OperationFolder
from shunter.metrics.run_folder import CALIBRATION
from shunter.model.cluster import Cluster
from shunter.model.log import Log
from shunter.policies.scheduler import resolve_scheduler
from shunter.service.limits import Limits
from shunter.service.live.controls import Choice, Control, Slider, read_answers
from shunter.service.live.log_source import LogSource
from shunter.service.live.operation_source import OperationSource
from shunter.service.live.panels import NodeState, Panel, scattered, to_json_bytes
from shunter.service.live.queue_source import QueueSource
from shunter.service.live.runs_source import WORDS_OF, RunsSource
from shunter.service.live.seldom import Seldom
from shunter.service.live.training_source import TrainingSource
from shunter.service.live.what_if import with_more
from shunter.service.refusals import RefusedError
from shunter.service.service import Loaded, Service
from shunter.simulation.eta import state_at
from shunter.workloads.reading import read_log
from tests.execution.box import Box
from tests.execution.operating.beside import Beside
from tests.execution.operating.recorded import Recording, SimulatedSite

HOSTILE = "<script>alert('1')</script> \u202e$HOME \"quoted\""


def shown(panel: Panel) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Returns the content of a panel as the page gets it."""
    return json.loads(to_json_bytes(panel.to_json()))["content"]


def fact(panel: Panel, label: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Returns a figure."""
    return next(one["value"] for one in shown(panel)["facts"] if one["label"] == label)


def schedulers(*names: str) -> dict[str, Any]:
    """Returns ways to schedule by name, as a service loads them."""
    return {name: queue_scheduler({"policy": name}) for name in names}


# ---- a queue ----


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """A queue with two cores whose daemon runs."""
    box = Box(tmp_path / "queue")
    box.start()
    yield box
    box.stop()


def test_a_queue_shows_who_runs_who_waits_and_why_and_when_they_will_start(box: Box) -> None:
    [first] = box.submit("sleep 60", cores=2, time_s=60, name=HOSTILE)
    box.until(first, "running")
    box.submit("sleep 60", "sleep 60", time_s=60)
    [held] = box.submit("sleep 60", hold=True)
    panels = QueueSource("queue", box.folder, schedulers("sjf")).read()
    assert fact(panels["facts"], "Free cores") == "0 of 2"
    assert (fact(panels["facts"], "Run"), fact(panels["facts"], "Wait"), fact(panels["facts"], "Held")) == (1, 2, 1)
    chart = shown(panels["gantt"])
    assert [lane["name"] for lane in chart["lanes"]] == ["core 0", "core 1"]
    assert chart["bars"]["job"] == [str(first), str(first)]
    assert chart["bars"]["note"][0] == HOSTILE
    assert set(chart["bars"]["state"]) == {"running"}
    assert len(chart["line"]["job"]) == 2
    start_s = chart["bars"]["start_s"][0]
    assert all(start_s < one <= start_s + 200 for one in chart["line"]["median_s"])
    assert all(low <= high for low, high in zip(chart["line"]["low_s"], chart["line"]["high_s"], strict=True))
    assert sum(count for _, count in shown(panels["reasons"])["rows"]) == 3
    assert any("held" in name for name, _ in shown(panels["reasons"])["rows"])
    [node] = shown(panels["nodes"])["nodes"]
    assert (node["cores"], node["used_cores"], node["jobs"]) == (2, 2, [str(first)])
    listed = [row[0] for row in shown(panels["jobs"])["rows"]]
    assert listed[0] == str(first)
    assert str(held) in listed


def test_more_cores_let_the_jobs_of_a_queue_start_sooner(box: Box) -> None:
    [first] = box.submit("sleep 60", cores=2, time_s=60)
    box.until(first, "running")
    box.submit("sleep 60", "sleep 60", "sleep 60", cores=2, time_s=60)
    source = QueueSource("queue", box.folder, schedulers("sjf"))
    source.read()
    same = source.ask({})
    assert fact(same["facts"], "Mean wait from now, as it is") == fact(same["facts"], "and then")
    more = source.ask({"added": 6, "policy": "sjf", "to_come": "nobody"})
    rows = shown(more["jobs"])["rows"]
    assert len(rows) == 3
    assert all(then == 0 < now for _, now, then in rows)
    for wrong in (
        {"added": 1e9},
        {"policy": "/etc/passwd"},
        {"added": float("nan")},
        {"queue": "other"},
        {"added": True},
    ):
        with pytest.raises(InputError):
            source.ask(wrong)


def test_a_queue_whose_daemon_has_stopped_shows_its_journal_and_says_so(box: Box) -> None:
    [job] = box.submit("exit 3")
    box.wait(job)
    source = QueueSource("queue", box.folder, {})
    source.read()
    box.stop()
    panels = source.read()
    assert fact(panels["facts"], "Daemon") == "not running"
    [row] = shown(panels["ended"])["rows"]
    assert row[0] == str(job)
    assert "exit code 3" in row[2]
    with pytest.raises(RefusedError):
        source.ask({"added": 1})
    shutil.rmtree(box.folder.path)
    with pytest.raises(InputError, match="there is none"):
        source.read()


def test_a_daemon_that_does_not_answer_holds_nobody_up(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shunter.execution.local.client.SILENCE_S", 0.2)
    assert box.process is not None
    box.process.send_signal(signal.SIGSTOP)
    panels = QueueSource("queue", box.folder, {}).read()
    assert fact(panels["facts"], "Daemon") == "does not answer"
    assert "jobs" in panels


def test_a_long_queue_is_counted_whole_and_listed_in_part(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MOST_ACTIVE", 3), ("MOST_FORESEEN", 4)):
        monkeypatch.setattr(f"shunter.service.live.queue_source.{name}", most)
    [first] = box.submit("sleep 60", cores=2)
    box.until(first, "running")
    box.submit(*["sleep 1"] * 5)
    panels = QueueSource("queue", box.folder, {}).read()
    assert (fact(panels["facts"], "Wait"), fact(panels["facts"], "Starts")) == (5, "not foreseen")
    assert (len(shown(panels["jobs"])["rows"]), shown(panels["jobs"])["more"]) == (3, 3)
    assert panels["reasons"].lead.endswith("Of the first 2; 3 more wait.")


# ---- an operation ----


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory) -> OperationFolder:
    """The folder of an operation that has looked at a crowded site three times."""
    site = SimulatedSite.crowded()
    path = tmp_path_factory.mktemp("operated")
    beside = Beside(Recording([site.read(one) for one in (40_000.0, 40_300.0, 40_600.0)]), {}, path)
    operation = beside.make("observe", eta_every_s=1.0)
    for _ in range(3):
        operation.cycle()
    return beside.folder


def test_an_operation_shows_its_decision_beside_the_order_of_the_site(operated: OperationFolder) -> None:
    source = OperationSource("site", operated, schedulers("fcfs", "sjf"))
    panels = source.read()
    assert fact(panels["facts"], "Scheduler") == "slurm"
    assert fact(panels["facts"], "Process") == "none works here"
    waiting = fact(panels["facts"], "May start")
    assert waiting > 3
    rows = shown(panels["decision"])["rows"]
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    # The policy is sjf: those that ask for less time go first, and the site's own order is another one.
    asked_s = [row[4] for row in rows]
    assert asked_s == sorted(asked_s)
    assert [row[1] for row in rows] != sorted(row[1] for row in rows)
    assert all(row[6] for row in rows)
    assert len(shown(panels["nodes"])["nodes"]) == 16
    assert len(shown(panels["gantt"])["line"]["job"]) == min(40, waiting)
    assert "running" in shown(panels["gantt"])["bars"]["state"]
    assert len(shown(panels["disagreement"])["curves"][0]["x"]) == 3


def test_more_nodes_let_the_jobs_of_a_site_start_sooner(operated: OperationFolder) -> None:
    source = OperationSource("site", operated, schedulers("fcfs", "sjf"))
    source.read()
    answer = source.ask({"added": 16, "policy": "sjf"})
    assert fact(answer["facts"], "and then") < fact(answer["facts"], "Mean wait from now, as it is")


def test_who_ran_stays_on_the_chart_when_the_job_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LEAST_S", "REST"):
        monkeypatch.setattr(f"shunter.service.live.seldom.{name}", 0.0)
    site = SimulatedSite.crowded()
    beside = Beside(Recording([site.read(one) for one in (40_000.0, 50_000.0)]), {}, tmp_path)
    operation = beside.make("observe")
    operation.cycle()
    source = OperationSource("site", beside.folder, schedulers("fcfs"))
    before = {job for job in shown(source.read()["gantt"])["bars"]["job"]}
    operation.cycle()
    bars = shown(source.read()["gantt"])["bars"]
    states = dict(zip(bars["job"], bars["state"], strict=True))
    ended = {job for job, state in states.items() if state == "ended"}
    assert ended
    assert ended <= before
    assert "running" in states.values()


def test_an_operation_has_a_past_when_the_page_is_opened(tmp_path: Path) -> None:
    site = SimulatedSite.crowded()
    beside = Beside(Recording([site.read(one) for one in (40_000.0, 50_000.0)]), {}, tmp_path)
    operation = beside.make("observe")
    operation.cycle()
    operation.cycle()
    bars = shown(OperationSource("site", beside.folder, schedulers("fcfs")).read()["gantt"])["bars"]
    assert {"ended", "running"} == set(bars["state"])


def test_an_operation_whose_folder_is_gone_is_trouble_and_not_the_end(
    operated: OperationFolder, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(operated.path, folder)
    source = OperationSource("site", OperationFolder(folder), schedulers("fcfs"))
    source.read()
    shutil.rmtree(folder / "inputs")
    # Without what decisions rested on, status and audit are still there.
    panels = OperationSource("site", OperationFolder(folder), schedulers("fcfs")).read()
    assert "decision" in panels
    assert "nodes" not in panels
    shutil.rmtree(folder)
    with pytest.raises(InputError, match="cannot be read"):
        source.read()


# ---- trainings and runs ----

PROGRESS = """steps,validation/ratio,validation/is_best,entropy,steps_per_s,elapsed_s
0,1.3,1.0,,,
512,,,0.5,9000,1.5
1024,0.9,1.0,0.4,9500,3.0
"""


def test_a_training_shows_its_curves_against_the_classic(tmp_path: Path) -> None:
    (tmp_path / "progress.csv").write_text(PROGRESS)
    source = TrainingSource("first", tmp_path)
    panels = source.read()
    assert fact(panels["facts"], "State") == "not over"
    assert fact(panels["facts"], "Steps") == 1024
    assert fact(panels["facts"], "Lowest so far") == 0.9
    chart = shown(panels["validation/ratio"])
    assert chart["curves"] == [{"name": tmp_path.name, "x": [0.0, 1024.0], "y": [1.3, 0.9]}]
    assert chart["reference"] == ["the classic", 1.0]
    assert "return" not in panels
    (tmp_path / "result.json").write_text("{}")
    assert fact(source.read()["facts"], "State") == "over"
    with pytest.raises(RefusedError):
        source.ask({})
    (tmp_path / "progress.csv").write_text("")
    with pytest.raises(InputError):
        source.read()


def test_runs_are_listed_with_what_came_of_them_and_their_reports(tmp_path: Path) -> None:
    training = tmp_path / "first" / HOSTILE.replace("/", "")
    training.mkdir(parents=True)
    (training / "progress.csv").write_text(PROGRESS)
    (training / "inside").mkdir()
    (training / "inside" / "progress.csv").write_text(PROGRESS)
    (training / "report.html").write_text("<p>a report")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / CALIBRATION).write_text("{")
    advised = tmp_path / "advised"
    advised.mkdir()
    kept = Kept(advised)
    kept.stage("calibration", {}, dict)
    kept.stage("advice", {}, lambda: {"headline": "Keep what you have."})
    (tmp_path / "loop").symlink_to(tmp_path)
    every = {one.name for one in kinds()}
    # A result that was printed is a file, and no folder.
    assert set(WORDS_OF) == every - {"a result"}
    source = RunsSource("runs", tmp_path)
    rows = {row[0]: row for row in shown(source.read()["runs"])["rows"]}
    name = f"first/{training.name}"
    assert set(rows) == {name, "broken", "advised"}
    assert rows["advised"][1:4:2] == ["advice", "Keep what you have."]
    assert rows[name][1] == "training"
    assert rows[name][3] == "1,024 steps; lowest ratio to the classic 0.900"
    assert rows["broken"][3] == "not readable yet"
    assert rows["broken"][4] == ""
    assert rows[name][4].startswith("reports/runs/first%2F%3Cscript%3E")
    assert source.report(name) == training / "report.html"
    for other in ("../runs", "broken", str(training), ""):
        assert source.report(other) is None
    shutil.rmtree(tmp_path)
    with pytest.raises(OSError, match="No such file"):
        source.read()


# ---- a log ----


@pytest.fixture(scope="module")
def crowded() -> Log:
    """A log on a machine that is too small for it."""
    log = read_log("generate:lublin?seed=7&jobs=400&cores=64&load=1.2", Cluster.parse("64"))
    asked = log.workload.jobs.with_columns(requested_s=log.workload.jobs["run_s"] + 60.0)
    return replace(log, workload=replace(log.workload, jobs=asked))


def test_a_log_can_be_asked_about_any_time_of_it(crowded: Log) -> None:
    source = LogSource("lublin", crowded, schedulers("fcfs", "sjf"))
    panels = source.read()
    replay = shown(panels["replay"])
    bars = shown(panels["gantt"])["bars"]
    assert len(set(bars["job"])) == 400
    middle_s = (replay["first_s"] + replay["last_submit_s"]) / 2
    then = source.ask({"at_s": middle_s})
    running = {
        job for job, start_s, end_s in zip(bars["job"], bars["start_s"], bars["end_s"], strict=True)
        if start_s < middle_s - 1 and end_s > middle_s + 1
    }  # fmt: skip
    assert running <= set(shown(then["nodes"])["nodes"][0]["jobs"]) or len(running) > 10
    assert fact(then["facts"], "Run") >= len(running)
    waiting = fact(then["facts"], "Wait")
    assert waiting == sum(count for _, count in shown(then["reasons"])["rows"])
    assert [row[0] for row in shown(then["decision"])["rows"]] == list(range(1, min(40, waiting) + 1))
    for row in shown(then["line"])["rows"]:
        assert row[2] <= row[3] <= row[4]
    for wrong in (replay["last_submit_s"] + 1e6, -1e300, "0", None, True):
        with pytest.raises(InputError):
            source.ask({"at_s": wrong})


def test_sliders_change_nodes_load_policy_and_dispatch_of_a_log(crowded: Log) -> None:
    source = LogSource("lublin", crowded, schedulers("fcfs", "sjf"))

    def mean_wait_s(**question: Any) -> tuple[float, float]:  # noqa: ANN401 - JSON values
        now, then = (cell["value"] for cell in shown(source.ask(question)["figures"])["rows"][0][1:3])
        return now, then

    now_s, same_s = mean_wait_s()
    assert now_s == same_s > 0
    assert mean_wait_s(nodes=200)[1] < now_s / 2
    assert mean_wait_s(load=150)[1] > now_s
    assert mean_wait_s(policy="sjf")[1] < now_s
    assert mean_wait_s(dispatch="strict")[1] > now_s
    for wrong in (
        {"policy": "largest"},
        {"policy": "own.py"},
        {"dispatch": "committed"},
        {"nodes": 1000},
        {"load": "1.2x"},
    ):
        with pytest.raises(InputError):
            source.ask(wrong)


# ---- pieces ----


def test_what_is_free_on_partly_used_nodes_is_scattered() -> None:
    used, free, down = (
        NodeState("a", 4, 1, 2, (1.0, 0.0)),
        NodeState("b", 4, 0, 2, (0.0, 0.0)),
        NodeState("c", 4, 0, is_down=True),
    )
    assert scattered([used, free, down]) == {"cores": 3 / 7, "gpus": 1 / 3}
    assert scattered([NodeState("a", 4, 4)]) == {"cores": None, "gpus": None}


def test_a_larger_machine_keeps_those_that_run(crowded: Log) -> None:
    nodes = read_log("generate:lublin?seed=7&jobs=100&cores=64&load=1.2", Cluster.parse("kth-sp2"))
    scheduler = resolve_scheduler(policy="fcfs")
    state = state_at(nodes.workload, nodes.cluster, scheduler, float(nodes.workload.jobs["submit_s"][60]))
    larger = with_more(state, 3)
    assert [node.name for node in larger.cluster.nodes[-3:]] == ["sp2-0+1", "sp2-0+2", "sp2-0+3"]
    assert len(larger.snapshot.down) == len(larger.cluster.nodes) == len(state.cluster.nodes) + 3
    assert (larger.snapshot.nodes == state.snapshot.nodes).all()
    assert with_more(state, 0) is state


def test_only_what_was_offered_is_an_answer() -> None:
    controls: list[Control] = [Slider("nodes", "Nodes", 0, 10, 1, 5), Choice("policy", "Policy", ("a", "b"), "a")]
    assert read_answers(controls, {"nodes": 7}) == {"nodes": 7.0, "policy": "a"}
    for wrong in ({"nodes": 11}, {"nodes": "7"}, {"nodes": None}, {"policy": "c"}, {"policy": ["a"]}, {"more": 1}):
        with pytest.raises(InputError):
            read_answers(controls, wrong)


def test_numbers_that_are_none_become_null() -> None:
    assert to_json_bytes({"a": [float("nan"), 1.5, (float("inf"), "x")]}) == b'{"a":[null,1.5,[null,"x"]]}'


def test_what_takes_long_is_worked_out_seldom() -> None:
    times = itertools.count(1)
    kept = Seldom(lambda: next(times))
    assert kept.value("a", 0.0) == 1
    # Nothing has changed; then it is too soon; then it is time.
    assert kept.value("a", 10.0) == 1
    assert kept.value("b", 10.0) == 2
    assert kept.value("c", 10.5) == 2
    assert kept.value("c", 13.0) == 3
    assert kept.value("c", 200.0) == 4


def test_sources_that_are_called_alike_are_told_apart(tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place / "runs").mkdir(parents=True)
    shown = SourceArguments(runs=[str(tmp_path / place / "runs") for place in ("a", "b")])
    service = Service(Loaded({"sjf": {"policy": "sjf"}}), Limits())
    assert list(shown.hub(service).sources) == ["runs", "runs 2"]
    service.close()
    with pytest.raises(InputError, match="there is no such folder"):
        SourceArguments(training=[str(tmp_path / "none")]).hub(service)


def test_a_cluster_whose_jobs_ask_for_gpus_is_drawn_by_gpus() -> None:
    log = read_log("generate:helios-like?seed=1&jobs=300&nodes=9&load=0.9")
    panels = LogSource("gpu", log, schedulers("fcfs")).read()
    chart = shown(panels["gantt"])
    assert [lane["bottom"] - lane["top"] for lane in chart["lanes"]] == [8.0] * 9
    assert len(set(chart["bars"]["job"])) > 200
    assert "as high as it has GPUs" in panels["gantt"].lead
    assert chart["bars"]["note"][0].split(",")[0].endswith(("GPU", "GPUs"))
