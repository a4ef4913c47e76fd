"""Checkpoints that are damaged, swapped or hostile are refused by the core in one line."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shunter import InputError, load_policy
from shunter.envs.network import NativeNetwork
from tests.agents.untrained import edit_policy, opinionated, write_policy

Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(write_policy(tmp_path / "best", begins_as_order=False))


def refused(folder: Path, message: str) -> None:
    """Checks that a checkpoint is refused, by the core and by all above it, in one line that says this."""
    for read in (NativeNetwork.load, load_policy):
        with pytest.raises(InputError, match=message) as error:
            read(folder)
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 600


def read_weights(folder: Path) -> tuple[dict[str, Any], bytes]:
    """Returns the header of the weights, and what follows it."""
    content = (folder / "policy.safetensors").read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def write_weights(folder: Path, header: dict[str, Any] | bytes, data: bytes, length: int | None = None) -> None:
    """Writes weights, with the hash that belongs to them."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    write_file(folder, struct.pack("<Q", len(text) if length is None else length) + text + data)


def write_file(folder: Path, content: bytes) -> None:
    (folder / "policy.safetensors").write_bytes(content)
    edit_policy(folder, lambda about: about.update(sha256=hashlib.sha256(content).hexdigest()))


def test_weights_that_are_cut_short(folder: Path) -> None:
    content = (folder / "policy.safetensors").read_bytes()
    for length in (0, 3, 8, 100, len(content) // 2, len(content) - 1):
        (folder / "policy.safetensors").write_bytes(content[:length])
        refused(folder, "is not the file that policy.json was written with")
        write_file(folder, content[:length])
        refused(folder, "is not a safetensors file, or is cut short|is cut short|are the weights of another network")


def test_weights_of_another_checkpoint(folder: Path, tmp_path: Path) -> None:
    other = Path(write_policy(tmp_path / "other", begins_as_order=False, change=opinionated))
    (folder / "policy.safetensors").write_bytes((other / "policy.safetensors").read_bytes())
    refused(folder, "is not the file that policy.json was written with, or is cut short; take both from one checkpoint")
    (folder / "policy.safetensors").unlink()
    refused(folder, r"policy\.safetensors: cannot be read \(No such file")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"mode": "reserve"', '"mode": "feasible"'),
        ('"order": "fcfs"', '"order": "lcfs"'),
        ('"steps": 12', '"steps": 13'),
        ('"json_sha256": "', '"json_sha256": "0'),
    ],
)
def test_a_description_that_was_changed(tmp_path: Path, before: str, after: str) -> None:
    """Options decide as much as weights do."""
    folder = Path(write_policy(tmp_path / "best", training={"steps": 12}))
    path = folder / "policy.json"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    refused(folder, r"policy\.json: was changed after it was written; take another copy")
    path.write_text(text)
    load_policy(folder)


def test_a_file_beside_it_that_was_changed(tmp_path: Path) -> None:
    tuned = tmp_path / "tuned.toml"
    tuned.write_text('[policy]\nkind = "linear"\nestimate = 1.0\n')
    folder = Path(write_policy(tmp_path / "best", order=str(tuned)))
    NativeNetwork.load(folder)
    copy = folder / "tuned.toml"
    copy.write_text(copy.read_text().replace("1.0", "2.0"))
    refused(folder, r"tuned\.toml: is not the file that policy\.json was written with; take both from one checkpoint")
    copy.unlink()
    refused(folder, r"tuned\.toml: (cannot be read \(No such file|there is no such file, but policy\.json names it)")
    # As earlier versions wrote it.
    copy.write_text(tuned.read_text().replace("1.0", "2.0"))
    edit_policy(folder, lambda about: about.pop("files"))
    sizes = NativeNetwork.load(folder).observation_size, load_policy(folder).layout.observation_size
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("name", ["../tuned.toml", "/dev/zero", "a\\b.toml"])
def test_files_elsewhere_are_not_looked_at(folder: Path, name: str) -> None:
    edit_policy(folder, lambda about: about.update(files={name: "0" * 64}))
    refused(folder, "policy.json: names the file .*, which is not beside it; take another copy")


def test_what_is_no_file_is_not_waited_for(folder: Path) -> None:
    (folder / "policy.safetensors").unlink()
    os.mkfifo(folder / "policy.safetensors")
    refused(folder, "cannot be read .it is no file")
    (folder / "policy.safetensors").unlink()
    (folder / "policy.safetensors").symlink_to("/dev/zero")
    refused(folder, "cannot be read .it is no file")


