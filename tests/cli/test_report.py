"""``shunter report``: a page of every kind of folder, opened in a browser, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from shunter.cli.report_kinds import kinds
from tests.browser import NARROW, OpenPage
from tests.cli.conftest import Command
from tests.cli.test_operate_lsf import lsf as lsf
from tests.cli.test_operate_lsf import operate as operate
from tests.cli.test_train_seeds import TRAIN
from tests.execution.lsf.emulation import EmulatedLsf

LUBLIN = "generate:lublin?seed=3&jobs=400&cores=64&load=1.1&requests=factor"
GPUS = "generate:bursty-gpu?seed=3&jobs=300"
NASTY_USER = "<img src=x onerror=alert(1)>"


def made(shunter: Command, *folders: object, out: Path, more: tuple[object, ...] = ()) -> Path:
    """Makes a page, having checked that the command says so."""
    answer = shunter("report", *folders, "--out", out, *more)
    assert (answer.code, answer.err, answer.out) == (0, "", f"written: {out}\n")
    return out


def look_through(page: Path, open_page: OpenPage, *headings: str, width: int = NARROW) -> str:
    """Opens a page, by default as on a phone, looks at all of it, and returns its text; it must have these sections."""
    watched = open_page(page, width=width, dark=width == NARROW)
    watched.scroll_through()
    assert watched.overflow() == 0
    found = watched.page.locator("main h2").all_inner_texts()
    for heading in headings:
        assert heading in found
    for place in watched.page.locator("figure.chart:visible .plot").all():
        place.locator("svg").first.wait_for()  # Every figure is drawn,
        assert place.get_attribute("aria-label"), "and told to those who cannot see it"
    return watched.page.locator("main").inner_text()


@pytest.fixture
def run(shunter: Command, tmp_path: Path) -> Path:
    folder = tmp_path / "fcfs"
    assert shunter("simulate", LUBLIN, "--policy", "fcfs", "--dispatch", "easy", "--out", folder).code == 0
    return folder


def test_a_run(shunter: Command, run: Path, tmp_path: Path, open_page: OpenPage) -> None:
    page = made(shunter, run, out=tmp_path / "run.html")
    text = look_through(
        page, open_page, "The log", "Metrics", "Use and queue", "Waits", "Jobs over time", "How to repeat it"
    )
    metrics = json.loads((run / "metrics.json").read_text())["metrics"]
    assert f"{metrics['mean_bounded_slowdown']:.1f}" in text
    assert f"shunter simulate '{LUBLIN}' --policy fcfs --dispatch easy" in text
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["schedule_sha256"] in text


def test_without_a_name_the_page_lies_with_the_run(shunter: Command, run: Path) -> None:
    assert shunter("report", run).out == f"written: {run / 'report.html'}\n"
    # A report in the folder of a run is no obstacle to running it again.
    assert shunter("simulate", LUBLIN, "--out", run, "--force").code == 0


def test_runs_side_by_side(shunter: Command, run: Path, tmp_path: Path, open_page: OpenPage) -> None:
    other = tmp_path / "f2"
    shunter("simulate", LUBLIN, "--policy", "f2", "--dispatch", "easy", "--out", other)
    text = look_through(made(shunter, run, other, out=tmp_path / "two.html"), open_page, "Waits", "Jobs over time")
    assert "2 runs side by side" in text
    assert "Jobs under f2/easy" in text


def test_gpus_and_fragmentation(shunter: Command, tmp_path: Path, open_page: OpenPage) -> None:
    shunter("simulate", GPUS, "--out", tmp_path / "gpus")
    text = look_through(
        made(shunter, tmp_path / "gpus", out=tmp_path / "gpus.html"), open_page, "GPUs and fragmentation"
    )
    share = json.loads((tmp_path / "gpus" / "metrics.json").read_text())["metrics"]["mean_fragmentation"]
    assert f"On average: {100 * share:.1f} %." in text


def test_a_comparison_and_an_evaluation(shunter: Command, tmp_path: Path, open_page: OpenPage) -> None:
    words = ("--windows", 12, "--length", 30)
    shunter("compare", LUBLIN, *words, "--policy", "fcfs,sjf,f2", "--out", tmp_path / "compared")
    page = made(shunter, tmp_path / "compared", out=tmp_path / "compared.html")
    assert "shunter compare" in page.read_text(encoding="utf-8")
    nameless = made(shunter, tmp_path / "compared", out=tmp_path / "nameless.html", more=("--anonymous",))
    assert "shunter compare" not in nameless.read_text(encoding="utf-8")
    text = look_through(page, open_page, "Contenders", "Trade-off", "Waits by size", "How to repeat it")
    result = json.loads((tmp_path / "compared" / "comparison.json").read_text())
    best = result["combinations"][0]
    assert f"{best['ratio']:.2f} [{best['ratio_low']:.2f}, {best['ratio_high']:.2f}]" in text
    assert shunter("compare", LUBLIN, *words, "--policy", "fcfs,sjf,f2", "--json").json().keys() == result.keys()


def test_a_calibration(shunter: Command, tmp_path: Path, open_page: OpenPage) -> None:
    log = tmp_path / "log.swf"
    rows = [f"{n} {60 * n} {7 * n % 90} {300 + n} 4 -1 -1 4 900 -1 1 {n % 5} 1 -1 1 -1 -1 -1" for n in range(1, 200)]
    log.write_text("; MaxProcs: 16\n; UnixStartTime: 1700000000\n" + "\n".join(rows) + "\n")
    assert shunter("calibrate", log, "--out", tmp_path / "calibrated").code == 0
    page = made(shunter, tmp_path / "calibrated", out=tmp_path / "calibrated.html")
    text = look_through(page, open_page, "Is it believable?", "How to repeat it")
    assert json.loads((tmp_path / "calibrated" / "calibration.json").read_text())["verdict"] in text


@pytest.mark.slow
def test_a_training_its_seeds_and_an_evaluation(
    shunter: Command, tmp_path: Path, open_page: OpenPage, few_classics: None
) -> None:
    folder = tmp_path / "seeds"
    assert shunter(*TRAIN, "--seeds", 2, "--threads", 2, "--out", folder).code == 0
    assert "seed 1" in look_through(
        made(shunter, folder, out=tmp_path / "s.html"), open_page, "Seeds", "Learning curves"
    )
    one = folder / "seed-0"
    text = look_through(made(shunter, one, out=tmp_path / "one.html"), open_page, "Learning curves", "What it came to")
    assert "saf" in text
    both = made(shunter, one, folder / "seed-1", out=tmp_path / "both.html")
    assert "2 trainings side by side" in look_through(both, open_page, "Learning curves")
    log = TRAIN[1]
    words = ("--windows", 4, "--length", 24, "--against", "fcfs/easy,saf/easy")
    assert shunter("evaluate", one, log, *words, "--out", tmp_path / "evaluated").code == 0
    page = made(shunter, tmp_path / "evaluated", out=tmp_path / "evaluated.html")
    assert "learned" in look_through(page, open_page, "Contenders")


@pytest.mark.slow
def test_a_study(shunter: Command, tmp_path: Path, open_page: OpenPage, few_classics: None) -> None:
    names = iter(TRAIN[2:])
    training = {str(name).removeprefix("--").replace("-", "_"): value for name, value in zip(names, names, strict=True)}
    wanted: dict[str, object] = {
        "training.steps": 64,
        "training.eval_every": 64,
        "training.save_every": 64,
        "ppo.num_envs": 4,
    }
    wanted |= {"ppo.rollout_steps": 16, "ppo.minibatch": training["minibatch"], "ppo.epochs": 1, "episodes.length": 24}
    wanted |= {"validation.windows": 4, "validation.length": 24, "report.windows": 4, "report.length": 24}
    text = "[study]\nname = 'tiny'\nseeds = [0]\n[logs]\nsmall = '" + str(TRAIN[1]) + "'\n[common]\n"
    text += "\n".join(f"{name} = {value}" for name, value in wanted.items())
    (tmp_path / "study.toml").write_text(text + "\n[variants.one]\n[variants.two]\nppo.learning_rate = 0.01\n")
    answer = shunter("study", tmp_path / "study.toml", "--out", tmp_path / "study")
    assert answer.code == 0, answer.err
    page = made(shunter, tmp_path / "study", out=tmp_path / "study.html")
    assert "2 of 2 runs ended" in look_through(page, open_page, "Variants", "Learning curves")


def test_an_operation(
    shunter: Command, operate: Command, lsf: EmulatedLsf, tmp_path: Path, open_page: OpenPage
) -> None:
    for mode in ("observe", "nudge"):
        assert operate("lsf", "--policy", "sjf", "--once", "--mode", mode).code == 0
    page = made(shunter, tmp_path / "state", out=tmp_path / "operation.html")
    text = look_through(page, open_page, "Decisions over time", "Why", "Changes")
    assert "Beside lsf, sjf decided 2 times" in text
    of_audit = made(shunter, tmp_path / "state" / "audit.jsonl", out=tmp_path / "audit.html")
    assert of_audit.stat().st_size == pytest.approx(page.stat().st_size, rel=0.01)


def test_what_json_printed(shunter: Command, tmp_path: Path, open_page: OpenPage, few_classics: None) -> None:
    search = ("--windows", 4, "--length", 40, "--generations", 1, "--population", 4, "--report-windows", 4)
    answer = shunter("tune", LUBLIN, *search, "--out", tmp_path / "tuned.toml", "--json")
    (tmp_path / "tuning.json").write_text(answer.out)
    text = look_through(made(shunter, tmp_path / "tuning.json", out=tmp_path / "t.html"), open_page, "What it came to")
    for row in answer.json()["logs"][0]["rows"]:
        assert row["label"] in text
    answer = shunter("compare", LUBLIN, "--windows", 6, "--length", 30, "--policy", "fcfs,sjf", "--json")
    (tmp_path / "compared.json").write_text(answer.out)
    look_through(made(shunter, tmp_path / "compared.json", out=tmp_path / "c.html"), open_page, "Contenders")
    (tmp_path / "other.json").write_text("{}")
    assert (
        "expected what compare, evaluate, calibrate or tune prints"
        in shunter("report", tmp_path / "other.json").error()
    )


def test_names_of_users_become_numbers(shunter: Command, tmp_path: Path, open_page: OpenPage) -> None:
    log = tmp_path / "secret.csv"
    lines = [f"{n},{30 * n},{600},{4},{NASTY_USER if n % 2 else 'zorblax'}" for n in range(60)]
    log.write_text("job_id,submit_s,run_s,cores,user\n" + "\n".join(lines) + "\n")
    assert shunter("simulate", log, "--cluster", 8, "--out", tmp_path / "run").code == 0
    named = look_through(made(shunter, tmp_path / "run", out=tmp_path / "named.html"), open_page)
    assert NASTY_USER in named
    assert "zorblax" in named
    anonymous = made(shunter, tmp_path / "run", out=tmp_path / "anonymous.html", more=("--anonymous",))
    assert "user 2" in look_through(anonymous, open_page)
    text = anonymous.read_text(encoding="utf-8")
    for secret in ("zorblax", "onerror=alert", str(tmp_path)):
        assert secret not in text


def test_what_is_no_result_is_told_in_one_line(shunter: Command, run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    message = shunter("report", tmp_path / "empty").error()
    assert message.startswith(f"{tmp_path / 'empty'}: nothing here that a report can be made of")
    for kind in kinds():
        assert kind.written_by in message
    assert "no such folder" in shunter("report", tmp_path / "nowhere").error()
    assert "ends in .html" in shunter("report", run, "--out", tmp_path / "page.pdf").error()
    assert "create it first" in shunter("report", run, "--out", tmp_path / "no" / "page.html").error()
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "progress.csv").write_text("steps,validation/ratio\n0,1.1\n")
    assert "name folders of one kind" in shunter("report", run, tmp_path / "training").error()


@pytest.mark.parametrize("name", ["metrics.json", "manifest.json", "schedule.parquet"])
def test_damaged_files_are_told_in_one_line(shunter: Command, run: Path, name: str) -> None:
    (run / name).write_bytes((run / name).read_bytes()[:40])
    assert re.search(r"take another copy|write it again|simulate again", shunter("report", run).error())


def test_a_result_that_was_changed_by_hand_is_told_in_one_line(shunter: Command, tmp_path: Path) -> None:
    folder = tmp_path / "compared"
    shunter("compare", LUBLIN, "--windows", 6, "--length", 30, "--policy", "fcfs,sjf", "--out", folder)
    result = json.loads((folder / "comparison.json").read_text())
    del result["combinations"][0]["ratio"]
    (folder / "comparison.json").write_text(json.dumps(result))
    assert "damaged, or of another version (KeyError: 'ratio')" in shunter("report", folder).error()
    (folder / "comparison.json").unlink()
    assert "compare again with --out" in shunter("report", folder).error()
