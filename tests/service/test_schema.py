"""The schema of a state is what the reader takes: what it writes fits, and what the schema refuses is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from shunter.errors import InputError
from shunter.model.state import State
from shunter.model.state_schema import state_schema
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation.eta import state_at
from shunter.workloads.reading import read_log
from tests.service.talking import Talk

SCHEMA = state_schema()
CHECK = jsonschema.Draft202012Validator(SCHEMA)
LOGS = {
    "generate:lublin?seed=7&jobs=200&cores=64&load=1.2": "64",
    "generate:bursty-gpu?seed=7&jobs=200&load=1.2": "gpu-64",
}


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("policy", ["fcfs", "srtf"])
@pytest.mark.parametrize("log", LOGS)
def test_states_that_are_written_fit_and_are_read_the_same(log: str, policy: str, talk: Talk) -> None:
    found = read_log(log, LOGS[log])
    scheduler = resolve_scheduler(policy=policy)
    time_s = float(found.workload.jobs["submit_s"][150])
    state = state_at(found.workload, found.cluster, scheduler, time_s)
    content = json.loads(state.to_json())
    CHECK.validate(content)
    again = State.from_content(content, "state")
    assert json.loads(again.to_json()) == content
    # And as others get it, over HTTP.
    jsonschema.Draft202012Validator(talk.ask("GET", "/v1/schema").content).validate(content)
    assert talk.decide(content, "fcfs")["now_s"] == content["now_s"]


def test_the_example_of_the_documentation_fits() -> None:
    page = (Path(__file__).parents[2] / "docs" / "eta.md").read_text(encoding="utf-8")
    example = json.loads(page.split("```json\n")[1].split("```")[0])
    CHECK.validate(example)
    assert State.from_content(example, "state").snapshot.now_ms == 80_000


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "shunter.state/2"},
        {"now_s": "soon"},
        {"now_s": 1e13},
        {"cluster": 8},
        {"settings": []},
        {"jobs": {}},
        {"jobs": [{"state": "waiting", "submit_s": 0, "tasks": "2"}]},
        {"jobs": [{"state": "waiting", "submit_s": 0, "tasks": True}]},
        {"jobs": [{"state": "waiting", "submit_s": 0, "nodes": -3}]},
        {"jobs": [{"state": "waiting"}]},
        {"jobs": [{"state": "asleep", "submit_s": 0}]},
        {"jobs": [{"state": "waiting", "submit_s": 0, "wrong": 1}]},
        {"jobs": [{"state": "waiting", "submit_s": 0, "tasks": 0}]},
        {"jobs": [{"state": "waiting", "submit_s": 0, "requested_s": -1}]},
        {"jobs": [{"state": "running", "submit_s": 0, "start_s": 0, "placed": [[0, -1]]}]},
        {"jobs": [{"state": "running", "submit_s": 0, "start_s": 0, "placed": [[0]]}]},
        {"down": [-1]},
        {"down": 3},
        {"stops": [{"start_s": 4}]},
        {"more": 1},
    ],
)
def test_what_the_schema_refuses_the_reader_refuses(change: dict[str, Any], state: dict[str, Any]) -> None:
    CHECK.validate(state)
    State.from_content(state, "state")
    changed = {**state, **change}
    assert not CHECK.is_valid(changed)
    with pytest.raises(InputError):
        State.from_content(changed, "state")
