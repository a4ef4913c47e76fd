"""A policy that is late, fails or decides nonsense is stood in for, counted, and spared for a while."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shunter.service.deciders import Classic, Decided, check_decided
from shunter.service.limits import Limits
from shunter.service.service import Loaded
from tests.service.talking import serving

OWN = """import time
import numpy as np
import shunter


class Own(shunter.Policy):
    moves = True

    def score(self, queue):
        {body}
"""


def own(folder: Path, body: str) -> Loaded:
    """Returns a service's policy `own` with this body, and sjf beside it."""
    file = folder / "own.py"
    file.write_text(OWN.format(body=body))
    return Loaded({"own": {"policy": str(file)}, "sjf": {"policy": "sjf"}})


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return queue.submit_s * np.nan", "nan"),
        ("raise ZeroDivisionError('no')", "ZeroDivisionError"),
        ("return queue.submit_s[:-1]", ""),
        ("return 'nonsense'", ""),
    ],
)
def test_who_fails_is_stood_in_for(body: str, why: str, tmp_path: Path, state: dict[str, Any]) -> None:
    limits = Limits(deadline_s=30.0, fallback="ljf", most_failures=99)
    with serving(own(tmp_path, body), limits, socket_path=tmp_path / "s") as talk:
        told = talk.decide(state, "own")
        assert (told["policy"], told["by"], told["order"]) == ("own", "ljf", [2, 3, 4])
        assert why.lower() in told["fallback"].lower()
        assert told["fallback"]
        assert talk.decide(state, "sjf")["fallback"] is None
        assert b'shunter_serve_fallbacks_total{policy="own"} 1.0' in talk.ask("GET", "/metrics").body


def test_who_is_late_is_stood_in_for_and_others_are_answered(tmp_path: Path, state: dict[str, Any]) -> None:
    limits = Limits(deadline_s=0.05, most_failures=99)
    loaded = own(tmp_path, "time.sleep(1.5); return queue.submit_s")
    with serving(loaded, limits, socket_path=tmp_path / "s") as talk:
        assert talk.decide(state, "own")["fallback"] == "no decision within 50 ms"
        assert talk.decide(state, "own")["fallback"] == "still busy with an earlier decision"
        assert talk.decide(state, "sjf")["by"] in ("sjf", "fcfs")


def test_the_breaker_opens_and_a_probe_closes_it(tmp_path: Path, state: dict[str, Any]) -> None:
    marker = tmp_path / "works"
    body = f"import os; return queue.submit_s if os.path.exists({str(marker)!r}) else 1 / 0"
    limits = Limits(deadline_s=30.0, most_failures=2, probe_s=0.5)
    with serving(own(tmp_path, body), limits, socket_path=tmp_path / "s") as talk:
        said = [talk.decide(state, "own")["fallback"] for _ in range(4)]
        assert [one.startswith("the breaker is open") for one in said] == [False, False, True, True]
        assert next(one for one in talk.ask("GET", "/v1/policies").content["policies"] if one["name"] == "own")[
            "breaker_open"
        ]
        assert b"shunter_serve_breakers_open 1.0" in talk.ask("GET", "/metrics").body
        marker.touch()
        time.sleep(0.6)
        assert talk.decide(state, "own")["fallback"] is None
        assert b"shunter_serve_breakers_open 0.0" in talk.ask("GET", "/metrics").body


def test_nonsense_is_no_decision(tmp_path: Path, state: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(socket_path=tmp_path / "s") as talk:
        held = talk.service.hold(state)
        good = talk.service.referee("sjf").policy.decider.decide(held)
        check_decided(good, held)
        order = good.arrays.place.copy()
        order[0] = 7
        elsewhere = np.array([99], np.int32)
        for change, said in (({"place": order}, "jobs that wait"), ({"nodes": elsewhere}, "nodes that there are not")):
            wrong = Decided(replace(good.arrays, **change))
            with pytest.raises(ValueError, match=said):
                check_decided(wrong, held)
            monkeypatch.setattr(Classic, "decide", lambda self, held, wrong=wrong: wrong)
            told = talk.service.referee("sjf").answer(held)
            # The one who would stand in is wrong, too: what is left is the order in which they came.
            assert (told["by"], told["order"], told["starts"]) == ("", [2, 3, 4], [])
            assert said in told["fallback"]