def test_headers_that_promise_too_much(folder: Path) -> None:
    header, data = read_weights(folder)
    write_weights(folder, header, data, length=2**60)
    refused(folder, "is not a safetensors file, or is cut short")
    write_weights(folder, header, data, length=2**64 - 1)
    refused(folder, "is not a safetensors file, or is cut short")
    name = sorted(name for name in header if name.startswith("network."))[0]
    for field, value, message in [
        ("shape", [2**40, 2**40], "is not where the header says"),
        ("shape", [2**53, 2**53, 2**53], "is not where the header says"),
        ("shape", [1], "is not where the header says"),
        ("shape", [-1], "has no dtype, shape or data_offsets"),
        ("data_offsets", [0, 2**52], "is not where the header says"),
        ("data_offsets", [8, 0], "is not where the header says"),
        ("data_offsets", [0], "is not where the header says"),
        ("dtype", "F16", "holds numbers of the kind F16; expected F32"),
        ("dtype", 7, "has no dtype, shape or data_offsets"),
    ]:
        write_weights(folder, header | {name: header[name] | {field: value}}, data)
        refused(folder, message)
    write_weights(folder, {key: value for key, value in header.items() if key != name}, data)
    refused(folder, "are the weights of another network: .* has the shape None")
    write_weights(folder, header | {"network.moon": header[name]}, data)
    refused(folder, "are the weights of another network: this one has no moon")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers(folder: Path, value: float) -> None:
    header, data = read_weights(folder)
    numbers = np.frombuffer(data, np.float32).copy()
    numbers[7] = value
    write_weights(folder, header, numbers.tobytes())
    refused(folder, "holds numbers that are not finite")


def test_units_that_are_no_numbers(folder: Path) -> None:
    header, data = read_weights(folder)
    numbers = (("count", 1.0), ("mean", np.nan), ("variance", 1.0))
    more, at = dict(header), len(data)
    for name, number in numbers:
        more[f"value_normalizer.{name}"] = {"dtype": "F64", "shape": [], "data_offsets": [at, at + 8]}
        at, data = at + 8, data + struct.pack("<d", number)
    write_weights(folder, more, data)
    refused(folder, "units of values have the count 1, mean NaN, variance 1: they are none")


def test_headers_that_are_no_json(folder: Path) -> None:
    _, data = read_weights(folder)
    many = "{" + ",".join(f'"{number}":1' for number in range(100_000)) + "}"
    for header, message in [
        (b"[" * 100_000, "values are nested too deep"),
        (b'{"a":' * 5000, "values are nested too deep"),
        (b'{"a":1,"a":2}', "a field stands twice"),
        (b"\xff\xfe{}", "is not UTF-8"),
        (b"null", "is not a safetensors file"),
        (b'{"a": NaN}', "a value is missing"),
        (b'{"a": 1e999}', "there is no finite number"),
        (many.encode(), "0 has no dtype, shape or data_offsets"),
        (b'{"a":[' + b"1," * 2**21 + b"1]}", "is not a safetensors file, or is cut short"),
    ]:
        write_weights(folder, header, data)
        refused(folder, message)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda about: about.update(format=2), "has another format than 1"),
        (lambda about: about.pop("format"), "has another format than 1"),
        (lambda about: about.update(sha256=None), "is not the file that policy.json was written with"),
        (lambda about: about["layout"].update(window=17), "layout and options do not agree"),
        (lambda about: about["layout"].update(kind="pick-moon"), "layout kind is"),
        (lambda about: about["layout"].update(window=2**40), "an observation has 1099511627776 rows|do not agree"),
        (lambda about: about["layout"].update(window=0), "an observation has 0 rows|do not agree"),
        (
            lambda about: about["network"].update(hidden=[65536] * 9),
            "the network would have",
        ),
        (lambda about: about["network"].update(hidden=[2**40]), "hidden"),
        (lambda about: about["network"].update(hidden=[0]), "hidden"),
        (lambda about: about["network"].update(hidden=[8] * 100), "100 hidden layers"),
        (lambda about: about["network"].update(hidden="x"), "hidden"),
        (lambda about: about["network"].update(activation="gelu"), "activation"),
        (lambda about: about["network"].update(kind="mlp"), "are the weights of another network"),
        (lambda about: about["network"].update(kind="hosts"), "does not read such observations|does not fit"),
        (lambda about: about["network"].update(kind="attention", heads=7), "heads"),
        (lambda about: about["network"].update(order_temperature=-1), "temperature"),
        (lambda about: about["options"].update(mode="moon"), "mode"),
        (lambda about: about.update(layers={"policy": 3}), "layers: policy is no list"),
        (lambda about: about.update(network=[]), "network"),
    ],
)
def test_checkpoints_that_say_something_else(folder: Path, how: Change, message: str) -> None:
    edit_policy(folder, how)
    refused(folder, message)


def test_a_network_that_nobody_knows(folder: Path) -> None:
    edit_policy(folder, lambda about: about["network"].update(kind="moon"))
    with pytest.raises(InputError, match='network kind is "moon", which the core does not know; expected kernel, mlp'):
        NativeNetwork.load(folder)
    with pytest.raises(InputError, match=r"unknown \[network\] kind 'moon'"):
        load_policy(folder)
