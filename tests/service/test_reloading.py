"""A policy whose files change is read anew, outside of any request; a bad file changes nothing."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from shunter.service.limits import Limits
from shunter.service.service import Loaded
from tests.service.talking import Talk, serving

TRAINED = Path(__file__).parents[1] / "compat" / "saved" / "trained"
RARELY = Limits(deadline_s=30.0, reload_s=86_400)


def only(talk: Talk) -> dict[str, Any]:
    """Returns what is told of the only policy."""
    (found,) = talk.ask("GET", "/v1/policies").content["policies"]
    assert isinstance(found, dict)
    return found


def test_a_file_that_changes_is_followed_and_a_bad_one_is_not(tmp_path: Path, state: dict[str, Any]) -> None:
    file = tmp_path / "policy.py"

    def write(sign: str) -> None:
        file.write_text(
            f"import shunter\n\nclass Own(shunter.Policy):\n    def score(self, queue):\n        return {sign}\n"
        )

    write("queue.submit_s")
    with serving(Loaded({"site": {"policy": str(file)}}), RARELY, socket_path=tmp_path / "s") as talk:
        talk.ask("PUT", "/v1/snapshots/now", state)
        first = talk.decide("now", "site")
        assert first["order"] == [2, 3, 4]
        talk.service.look_at_files()
        assert only(talk)["sha256"] == first["policy_sha256"], "nothing has changed"
        write("-queue.submit_s")
        talk.service.look_at_files()
        second = talk.decide("now", "site")
        assert second["order"] == [4, 3, 2]
        assert second["policy_sha256"] != first["policy_sha256"]
        for bad in ("this is no Python", "import no_such_module_at_all\n", ""):
            file.write_text(bad)
            talk.service.look_at_files()
            assert talk.decide("now", "site")["order"] == [4, 3, 2]
            assert only(talk)["sha256"] == second["policy_sha256"]
            assert only(talk)["reload_trouble"]
        write("-queue.submit_s")
        talk.service.look_at_files()
        assert only(talk)["reload_trouble"] is None, "the file of the policy at work is back"
        file.unlink()
        talk.service.look_at_files()
        assert talk.decide("now", "site")["order"] == [4, 3, 2]
        write("queue.submit_s")
        talk.service.look_at_files()
        assert talk.decide("now", "site")["order"] == [2, 3, 4]
        assert only(talk)["reload_trouble"] is None
        text = talk.ask("GET", "/metrics").body.decode()
        assert 'shunter_serve_reloads_total{policy="site",result="good"} 2.0' in text
        assert text.count("shunter_serve_policy_info{") == 1, "the old version is not told any more"


def test_a_checkpoint_that_is_half_written_does_not_reach_the_one_at_work(
    tmp_path: Path, state: dict[str, Any]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(TRAINED / "kernel", run)
    with serving(Loaded({"learned": {"policy": str(run)}}), RARELY, socket_path=tmp_path / "s") as talk:
        first = talk.decide(state, "learned")
        assert first["by"] == "learned"
        weights = next(run.rglob("*.safetensors"))
        whole = weights.read_bytes()
        weights.write_bytes(whole[: len(whole) // 2])
        # Before anybody has looked at the files, and after.
        for _ in range(2):
            again = talk.decide(state, "learned")
            assert (again["by"], again["fallback"], again["order"]) == ("learned", None, first["order"])
            talk.service.look_at_files()
        assert only(talk)["reload_trouble"]
        weights.write_bytes(whole)
        talk.service.look_at_files()
        # The same bytes are the same policy.
        assert only(talk)["sha256"] == first["policy_sha256"]


def test_files_are_looked_at_from_time_to_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = threading.Event()
    with serving(limits=Limits(reload_s=0.05), socket_path=tmp_path / "s") as talk:
        monkeypatch.setattr(talk.service, "look_at_files", looked.set)
        assert looked.wait(20)
