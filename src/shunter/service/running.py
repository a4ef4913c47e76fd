"""A service as a process: where it listens, and that nobody else gets in."""

from __future__ import annotations

import gc
import ipaddress
import logging
import os
import signal
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn

from shunter.errors import InputError
from shunter.service.protocol import timed

if TYPE_CHECKING:
    from shunter.service.guard import Guard
    from shunter.service.limits import Limits

BACKLOG: Final = 128
GRACE_S: Final = 5
"""How long requests under way may go on when the process is told to end."""


@dataclass(frozen=True)
class Address:
    """Where a service listens: a Unix socket, or a host and a port."""

    path: Path | None = None
    mode: int = 0o600
    host: str = "127.0.0.1"
    port: int = 0

    @property
    def is_open_to_others(self) -> bool:
        """Whether others than the owner, and the group that was named, could connect without a token."""
        return self.path is None or bool(self.mode & 0o007)

    def check(self, *, has_token: bool, beyond_loopback: bool) -> None:
        """Checks that nobody is let in by mistake.

        Raises:
            InputError: A token is needed and there is none, or others than this machine could connect.
        """
        if self.is_open_to_others and not has_token:
            what = (
                "a port can be reached by all users of this machine" if self.path is None else "all may open the socket"
            )
            raise InputError(f"{what}; give --token-file FILE (shunter serve --new-token FILE makes one)")
        if self.path is None and not beyond_loopback and not is_loopback(self.host):
            raise InputError(
                f"--host {self.host} can be reached from other machines; add --beyond-loopback if you mean it"
            )

    def open(self) -> socket.socket:
        """Returns a socket that listens.

        Raises:
            InputError: The address is in use, or cannot be used.
        """
        return self._open_port() if self.path is None else self._open_path(self.path)

    def _open_port(self) -> socket.socket:
        try:
            family, *_, where = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0]
            opened = socket.socket(family, socket.SOCK_STREAM)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind(where)
            opened.listen(BACKLOG)
        except OSError as error:
            raise InputError(f"cannot listen on {self.host} port {self.port} ({error.strerror or error})") from None
        return opened

    def _open_path(self, path: Path) -> socket.socket:
        _remove_left_over(path)
        opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # From its first moment on, nobody may open it who may not later.
        before = os.umask(0o777 & ~self.mode)
        try:
            opened.bind(str(path))
            opened.listen(BACKLOG)
        except OSError as error:
            raise InputError(f"--socket {path}: cannot listen there ({error.strerror or error})") from None
        finally:
            os.umask(before)
        return opened


def is_loopback(host: str) -> bool:
    """Returns whether all addresses that a host means are this machine's own.

    Raises:
        InputError: It means none.
    """
    try:
        found = {about[4][0] for about in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise InputError(f"--host {host}: is no host ({error.strerror or error})") from None
    return all(ipaddress.ip_address(str(one).partition("%")[0]).is_loopback for one in found)


def _remove_left_over(path: Path) -> None:
    """Removes the socket of a process that is gone.

    Raises:
        InputError: Somebody listens there, or it is no socket.
    """
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise InputError(f"--socket {path}: there is a file that is no socket; name another path")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        try:
            trial.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError as error:
            raise InputError(f"--socket {path}: cannot be used ({error.strerror or error})") from None
    raise InputError(f"--socket {path}: a service listens there already; stop it, or name another path")


def server_of(app: Guard, limits: Limits) -> uvicorn.Server:
    """Returns what serves an application over sockets that are open."""
    config = uvicorn.Config(
        app,
        http=timed(limits),
        ws="none",
        lifespan="on",
        # Its lines would name addresses, in which a client may have put anything.
        access_log=False,
        log_config=None,
        server_header=False,
        # Nobody's word counts on who somebody is.
        proxy_headers=False,
        timeout_keep_alive=limits.idle_s,  # type: ignore[arg-type]
        timeout_graceful_shutdown=GRACE_S,
    )
    return uvicorn.Server(config)


def serve(app: Guard, address: Address, limits: Limits, opened: socket.socket) -> None:
    """Serves until SIGTERM or SIGINT."""
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    # What is loaded stays: looking through all of it for garbage again and again would make some answers late.
    gc.collect()
    gc.freeze()
    # Uvicorn ends in order at SIGTERM, and then has the signal end the process; here there is more to do.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        server_of(app, limits).run(sockets=[opened])
    finally:
        opened.close()
        if address.path is not None:
            address.path.unlink(missing_ok=True)
