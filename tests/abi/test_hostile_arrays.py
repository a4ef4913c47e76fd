"""Logs, arrays and handles of any kind: read, or refused with an error; never a crash."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shunter._core import ffi, lib
from shunter.native import CoreError, check, last_error, pointer
from tests.abi.hostile import HOSTILE, open_scene
from tests.abi.scene import Scene


@pytest.fixture(scope="module")
def scene() -> Scene:
    """A simulation that nothing happens to."""
    return open_scene()


@HOSTILE
@given(st.binary(max_size=300) | st.text("0123456789 \n\r\t;.-+eE", max_size=300).map(str.encode))
def test_any_bytes_are_a_log_or_refused_with_the_line(text: bytes) -> None:
    capacity = len(text) // 36 + 1
    columns, lines = np.full(18 * capacity, np.nan), np.zeros(capacity, dtype=np.int64)
    rows = ffi.new("uintptr_t *")
    source = ffi.from_buffer("uint8_t[]", text) if text else ffi.NULL
    if lib.shunter_swf_read(source, len(text), pointer(columns), pointer(lines), capacity, rows) == 0:
        assert np.isfinite(columns.reshape(18, capacity)[:, : rows[0]]).all()
        assert (lines[: rows[0]] > 0).all()
    else:
        line, colon, message = last_error().partition(":")
        assert 1 <= int(line) <= len(text.splitlines()) + 1
        assert colon
        assert message


@pytest.mark.parametrize("dtype", ["i2", "u2", "i1", "f2", "c16", "?", ">i8", ">f8", "O", "S8", "M8[s]"])
def test_an_array_of_another_type_is_refused(dtype: str) -> None:
    with pytest.raises((CoreError, KeyError)):
        pointer(np.zeros(3, dtype=dtype))


@pytest.mark.parametrize(
    "array",
    [np.zeros(6, dtype=np.int64)[::2], np.zeros(6)[::-1], np.zeros((3, 2)).T, np.broadcast_to(np.zeros(1), (4,))],
    ids=["every second", "backwards", "transposed", "broadcast"],
)
def test_an_array_that_is_not_contiguous_is_refused(array: NDArray[Any]) -> None:
    with pytest.raises(CoreError, match="contiguous"):
        pointer(array)


def test_an_empty_array_is_null() -> None:
    assert pointer(np.empty(0, dtype=np.int64)) == ffi.NULL


def test_a_pointer_of_another_type_is_refused(scene: Scene) -> None:
    with pytest.raises(TypeError):
        lib.shunter_simulation_waiting(scene.number, pointer(np.zeros(9, dtype=np.int64)), 9)


@HOSTILE
@given(number=st.integers(0, 2**64 - 1) | st.integers(0, 20).map(lambda index: index << 32))
def test_made_up_handles_are_refused(scene: Scene, number: int) -> None:
    if number in (scene.number, scene.cluster.number, scene.jobs.number):
        return
    with pytest.raises(CoreError, match=f"{number} is"):
        check(lib.shunter_simulation_dispatch(number))


def test_a_closed_handle_is_refused_by_every_call() -> None:
    simulation = open_scene()
    simulation.simulation.close()
    simulation.simulation.close()
    for call in (simulation.status, simulation.advance, simulation.run, simulation.dispatch, simulation.serialize):
        with pytest.raises(CoreError, match="not open"):
            call()
    assert lib.shunter_close(simulation.number) == -2


def test_a_handle_of_another_kind_is_refused() -> None:
    simulation = open_scene()
    for other in (simulation.cluster, simulation.jobs):
        with pytest.raises(CoreError, match="not a simulation"):
            check(lib.shunter_simulation_dispatch(other.number))
