"""Who has shown the token once: a browser's own event stream cannot send headers, so that a cookie stands for it.

The cookie holds no token. It is a time with a code that only the holder of the token can have made, so that nothing is
kept here, and it still holds when the service has been started again with the same token.

Browsers send a cookie to all ports of a host: to another service like this one, and to whatever another user of the
machine runs. So it goes with a place, a part of the address that follows from the token and that nobody else knows.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from http.cookies import CookieError, SimpleCookie
from typing import Final

COOKIE: Final = "shunter"
LASTS_S: Final = 7 * 86_400
PATH: Final = "/live"
PLACE_SIGNS: Final = 24


class Sessions:
    """Makes and checks cookies."""

    def __init__(self, token: bytes | None) -> None:
        """Takes the token; None: none is needed."""
        self._token = token

    @property
    def place(self) -> str:
        """The part of the address with which alone the cookie is sent, and counts."""
        return self._code(b"place")[:PLACE_SIGNS]

    def header(self, *, is_secure: bool) -> str:
        """Returns the header that gives a browser its cookie.

        Args:
            is_secure: Whether the browser came by TLS: then it shall never send the cookie without.
        """
        until = int(time.time()) + LASTS_S
        return self._header(f"{until}.{self._code(b'until %d' % until)}", LASTS_S) + "; Secure" * is_secure

    def goodbye(self) -> str:
        """Returns the header that takes the cookie away."""
        return self._header("", 0)

    def holds(self, path: str, cookies: bytes) -> bool:
        """Returns whether a request is for our place and has a cookie of ours that still holds."""
        if not path.startswith(f"{PATH}/{self.place}/"):
            return False
        try:
            found = SimpleCookie(cookies.decode("latin-1")).get(COOKIE)
        except CookieError:
            return False
        until, _, code = (found.value if found else "").partition(".")
        if not (until.isascii() and until.isdecimal() and len(until) < 16 and code.isascii()):
            return False
        # Checked first and in constant time: a time that is over says nothing about the code.
        return hmac.compare_digest(code, self._code(b"until %d" % int(until))) and time.time() < int(until)

    def _header(self, value: str, lasts_s: int) -> str:
        return f"{COOKIE}={value}; Path={PATH}/{self.place}; Max-Age={lasts_s}; HttpOnly; SameSite=Strict"

    def _code(self, what: bytes) -> str:
        return hmac.new(self._token or b"", b"shunter live " + what, hashlib.sha256).hexdigest()
