"""Who has shown the token once: a browser's own event stream cannot send headers, so that a cookie stands for it.

The cookie holds no token. It is a time with a code that only the holder of the token can have made, so that nothing is
kept here, and it still holds when the service has been started again with the same token.
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
"""The cookie is sent with these addresses alone, and counts for no others."""


class Sessions:
    """Makes and checks cookies."""

    def __init__(self, token: bytes | None) -> None:
        """Takes the token; None: none is needed."""
        self._token = token

    def header(self, *, is_secure: bool) -> str:
        """Returns the header that gives a browser its cookie.

        Args:
            is_secure: Whether the browser came by TLS: then it shall never send the cookie without.
        """
        until = int(time.time()) + LASTS_S
        value = f"{until}.{self._code(until)}"
        return f"{COOKIE}={value}; Path={PATH}; Max-Age={LASTS_S}; HttpOnly; SameSite=Strict" + "; Secure" * is_secure

    @staticmethod
    def goodbye() -> str:
        """Returns the header that takes the cookie away."""
        return f"{COOKIE}=; Path={PATH}; Max-Age=0; HttpOnly; SameSite=Strict"

    def holds(self, cookies: bytes) -> bool:
        """Returns whether a request has a cookie of ours that still holds."""
        try:
            found = SimpleCookie(cookies.decode("latin-1")).get(COOKIE)
        except CookieError:
            return False
        until, _, code = (found.value if found else "").partition(".")
        if not (until.isascii() and until.isdecimal() and len(until) < 16 and code.isascii()):
            return False
        # Checked first and in constant time: a time that is over says nothing about the code.
        return hmac.compare_digest(code, self._code(int(until))) and time.time() < int(until)

    def _code(self, until: int) -> str:
        return hmac.new(self._token or b"", b"shunter live until %d" % until, hashlib.sha256).hexdigest()
