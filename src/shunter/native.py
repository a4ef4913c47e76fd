"""The border to the core: checks arrays on the way in, turns statuses into exceptions on the way out."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter import _core
from shunter.core_numbers import core_numbers
from shunter.errors import InputError, ShunterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

ffi: Final = _core.ffi
lib: Final = _core.lib

_C_TYPES: Final = {
    np.dtype(np.int64): "int64_t[]",
    np.dtype(np.int32): "int32_t[]",
    np.dtype(np.uint32): "uint32_t[]",
    np.dtype(np.uint8): "uint8_t[]",
    np.dtype(np.float64): "double[]",
    np.dtype(np.float32): "float[]",
    np.dtype(np.uintp): "uintptr_t[]",
}


RESULTS: Final = core_numbers("Result")


class CoreError(ShunterError):
    """The core was used wrongly, or has a defect."""


def check(status: int) -> None:
    """Raises what a status other than 0 means."""
    if status == RESULTS["OK"]:
        return
    error = CoreError if status in (RESULTS["INVALID_HANDLE"], RESULTS["PANICKED"]) else InputError
    raise error(last_error())


def last_error() -> str:
    """Returns the core's last message on this thread."""
    buffer = bytearray(lib.shunter_last_error(ffi.NULL, 0))
    lib.shunter_last_error(ffi.from_buffer("uint8_t[]", buffer), len(buffer))
    return buffer.decode(errors="replace")


def pointer(array: NDArray[Any]) -> Any:  # noqa: ANN401 - cffi's pointers have no static type
    """Returns a pointer to a contiguous array's values, null for an empty one; its type is that of the values."""
    if not array.flags.c_contiguous:
        raise CoreError("an array for the core must be contiguous")
    if array.dtype not in _C_TYPES:
        raise CoreError(f"an array for the core cannot hold {array.dtype}")
    return ffi.from_buffer(_C_TYPES[array.dtype], array) if array.size else ffi.NULL


class Handle:
    """A handle of the core's, closed with the object that holds it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._finalizer = weakref.finalize(self, lib.shunter_close, number)

    def close(self) -> None:
        """Closes the handle; using it afterwards is an error. Closing twice is not."""
        self._finalizer()


def opened(open_object: Any, *arguments: Any) -> Handle:  # noqa: ANN401 - as above
    """Calls one of the core's functions that opens an object, and returns its handle."""
    number = ffi.new("uint64_t *")
    check(open_object(*arguments, number))
    return Handle(number[0])
