"""Lists of hosts."""

from __future__ import annotations

import pytest

from shunter.workloads.text.hosts import node_names, read_hosts, write_hosts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a1", ["a1"]),
        ("a[01-03,7],b2", ["a01", "a02", "a03", "a7", "b2"]),
        ("r[1-2]n[8,10]x", ["r1n8x", "r1n10x", "r2n8x", "r2n10x"]),
        ("a[098-101]", ["a098", "a099", "a100", "a101"]),
        ("", None),
        ("a,,b", None),
        ("a[1-", None),
        ("a[]", None),
        ("a[3-1]", None),
        ("a[x]", None),
        ("a[0-99999999999]", None),
        ("a[1-1000]b[1-1000]c[1-2]", None),
    ],
)
def test_lists_of_nodes(text: str, expected: list[str] | None) -> None:
    assert node_names(text) == expected


def test_hosts_with_their_cores() -> None:
    assert write_hosts({}) is None
    assert write_hosts({"a": 8, "b": 4}) == "a*8,b*4"
    assert read_hosts("a*8,b*4") == {"a": 8.0, "b": 4.0}
    assert read_hosts("n[1-2]*4,x") == {"n1": 4.0, "n2": 4.0, "x": None}
    assert read_hosts("[anonymous]*4") is None
