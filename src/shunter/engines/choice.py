"""Which engine a user asks for: ``--on local``, ``--on ray``, or the address of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from shunter.checks import check_name

if TYPE_CHECKING:
    from shunter.engines.base import Engine

LOCAL: Final = "local"
"""Processes and threads of this machine, as suits the work."""
RAY: Final = "ray"
"""A Ray cluster on this machine, for the time of the work."""


def check_on(on: str | Engine) -> None:
    """Raises an error for a place that cannot be, or where nobody answers, before anything takes long."""
    if isinstance(on, str) and on != LOCAL:
        from shunter.engines.ray_cluster import check_address

        check_address(_address(on))


@contextmanager
def engine_on(on: str | Engine, cores: int) -> Iterator[Engine | None]:
    """Yields the engine that is asked for; None for this machine, which each kind of work uses in its own way.

    Args:
        on: `LOCAL`, `RAY`, an address, or an engine, which is yielded as it is.
        cores: How many cores of this machine may be used.

    Raises:
        InputError: There is no such place, or it cannot be reached.
    """
    if not isinstance(on, str):
        yield on
    elif on == LOCAL:
        yield None
    else:
        from shunter.engines.ray_cluster import ray_engine

        with ray_engine(_address(on), cores) as engine:
            yield engine


def _address(on: str) -> str | None:
    """Returns the address that a text is; None for a cluster of our own."""
    if ":" in on:
        return on
    check_name("place (--on)", on, (LOCAL, RAY), also=", or the address of a Ray cluster: HOST:PORT")
    return None
