"""kube-scheduler's v1 interface: ExtenderArgs in, HostPriorityList out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.service.service import Loaded
from tests.service.samples import node, pod
from tests.service.talking import Talk, serving


@pytest.fixture(scope="module")
def best_fit(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401 - a client, in a generator
    """A service that places where least is left."""
    loaded = Loaded({"site": {"policy": "fcfs", "placement": "best-fit"}})
    with serving(loaded, socket_path=Path(tmp_path_factory.mktemp("k8s")) / "s") as found:
        yield found


def scores(talk: Talk, args: dict[str, Any]) -> dict[str, int]:
    """Returns the scores, having checked that the answer is a HostPriorityList."""
    reply = talk.post("/extender/prioritize", args)
    assert reply.status == 200, reply.body
    told = reply.content
    assert isinstance(told, list)
    for one in told:
        assert list(one) == ["Host", "Score"]
        assert isinstance(one["Score"], int)
        assert 0 <= one["Score"] <= 10
    return {one["Host"]: one["Score"] for one in told}


def test_the_placements_first_choice_has_the_best_score(best_fit: Talk) -> None:
    nodes = {"metadata": {}, "items": [node("large", "64"), node("small", "2"), node("middle", "8")]}
    args = {"Pod": pod({"cpu": "500m", "memory": "64Mi"}, {"cpu": "1"}), "Nodes": nodes, "NodeNames": None}
    found = scores(best_fit, args)
    assert found == {"small": 10, "middle": 9, "large": 8}
    # Earlier versions write the keys in small letters.
    assert scores(best_fit, {"pod": args["Pod"], "nodes": nodes}) == found


def test_every_candidate_has_a_score_and_those_too_small_have_none(best_fit: Talk) -> None:
    nodes = [node(f"n{number}", str(number)) for number in range(1, 30)]
    found = scores(best_fit, {"Pod": pod({"cpu": "5"}), "Nodes": {"items": nodes}, "NodeNames": None})
    assert len(found) == 29
    assert [found[f"n{number}"] for number in (4, 5, 6, 14, 15, 29)] == [0, 10, 9, 1, 0, 0]
    assert set(scores(best_fit, {"Pod": pod({"cpu": "500"}), "Nodes": {"items": nodes}}).values()) == {0}


def test_gpus_and_what_runs_before_the_containers_count(best_fit: Talk) -> None:
    nodes = {"items": [node("plain", "8"), node("one", "8", gpus=1), node("four", "8", gpus=4)]}
    wants = pod({"cpu": "1", "nvidia.com/gpu": "1"}, {"cpu": "1", "nvidia.com/gpu": "1"})
    assert scores(best_fit, {"Pod": wants, "Nodes": nodes}) == {"plain": 0, "one": 0, "four": 10}
    first = pod({"cpu": "1"}, before=({"cpu": "6"},))
    sizes = {"items": [node("four", "4"), node("eight", "8")]}
    assert scores(best_fit, {"Pod": first, "Nodes": sizes}) == {"four": 0, "eight": 10}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, "no Nodes"),
        ({"Pod": pod({}), "Nodes": None, "NodeNames": ["n1"]}, "nodeCacheCapable: false"),
        ({"Pod": pod({}), "Nodes": {"items": []}}, "no list of 1 to"),
        ({"Pod": None, "Nodes": {"items": [node("n1")]}}, "Pod is no object"),
        ({"Pod": pod({"cpu": "many"}), "Nodes": {"items": [node("n1")]}}, "cpu is 'many'"),
        ({"Pod": pod({"cpu": "-1"}), "Nodes": {"items": [node("n1")]}}, "cpu is '-1'"),
        ({"Pod": {"spec": {"containers": 5}}, "Nodes": {"items": [node("n1")]}}, "is no list"),
        ({"Pod": pod({}), "Nodes": {"items": [{"metadata": {}}]}}, "no object"),
    ],
)
def test_what_is_no_such_request_is_refused(best_fit: Talk, args: dict[str, Any], said: str) -> None:
    reply = best_fit.post("/extender/prioritize", args)
    assert (reply.status, said in reply.error) == (400, True), reply.error
