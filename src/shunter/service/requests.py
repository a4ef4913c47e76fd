"""What requests may hold, and how they are read. Whatever they say is checked here or by the readers of snapshots.

The checks are those of `shunter.checks`, as for every other file that Shunter reads: a state is checked by its own
reader, which knows more of it than a model of Pydantic's could, and errors read alike wherever they come from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from shunter.checks import check_fields, check_name, declared, from_table
from shunter.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

WHERE: Final = "request"
"""What errors call it."""
SNAPSHOT: Final = "snapshot"
NEW: Final = "new"


@dataclass(frozen=True)
class DecideRequest:
    """Asks what a policy decides on a snapshot."""

    policy: str = declared("", "The name of a policy of GET /v1/policies; may be left out if there is one alone.")


@dataclass(frozen=True)
class ExplainRequest:
    """Asks why a job waits in a snapshot, or waited in a log."""

    job: int | str
    policy: str = declared("", "The name of a policy.")
    log: str = declared("", "The name of a log, if there is no snapshot: it is simulated under the policy.")
    top: int = declared(10, "How many of those that kept it waiting are told.", low=1, high=10_000)

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class EtaRequest:
    """Asks when those that wait start."""

    policy: str = declared("", "The name of a policy, by which the site is taken to schedule.")
    log: str = declared("", "The name of a log, if there is no snapshot.")
    at_s: float | None = declared(None, "The time of the log's own clock at which to ask.")
    job: int | str | None = declared(None, "Ask when this job of the log is submitted.")
    futures: int = declared(100, "How many futures are simulated.", low=1)
    horizon_days: float = declared(28.0, "How far to look.", low=0, above=True, high=366)
    seed: int = declared(0, "Of everything that is drawn.", low=0)

    def __post_init__(self) -> None:
        check_fields(self)


def parse_body(body: bytes) -> dict[str, Any]:
    """Returns the object that a body holds.

    Raises:
        InputError: It is no object in JSON, or has numbers that are none.
    """
    try:
        text = body.decode(json.detect_encoding(body))
        content = json.loads(text, parse_constant=_refuse_constant)
        # Half of a pair of surrogates is no sign: nobody could write such a text anywhere.
        if "\\u" in text:
            json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{WHERE}: a text holds {error.object[error.start]!r}, which is no sign; leave it out"
        ) from None
    # Lists in lists in lists go too deep.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{WHERE}: is not JSON ({error})") from None
    if not isinstance(content, dict):
        raise InputError(f"{WHERE}: is a {type(content).__name__}; expected an object")
    return content


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is no number")


def read_request(kind: type[T], content: Mapping[str, Any], *apart: str) -> T:
    """Returns what a request asks for; the fields that are named `apart` are read elsewhere.

    Raises:
        InputError: A field is unknown, missing or wrong.
    """
    # The error for an unknown one names all, also those that are read elsewhere.
    for name in content:
        check_name("field", name, [*(one.name for one in fields(kind)), *apart], where=f"{WHERE}: ")
    return from_table(kind, {name: value for name, value in content.items() if name not in apart}, WHERE)
