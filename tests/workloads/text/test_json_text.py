"""JSON, one object at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.workloads.text import json_text, source
from shunter.workloads.text.json_text import encodable, read_elements, read_members, read_value
from shunter.workloads.text.source import open_source

JOBS = [{"id": number, "name": "é" * number, "parts": [{"x": [1, 2.5, None]}]} for number in range(30)]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", 37)


def _elements(tmp_path: Path, text: str, key: str | None = None) -> list[tuple[int, dict[str, object]]]:
    path = tmp_path / "log.json"
    path.write_bytes(text.encode())
    return list(read_elements(open_source(path), key))


@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_alone(tmp_path: Path, indent: int | None) -> None:
    assert [job for _, job in _elements(tmp_path, json.dumps(JOBS, indent=indent))] == JOBS
    assert _elements(tmp_path, "[ ]") == []


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_in_an_object_with_other_keys_before_and_after(tmp_path: Path, indent: int | None) -> None:
    document = {"meta": {"jobs": "not these"}, "count": 12345, "jobs": JOBS, "errors": []}
    assert [job for _, job in _elements(tmp_path, json.dumps(document, indent=indent), "jobs")] == JOBS


def test_lines_of_json_and_their_numbers(tmp_path: Path) -> None:
    text = "\n".join(json.dumps(job) for job in JOBS)
    assert _elements(tmp_path, text) == list(enumerate(JOBS, start=1))


def test_lines_are_counted_from_the_element(tmp_path: Path) -> None:
    assert [line for line, _ in _elements(tmp_path, '[\n{"a": 1},\n\n{"b":\n2}, {"c": 3}]')] == [2, 4, 5]


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ('[{"a": 1}, {"b": ', None, r"log\.json:1: is no JSON"),
        ('[{"a": 1}\n', None, r'cut short where "\]" is expected'),
        ('[{"a": 1}, 7]', None, "is '7'; expected an object for each job"),
        ('{"meta": 1}', "jobs", 'the outer object has no "jobs"'),
        ("[1, 2]", "jobs", r'is "\[" where "\{" is expected'),
        ('[{"a": NaN}]', None, "NaN is no number of JSON"),
        ("[" * 100_000, None, "is no JSON"),
        ('[{"a": ' + "9" * 5000 + "}]", None, "is no JSON"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, key: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _elements(tmp_path, text, key)


def test_an_endless_element_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "LINE_BYTES", 1000)
    with pytest.raises(InputError, match="is no JSON"):
        _elements(tmp_path, '[{"a": "' + "x" * 100_000)


def test_halves_of_characters() -> None:
    assert encodable("a\ud800é") == "a?é"


def test_members_and_single_values_behind_a_long_list(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    profiles = {f"p{number}": {"type": "delay"} for number in range(20)}
    path.write_text(json.dumps({"jobs": JOBS, "size": 7, "profiles": profiles}, indent=1))
    found = open_source(path)
    assert [(name, value) for _, name, value in read_members(found, "profiles")] == list(profiles.items())
    assert read_value(found, "size") == 7
    assert read_value(found, "nothing") is None
    with pytest.raises(InputError, match='the outer object has no "nothing"'):
        list(read_members(found, "nothing"))


def test_what_is_passed_over_may_be_longer_than_an_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "LINE_BYTES", 1000)
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"others": list(range(2000)), "jobs": JOBS[:2]}))
    assert [element for _, element in read_elements(open_source(path), "jobs")] == JOBS[:2]
