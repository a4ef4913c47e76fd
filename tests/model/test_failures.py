"""Failures that are given: files and tuples, good and bad."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.errors import InputError
from shunter.model.cluster import Cluster, Node
from shunter.model.failures import Failures, check_given, given_failures

CLUSTER = Cluster.from_nodes(tuple(Node(f"x{n}", 4.0) for n in range(9)), "helios-venus")
HEADER = "time_s,node,event\n"


def read(folder: Path, text: str) -> Failures:
    path = folder / "failures.csv"
    path.write_text(text, encoding="utf-8")
    assert check_given(path) == str(path)
    return given_failures(str(path), CLUSTER)


def test_events_are_sorted_by_time_and_ties_stay_as_in_the_file(tmp_path: Path) -> None:
    text = (
        f"# failures of May\n{HEADER}\n30.5,x2,up\n10,x2,down\n  # the same moment\n10,x1,down\n10,x1,up\n-5,x8,down\n"
    )
    found = read(tmp_path, text)
    assert found.time_ms.tolist() == [-5000, 10_000, 10_000, 10_000, 30_500]
    assert found.node.tolist() == [8, 2, 1, 1, 2]
    assert found.up.tolist() == [False, False, False, True, True]
    assert len(found) == 5


def test_columns_may_stand_in_another_order_and_others_beside_them(tmp_path: Path) -> None:
    found = read(tmp_path, '\ufeffevent,why,time_s,node\r\ndown,"fan, burnt",1e3,x1\r\n')
    assert (found.time_ms.tolist(), found.node.tolist(), found.up.tolist()) == ([1_000_000], [1], [False])


WRONG = {
    f"{HEADER}1,x0,down\n2,x0,up\n3,x1,down\n4,x1,up\n5,x2,down\n6,x9,down\n": (
        ':7: node "x9" is not in the cluster helios-venus; did you mean "x8"?'
    ),
    f"{HEADER}1,other,down\n": ':2: node "other" is not in the cluster helios-venus; its first is "x0"',
    f"{HEADER}1,x1,down\n\n2,x1,down\n": ':4: node "x1" goes down at 2 s, but is down since 1 s (FILE:2); mend one',
    f"{HEADER}5,x1,up\n": ':2: node "x1" comes up at 5 s, but was never down',
    f"{HEADER}1,x1,down\n2,x1,up\n3,x1,up\n": ':4: node "x1" comes up at 3 s, but is up since 2 s (FILE:3)',
    f"{HEADER}soon,x1,down\n": ":2: time_s is 'soon'; expected a number from -1e+12 to 1e+12 seconds",
    f"{HEADER}nan,x1,down\n": ":2: time_s is nan; expected a number",
    f"{HEADER}1e13,x1,down\n": ":2: time_s is 10000000000000.0; expected a number",
    f"{HEADER}1,x1,broken\n": ":2: unknown event 'broken'; the known ones are down, up",
    f"{HEADER}1,x1\n": ":2: has 2 cells; expected time_s,node,event; mend the line",
    "# nothing\ntime_s,node\n1,x1\n": ':2: column event is missing in "time_s,node"; expected time_s,node,event',
    "1,x1,down\n": ':1: column time_s is missing in "1,x1,down"',
    "": ": holds no event; write a line time_s,node,event",
    HEADER: ": holds no event;",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: WRONG[text][:40])
def test_mistakes_in_a_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    path = str(tmp_path / "failures.csv")
    assert str(caught.value).startswith(path + WRONG[text].replace("FILE", path))
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such failures file"):
        check_given(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="is a directory; name a CSV file in it"):
        check_given(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read as text"):
        given_failures(str(tmp_path / "binary"), CLUSTER)


def test_events_from_python_are_checked_by_the_same_words() -> None:
    events = ((20, "x1", "up"), (1.5, "x1", "down"))
    assert check_given(list(events)) == ((20.0, "x1", "up"), (1.5, "x1", "down"))
    assert given_failures(events, CLUSTER).time_ms.tolist() == [1500, 20_000]
    assert len(given_failures((), CLUSTER)) == 0
    with pytest.raises(InputError, match='failures: event 1: node "y" is not in the cluster helios-venus; its first'):
        given_failures(((1.0, "y", "down"),), CLUSTER)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([(1.0, "x1")], "failures: event 1 is (1.0, 'x1'); expected (time in seconds, name of a node, 'down' or 'up')"),
        (["down"], "failures: event 1 is 'down'; expected (time"),
        ([(1.0, "x1", "down"), (None, "x1", "up")], "failures: event 2: time_s is None; expected a number"),
        ([(1.0, 1, "down")], "failures: event 1: node is 1; expected the name of a node"),
        ([(1.0, "x1", True)], "failures: event 1: unknown event 'True'; the known ones"),
        ([(1.0, "x1", "down"), (1.0, "x1", "down")], "goes down at 1 s, but is down since 1 s (failures: event 1)"),
    ],
)
def test_wrong_events_from_python(events: list[tuple[float, str, str]], message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_given(events)
    assert message in str(caught.value)


@given(turns=st.lists(st.tuples(st.integers(0, 8), st.integers(1, 50)), max_size=30), shuffled=st.randoms())
def test_events_in_any_order_give_the_same(turns: list[tuple[int, int]], shuffled: Random) -> None:
    clock: dict[int, int] = {}
    events: list[tuple[float, str, str]] = []
    for node, step in turns:
        # Each node's times rise, and no two nodes share one, so that the order is the time's alone.
        clock[node] = clock.get(node, 0) + step
        turn = sum(name == f"x{node}" for _, name, _ in events)
        events.append((clock[node] + node / 10, f"x{node}", "up" if turn % 2 else "down"))
    expected = given_failures(sorted(events), CLUSTER)
    shuffled.shuffle(events)
    found = given_failures(events, CLUSTER)
    assert found.time_ms.tolist() == expected.time_ms.tolist()
    assert found.node.tolist() == expected.node.tolist()
    assert found.up.tolist() == expected.up.tolist()
