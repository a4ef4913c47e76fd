"""Checkpoints come back as they were, or are refused in one line that names the file."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from shunter.agents.common.tensors import load_network, network_tensors
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.training.checkpoint_files import (
    POLICY,
    TRAINING,
    Part,
    PolicyRecord,
    Tensors,
    check_layout,
    find_checkpoint,
    read_part,
    write_checkpoint,
)
from shunter.envs.layout import Layout
from shunter.envs.pick_host import PickHostOptions
from shunter.envs.pick_job import PickJobOptions
from shunter.errors import InputError
from shunter.policies.scheduler import resolve_scheduler
from tests.agents.untrained import edit_policy

ENVIRONMENT = PickJobOptions(mode="feasible", order="linear?wait=2", window=7, lookahead_size=3, max_wait_s=3600)
RECORD = PolicyRecord(ENVIRONMENT.layout, ENVIRONMENT, NetworkOptions(kind="mlp"), {"steps": 12})
TENSORS: Tensors = {
    "network.a": np.random.default_rng(1).random((4, 3), np.float32).T,
    "counter": np.array([7], np.uint8),
    "alone": np.array(0.5),
}


def _write(folder: Path, marker: float = 0.0) -> None:
    tensors = {**TENSORS, "marker": np.array([marker])}
    write_checkpoint(folder, {POLICY: Part(tensors, RECORD.to_json()), TRAINING: Part(TENSORS, {"steps": 5})})


def _marker(folder: Path) -> float:
    return float(read_part(folder, POLICY).tensors["marker"][0])


def test_tensors_and_facts_come_back(tmp_path: Path) -> None:
    _write(tmp_path / "last")
    part = read_part(tmp_path / "last", TRAINING)
    assert part.facts == {"format": 1, "steps": 5}
    assert part.tensors.keys() == TENSORS.keys()
    assert all(np.array_equal(part.tensors[name], TENSORS[name]) for name in TENSORS)
    assert part.tensors["counter"].dtype == np.uint8
    assert part.tensors["alone"].shape == ()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["last"]


@pytest.mark.parametrize("environment", [ENVIRONMENT, PickHostOptions(num_hosts=3, job_cores=(1, 2))])
def test_a_record_comes_back(tmp_path: Path, environment: PickJobOptions | PickHostOptions) -> None:
    record = replace(RECORD, layout=environment.layout, options=environment)
    write_checkpoint(tmp_path / "best", {POLICY: Part({}, record.to_json())})
    found = PolicyRecord.from_json(read_part(tmp_path / "best", POLICY).facts, "policy.json")
    assert found == replace(record, network=NetworkOptions(kind="mlp", hidden=(64, 64)))


def test_a_checkpoint_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    _write(tmp_path / "last", 1)
    (tmp_path / "last" / "stray").write_text("")
    _write(tmp_path / "last", 2)
    assert _marker(tmp_path / "last") == 2
    assert not (tmp_path / "last" / "stray").exists()


@pytest.mark.parametrize("fails_at", range(1, 9))
def test_a_write_that_is_interrupted_leaves_a_whole_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    _write(tmp_path / "last", 1)
    calls = 0

    def failing(name: str) -> None:
        original = getattr(os, name)

        def call(*arguments: object, **keywords: object) -> object:
            nonlocal calls
            calls += 1
            if calls == fails_at:
                raise KeyboardInterrupt
            return original(*arguments, **keywords)

        monkeypatch.setattr(os, name, call)

    failing("fsync")
    failing("rename")
    with pytest.raises(KeyboardInterrupt):
        _write(tmp_path / "last", 2)
    monkeypatch.undo()
    found = find_checkpoint(tmp_path / "last")
    assert found is not None
    # Seven calls come before the new one has its name.
    assert _marker(found) == (1 if fails_at < 8 else 2)
    _write(tmp_path / "last", 3)
    assert _marker(tmp_path / "last") == 3
    assert sorted(each.name for each in tmp_path.iterdir()) == ["last"]


def test_files_that_a_policy_needs_are_copied_beside_it(tmp_path: Path) -> None:
    tuned = tmp_path / "tuned.toml"
    tuned.write_text('[policy]\nkind = "linear"\n[estimate]\nkind = "posterior"\n')
    environment = PickJobOptions(order=str(tuned), estimate=str(tuned))
    record = replace(RECORD, layout=environment.layout, options=environment)
    write_checkpoint(tmp_path / "best", {POLICY: Part({}, record.to_json())}, record.files)
    options = json.loads((tmp_path / "best" / "policy.json").read_text())["options"]
    assert (options["order"], options["estimate"]) == ("tuned.toml", "tuned.toml")
    copy = tmp_path / "best" / "tuned.toml"
    assert copy.read_text() == tuned.read_text()
    resolve_scheduler(policy=str(tmp_path / "best"))
    _one_bit_off(copy)
    with pytest.raises(InputError, match=r"^.*tuned\.toml: is not the file that policy\.json was written with; take"):
        resolve_scheduler(policy=str(tmp_path / "best"))
    copy.unlink()
    with pytest.raises(InputError, match=r"^.*tuned\.toml: there is no such file, but policy\.json names it; give a"):
        resolve_scheduler(policy=str(tmp_path / "best"))


def _cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def _one_bit_off(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def _another_digit(path: Path) -> None:
    path.write_text(path.read_text().replace('"window": ', '"window": 1'))


def _other_format(path: Path) -> None:
    edit_policy(path.parent, lambda about: about.update(format=99))


@pytest.mark.parametrize(
    ("file", "spoil", "message"),
    [
        ("policy.safetensors", _cut_short, "is not a safetensors file, or is cut short"),
        ("policy.safetensors", _one_bit_off, "is not the file that policy.json was written with"),
        ("policy.safetensors", lambda path: path.write_bytes(b"\x80\x04]."), "is not a safetensors file"),
        ("policy.safetensors", lambda path: path.write_bytes(b""), "is not a safetensors file"),
        ("policy.safetensors", Path.unlink, "cannot be read"),
        ("policy.json", _cut_short, "is not JSON"),
        ("policy.json", lambda path: path.write_text("[" * 100_000), "is not JSON"),
        ("policy.json", lambda path: path.write_text("[1]"), "is no JSON object"),
        ("policy.json", _other_format, "has format 99; this version of Shunter reads format 1"),
        ("policy.json", _another_digit, "was changed after it was written; take another copy"),
        ("policy.json", Path.unlink, "cannot be read"),
    ],
)
def test_a_spoiled_file_is_named(tmp_path: Path, file: str, spoil: object, message: str) -> None:
    _write(tmp_path)
    assert callable(spoil)
    spoil(tmp_path / file)
    with pytest.raises(InputError, match=message) as caught:
        read_part(tmp_path, POLICY)
    assert str(caught.value).startswith(str(tmp_path / file))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layout": None}, "policy.json: layout is None; expected a table"),
        ({"layout": {"kind": "pick-nose"}}, "policy.json: layout kind is 'pick-nose'"),
        (
            {"options": {"kind": "pick-job", "windw": 3}},
            "policy.json: options: unknown key 'windw'; did you mean 'window'",
        ),
        ({"options": {"kind": []}}, r"policy.json: options: kind is \[\]; expected one of"),
        ({"network": {"kind": "kernel", "hidden": ["x"]}}, r"policy.json: network: hidden is \['x'\]; expected a list"),
    ],
)
def test_a_record_that_makes_no_sense_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PolicyRecord.from_json({**RECORD.to_json(), **change}, "policy.json")
    with pytest.raises(InputError, match="has no 'network'"):
        PolicyRecord.from_json({"layout": {}, "options": {}}, "policy.json")


@pytest.mark.parametrize(
    ("environment", "part", "old", "new", "message"),
    [
        (
            ENVIRONMENT,
            "cluster",
            "free_memory",
            "idle_memory",
            "cluster feature 1 was idle_memory, here it is free_memo",
        ),
        (ENVIRONMENT, "job", "cores", None, "job feature 8 was log_size, here it is cores"),
        (ENVIRONMENT, "job", "held_back", None, "job feature 20 was not there, here it is held_back"),
        (PickHostOptions(), "host", "core_use", "load", "host feature 0 was load, here it is core_use"),
    ],
)
def test_features_of_another_version_are_named(
    environment: PickJobOptions | PickHostOptions, part: str, old: str, new: str | None, message: str
) -> None:
    content = replace(RECORD, layout=environment.layout, options=environment).to_json()
    names = [new if name == old else name for name in content["features"][part]]
    content["features"][part] = [name for name in names if name is not None]
    with pytest.raises(InputError, match=rf"^policy.json: was trained on other features: {message}"):
        PolicyRecord.from_json(content, "policy.json")


def test_features_of_the_users_own_are_named_too() -> None:
    environment = PickJobOptions(features=("night_job",))
    content = replace(RECORD, layout=environment.layout, options=environment).to_json()
    assert content["features"]["job"][-1] == "night_job"
    content["features"] = {"cluster": "all"}
    with pytest.raises(InputError, match="features: has no list 'cluster'"):
        PolicyRecord.from_json(content, "policy.json")


def test_weights_go_into_a_network_of_the_same_shape_only() -> None:
    first = build(NetworkOptions(kind="mlp"), ENVIRONMENT.layout, seed=1)
    second = build(NetworkOptions(kind="mlp"), ENVIRONMENT.layout, seed=2)
    load_network(second, network_tensors(first), "here")
    assert all(torch.equal(one, other) for one, other in zip(first.parameters(), second.parameters(), strict=True))
    larger = build(NetworkOptions(kind="mlp", hidden=(65, 64)), ENVIRONMENT.layout)
    message = r"here: are the weights of another network: first.bias has the shape \(128,\), expected \(130,\)"
    with pytest.raises(InputError, match=message):
        load_network(larger, network_tensors(first), "here")
    with pytest.raises(InputError, match=r"activation|another network"):
        load_network(build(NetworkOptions(), ENVIRONMENT.layout), network_tensors(first), "here")


def test_a_layout_that_differs_is_named() -> None:
    wanted = Layout("pick-job", window=128, lookahead_size=16)
    check_layout(wanted, Layout("pick-job", window=128, lookahead_size=16), "here")
    with pytest.raises(InputError, match="here: was made for other observations: window 64 instead of 128;"):
        check_layout(replace(wanted, window=64), wanted, "here")


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        _write(tmp_path / "file" / "last")
