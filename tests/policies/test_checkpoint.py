"""A checkpoint in the place of a policy's name: how it is known, and what it brings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shunter import InputError
from shunter.policies.checkpoint import (
    checkpoint_file,
    checkpoint_folder,
    is_checkpoint,
    resolve_checkpoint,
)
from shunter.policies.native import resolve_estimate
from shunter.policies.own import python_path
from shunter.policies.scheduler import resolve, resolve_placement, resolve_scheduler
from tests.agents.untrained import edit_policy, write_host_policy, write_policy


def test_how_a_checkpoint_is_named(tmp_path: Path) -> None:
    run = tmp_path / "first"
    last = Path(write_policy(run / "last"))
    assert checkpoint_folder(str(run)) == last
    best = Path(write_policy(run / "best"))
    for name in (run, best, best / "policy.json"):
        assert is_checkpoint(str(name))
        assert checkpoint_folder(str(name)) == best
        assert resolve(str(name)).file == checkpoint_file(str(name)) == best / "policy.json"
        assert python_path(str(name)) is None
    assert checkpoint_folder(str(last)) == last


def test_a_write_that_was_interrupted_leaves_the_old_one(tmp_path: Path) -> None:
    best = Path(write_policy(tmp_path / "first" / "best"))
    aside = best.rename(best.with_name("best.old"))
    assert checkpoint_folder(str(tmp_path / "first")) == aside
    assert resolve_checkpoint(str(tmp_path / "first")).label == "first"


def test_labels(tmp_path: Path) -> None:
    run = tmp_path / "first"
    for name in ("best", "last", "initial"):
        write_policy(run / name)
    shown = [resolve_checkpoint(str(run / name)).label for name in ("", "best", "last", "initial")]
    assert shown == ["first", "first", "first:last", "first:initial"]
    assert resolve_checkpoint(write_policy(tmp_path / "alone")).label == "alone"


def test_a_folder_does_not_hide_a_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_policy(tmp_path / "sjf", order="fcfs")
    assert not is_checkpoint("sjf")
    assert [resolve_scheduler(policy=text).settings.policy for text in ("sjf", "./sjf")] == ["sjf", "./sjf"]
    orders = [resolve(text).order for text in ("sjf", "./sjf")]
    assert [order and order.kind for order in orders] == ["sjf", "fcfs"]


def test_what_it_brings(tmp_path: Path) -> None:
    checkpoint = write_policy(
        tmp_path / "best",
        mode="feasible",
        order="f2",
        estimate="posterior",
        placement="pack",
        missing_request=3600.0,
        reserve_by="estimate",
        max_wait_s=7200.0,
        kill_at_request=True,
        scan_depth=50,
        seed=3,
    )
    settings = resolve_scheduler(policy=checkpoint, seed=9).settings
    assert (settings.policy, settings.dispatch, settings.estimate) == (checkpoint, "greedy", "posterior")
    assert (settings.placement, settings.missing_request, settings.reserve_by) == ("pack", "3600", "estimate")
    assert (settings.scan_depth, settings.max_wait_s) == (50, 7200.0)
    assert (settings.seed, settings.kill_at_request) == (9, False)
    again = resolve_scheduler(
        policy=checkpoint,
        dispatch="greedy",
        estimate="posterior",
        placement="pack",
        missing_request="3600",
        reserve_by="estimate",
        scan_depth=50,
        max_wait_s=100.0,
        kill_at_request=True,
    ).settings
    assert (again.missing_request, again.max_wait_s, again.kill_at_request) == ("3600", 100.0, True)


@pytest.mark.parametrize(
    ("name", "value", "own"),
    [
        ("dispatch", "greedy", "easy"),
        ("placement", "pack", "first-fit"),
        ("estimate", "perfect", "requested"),
        ("missing_request", 60, "run-time"),
        ("reserve_by", "estimate", "requested"),
        ("scan_depth", 7, "1000"),
    ],
)
def test_a_contradiction_is_an_error(tmp_path: Path, name: str, value: object, own: str) -> None:
    checkpoint = write_policy(tmp_path / "best")
    with pytest.raises(InputError) as error:
        resolve_scheduler(policy=checkpoint, **{name: value})  # type: ignore[arg-type]
    option = name.replace("_", "-")
    assert str(error.value) == (
        f"policy {checkpoint!r} was trained with {option} {own}, but {option} is {value}; leave --{option} ({name}) out"
    )


def test_what_is_the_same_is_no_contradiction_however_it_is_given(tmp_path: Path) -> None:
    """A comparison hands over objects, and defaults that nobody has asked for."""
    checkpoint = write_policy(tmp_path / "best", estimate="perfect")
    for placement in ("first-fit", resolve_placement("first-fit")):
        for estimate in ("perfect", "requested", resolve_estimate("perfect"), resolve_estimate("requested")):
            scheduler = resolve_scheduler(policy=checkpoint, placement=placement, estimate=estimate)
            assert scheduler == resolve_scheduler(policy=checkpoint)
    with pytest.raises(InputError, match="was trained with placement first-fit, but placement is pack; leave"):
        resolve_scheduler(policy=checkpoint, placement=resolve_placement("pack"))


def test_a_default_that_is_asked_for_by_name_is_refused_too(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best", estimate="perfect")
    with pytest.raises(InputError, match="was trained with estimate perfect, but estimate is requested; leave"):
        resolve_scheduler(policy=checkpoint, estimate="requested", asked={"estimate"})


def test_failures_that_are_given_are_refused_and_drawn_ones_are_taken(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best", mtbf_s=9.0, mttr_s=1.0)
    with pytest.raises(InputError, match="not where they are given; give --mtbf and --mttr in the place of --failures"):
        resolve_scheduler(policy=checkpoint, failures=[(1.0, "n", "down")])
    settings = resolve_scheduler(policy=checkpoint, mtbf_s=5.0, mttr_s=2.0, failed_progress="kept").settings
    assert (settings.mtbf_s, settings.mttr_s, settings.failed_progress) == (5.0, 2.0, "kept")
    assert resolve_scheduler(policy=checkpoint).settings.mtbf_s is None


def test_what_is_wrong_by_itself_is_an_error(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best")
    with pytest.raises(InputError, match="--seed"):
        resolve_scheduler(policy=checkpoint, seed=-1)
    with pytest.raises(InputError, match="--max-wait"):
        resolve_scheduler(policy=checkpoint, max_wait_s=-1)


def test_files_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An order and an estimate from a file come with the checkpoint, wherever it is and one calls from."""
    tuned = tmp_path / "tuned.toml"
    tuned.write_text('[policy]\nkind = "linear"\ncores = 0.5\n[estimate]\nkind = "last-two"\n')
    write_policy(tmp_path / "here" / "best", order=str(tuned), estimate=str(tuned))
    tuned.unlink()
    (tmp_path / "here").rename(tmp_path / "there")
    monkeypatch.chdir(tmp_path)
    scheduler = resolve_scheduler(policy="there")
    copy = Path(scheduler.settings.estimate)
    assert copy.parent == Path("there/best")
    assert "last-two" in copy.read_text()
    order = scheduler.policy.order
    assert order is not None
    assert (order.kind, order.text) == ("linear", str(copy))
    assert scheduler.files == {"policy": copy.with_name("policy.json"), "estimate": copy}
    assert resolve_scheduler(policy="there", estimate=str(copy)) == scheduler


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "policy.json: is not JSON"),
        ("[]", "policy.json: is no JSON object; give a checkpoint that 'shunter train' has written"),
        ("{}", "policy.json: has no 'options'"),
        ('{"options": {"scan_depth": 0}}', "policy.json: options: --scan-depth (scan_depth) is 0"),
        ('{"options": {"max_wait_s": "long"}}', "policy.json: options: max_wait_s is 'long'; expected a number"),
        ('{"options": {"estimate": "gone.toml"}}', "gone.toml: no such file"),
        ('{"options": {"placement": "pak"}}', "policy.json: options: unknown placement 'pak'; did you mean 'pack'"),
        ('{"options": {"order": "srtf"}}', "policy.json: options: policy 'srtf' starts whatever fits"),
        ('{"options": {"mode": "guess"}}', "policy.json: options: unknown mode 'guess'"),
        ('{"options": {"kind": "pick-nose"}}', "policy.json: this policy is of the kind 'pick-nose'; give one that"),
        ('{"options": {"order": "gone.toml"}}', "gone.toml: no such file"),
    ],
)
def test_a_broken_checkpoint_is_told_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "policy.json").write_text(content)
    with pytest.raises(InputError) as error:
        resolve_scheduler(policy=str(tmp_path))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_a_checkpoint_lost_is_not_taken_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the same name, where the user happens to be, is another policy."""
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "policy.json").write_text('{"options": {"order": "gone.toml"}}')
    (tmp_path / "gone.toml").write_text('[policy]\nkind = "fcfs"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"checkpoint/gone.toml: no such file"):
        resolve_scheduler(policy="checkpoint")


def test_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for spec in (str(tmp_path), ".", "..", "/", "policy.json"):
        with pytest.raises(InputError, match="no checkpoint here"):
            resolve_scheduler(policy=spec)
    with pytest.raises(InputError, match=r"policy 'runs/gone': there is no such folder or file; expected a name, the"):
        resolve_scheduler(policy="runs/gone")
    assert checkpoint_file("runs/gone") is None


def test_a_policy_that_chooses_hosts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"chooses hosts \(pick-host\), not jobs; give it as --placement"):
        resolve_scheduler(policy=write_host_policy(tmp_path / "best"))


def test_a_checkpoint_does_not_order_another_ones_window(tmp_path: Path) -> None:
    inner = write_policy(tmp_path / "inner")
    outer = Path(write_policy(tmp_path / "outer"))
    edit_policy(outer, lambda about: about["options"].update(order=inner))
    with pytest.raises(
        InputError, match=r"policy\.json: options: order is .*inner'; expected a policy of Shunter's own"
    ):
        resolve_scheduler(policy=str(outer))


def test_pytorch_is_not_needed_to_know_one(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best", order="sjf")
    script = (
        "import sys; from shunter.policies.scheduler import resolve_scheduler; "
        f"print(resolve_scheduler(policy={checkpoint!r}).dispatch.text, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["easy", "False"]
