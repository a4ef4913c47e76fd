"""The border to the core: checks arrays on the way in, turns statuses into exceptions on the way out.

The catalog of policies takes the core's numbers from here, and the command line its help from the catalog. So this
module must not import NumPy.
"""

from __future__ import annotations

import re
import sys
import weakref
from dataclasses import dataclass, field, fields
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from shunter.errors import InputError, OutOfTimeError, ShunterError

_BUILD: Final = "build it on this machine with 'make install' (docs/troubleshooting.md)"
try:
    # Named again: they are this module's to offer.
    from shunter._core import ffi as ffi
    from shunter._core import lib as lib
except ImportError:
    raise ShunterError(f"the compiled core is missing; {_BUILD}") from None
except OSError as error:
    # It was built on another machine, or for another kind of processor, or is damaged.
    raise ShunterError(f"the compiled core cannot be loaded ({error}); {_BUILD}") from None

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Arrays = TypeVar("Arrays", bound="CoreArrays")

_OWN_ORDER: Final = "<" if sys.byteorder == "little" else ">"
_C_TYPES: Final = {
    f"{_OWN_ORDER}i8": "int64_t[]",
    f"{_OWN_ORDER}i4": "int32_t[]",
    f"{_OWN_ORDER}u4": "uint32_t[]",
    "|u1": "uint8_t[]",
    f"{_OWN_ORDER}f8": "double[]",
    f"{_OWN_ORDER}f4": "float[]",
    f"{_OWN_ORDER}u8": "uintptr_t[]",
}
"""The C types of arrays, by NumPy's short texts for the types of their values, which also tell the order of bytes."""


_STALE: Final = "the compiled core is older than this code; build it again with 'make install'"


def core_numbers(name: str) -> dict[str, int]:
    """Returns the core's numbers for the names of one of its enums: ``core_numbers("Estimate")["last-two"]``.

    They come with the compiled library. ``core/include/shunter.h`` lists them as ``enum ShunterEstimate`` and so on;
    here names are spelled as users write them.
    """
    prefix = f"SHUNTER_{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', name).upper()}_"
    try:
        found: dict[str, int] = ffi.typeof(f"enum Shunter{name}").relements
    except ffi.error:
        raise ShunterError(_STALE) from None
    ordered = sorted(found.items(), key=itemgetter(1))
    return _Numbers((label.removeprefix(prefix).replace("_", "-").lower(), number) for label, number in ordered)


class _Numbers(dict[str, int]):
    """Numbers by name; a name that this code knows and the compiled library does not is one that came later."""

    def __missing__(self, name: str) -> int:
        raise ShunterError(_STALE)


RESULTS: Final = core_numbers("Result")


class CoreError(ShunterError):
    """The core was used wrongly, or has a defect."""


def check(status: int) -> None:
    """Raises what a status other than 0 means."""
    if status == RESULTS["ok"]:
        return
    if status == RESULTS["timeout"]:
        raise OutOfTimeError(last_error())
    # All other statuses mean that the core was given something wrong, which a user can mend.
    error = CoreError if status in (RESULTS["invalid-handle"], RESULTS["panicked"]) else InputError
    raise error(last_error())


def last_error() -> str:
    """Returns the core's last message on this thread."""
    # The first call tells how long the message is, the second one copies it.
    buffer = bytearray(lib.shunter_last_error(ffi.NULL, 0))
    lib.shunter_last_error(ffi.from_buffer("uint8_t[]", buffer), len(buffer))
    return buffer.decode(errors="replace")


def pointer(array: NDArray[Any]) -> Any:  # noqa: ANN401 - cffi's pointers have no static type
    """Returns a pointer to a contiguous array's values, null for an empty one; its type is that of the values."""
    if not array.flags.c_contiguous:
        raise CoreError("an array for the core must be contiguous")
    c_type = _C_TYPES.get(array.dtype.str)
    if c_type is None:
        raise CoreError(f"an array for the core cannot hold {array.dtype}")
    # Null stands for no values: what an empty array points to is nobody's memory.
    return ffi.from_buffer(c_type, array) if array.size else ffi.NULL


def pointers(*arrays: NDArray[Any]) -> list[Any]:
    """Returns a pointer to the values of each array, as `pointer` does."""
    return [pointer(array) for array in arrays]


def filled(dtype: type[np.generic]) -> Any:  # noqa: ANN401 - as `dataclasses.field` is typed
    """Returns a field for an array that the core fills with values of this type."""
    return field(metadata={"dtype": dtype})


@dataclass(frozen=True)
class CoreArrays:
    """Arrays of one shape; the fields stand in the order in which the core's function takes them."""

    @classmethod
    def empty(cls: type[Arrays], *shape: int) -> Arrays:
        """Returns arrays of a shape with any values, for the core to fill."""
        import numpy as np

        return cls(**{one.name: np.empty(shape, one.metadata["dtype"]) for one in fields(cls)})

    def pointers(self) -> list[Any]:
        """Returns the arrays as the core's function takes them."""
        return pointers(*(getattr(self, one.name) for one in fields(self)))


class Handle:
    """A handle of the core's, closed with the object that holds it."""

    def __init__(self, number: int) -> None:
        self.number = number
        # Unlike __del__, this also runs when the interpreter ends, and never twice.
        self._finalizer = weakref.finalize(self, lib.shunter_close, number)

    def close(self) -> None:
        """Closes the handle; using it afterwards is an error. Closing twice is not."""
        self._finalizer()


def opened(open_object: Any, *arguments: Any) -> Handle:  # noqa: ANN401 - cffi's functions and values have no static type
    """Calls one of the core's functions that opens an object, and returns its handle."""
    number = ffi.new("uint64_t *")
    check(open_object(*arguments, number))
    return Handle(number[0])
