"""Parameters behind a name, and values of tables."""

from __future__ import annotations

import pytest

from shunter.checks import read_query, typed
from shunter.errors import InputError


def test_values_are_texts_by_their_names() -> None:
    given = read_query("seed=42&kind=a%26b&empty=", "here", "seed=1")
    assert given == {"seed": "42", "kind": "a&b", "empty": ""}
    assert read_query("", "here", "seed=1") == {}


def test_a_plus_is_no_blank() -> None:
    assert read_query("load=1e+3", "here", "seed=1") == {"load": "1e+3"}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("seed", "here: parameters cannot be read; write them as seed=1"),
        ("seed=1&", "here: parameters cannot be read; write them as seed=1"),
        ("seed=1&seed=1", "here: parameter 'seed' is given twice; give it once"),
    ],
)
def test_mistakes(query: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_query(query, "here", "seed=1")
    assert str(caught.value) == message


def test_a_number_too_large_for_a_float_is_refused() -> None:
    assert typed(5, float, "rate") == 5.0
    with pytest.raises(InputError, match=r"^rate is 10000*; expected a number$"):
        typed(10**400, float, "rate")
    with pytest.raises(InputError, match=r"^rates is "):
        typed([1, 10**400], tuple[float, ...], "rates")
