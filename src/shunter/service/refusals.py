"""What a request is refused with: a status, and one line that says what to do, as JSON."""

from __future__ import annotations

import json
from typing import Any, Final

from shunter.errors import ShunterError, visible

MOST_WORDS: Final = 500
"""How much of a message is told: a value of the request may stand in it, and be as long as the request."""
WORDS: Final = {
    400: "bad_request",
    401: "no_token",
    403: "forbidden",
    404: "not_found",
    405: "wrong_method",
    408: "too_slow",
    413: "too_large",
    421: "wrong_host",
    429: "too_many",
    431: "head_too_large",
    500: "failed",
    503: "busy",
    504: "took_too_long",
}
"""A word for each status, for programs."""

HEADERS: Final = {
    401: {"www-authenticate": "Bearer"},
    # Nobody reads the rest of the body: whoever sends on shall notice.
    413: {"connection": "close"},
    429: {"retry-after": "1"},
    503: {"retry-after": "1"},
}
"""What else clients are told with a status."""


class RefusedError(ShunterError):
    """A request that is not answered."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def refusal_body(status: int, message: str) -> bytes:
    """Returns the body of a refusal."""
    line = visible(" ".join(message.split()))
    told = line if len(line) <= MOST_WORDS else line[:MOST_WORDS] + " …"
    return json_bytes({"error": {"code": WORDS.get(status, "refused"), "message": told}})


def json_bytes(content: Any) -> bytes:  # noqa: ANN401 - whatever JSON holds
    """Returns JSON without blanks. A number that is none would be no JSON, and is an error of ours."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
