"""Tokens: a file that nobody else may read, made and read with care. A token is never printed or logged."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from shunter.errors import InputError

BYTES: Final = 32
"""How many random bytes a new token has."""
LEAST_SIGNS: Final = 32
"""A shorter token might be guessed."""


def make_token(path: Path) -> None:
    """Writes a new token into a new file that only its owner may read.

    Raises:
        InputError: There is such a file, or it cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise InputError(f"{path}: is there already; remove it first, or name another file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); name another file") from None
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(BYTES) + "\n")
    except OSError as error:
        path.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written ({error.strerror}); make room, or name another file") from None


def read_token(path: Path) -> bytes:
    """Returns the token in a file.

    Raises:
        InputError: The file cannot be read, others may read it, or there is no good token in it.
    """
    try:
        # Asked of the open file: nobody can put another in its place in between.
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            token = file.read(10_000).strip()
    except OSError as error:
        make = f"make one with: shunter serve --new-token {path}"
        raise InputError(f"{path}: the token cannot be read ({error.strerror}); {make}") from None
    if not stat.S_ISREG(about.st_mode) or about.st_uid not in (os.geteuid(), 0):
        raise InputError(f"{path}: is not a file of this user's or of root's; make one with: shunter serve --new-token")
    if about.st_mode & 0o077:
        raise InputError(f"{path}: others may read or write the token; take that right away: chmod 600 {path}")
    if len(token) < LEAST_SIGNS or not token.isascii() or any(sign <= 32 for sign in token):
        what = f"holds no token of {LEAST_SIGNS} signs or more, without blanks"
        raise InputError(f"{path}: {what}; make one with: shunter serve --new-token")
    return token
