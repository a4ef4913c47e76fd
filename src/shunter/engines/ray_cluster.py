"""Tasks in workers of a Ray cluster: of one on this machine that lives as long as the work, or of one by its address.

Ray is an extra (``pip install 'shunter[ray]'``), and is imported when it is asked for.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Generic, cast

from shunter import __version__
from shunter.engines.base import Done, Failed, Result, Shared, Task, Told, Value, answer
from shunter.engines.local import GRACE_S, POLL_S
from shunter.errors import InputError
from shunter.extras import RAY, need
from shunter.interruption import interruption

CLIENT: Final = "ray://"
"""How addresses of Ray's client server begin."""
LOOPBACK: Final = "127.0.0.1"
ANSWER_S: Final = 5.0
"""So long an address may take to answer."""
AHEAD: Final = 2
"""So many tasks for each worker are with Ray at a time: one runs, and the next is there when it ends."""
_LOCAL_ONLY: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's switch for clusters: off, Ray is for this machine alone, and listens on its loopback alone."""
_SWITCHES: Final = (_LOCAL_ONLY, "RAY_USAGE_STATS_ENABLED", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN")
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""What a client of gRPC says first: HTTP/2, and no settings of its own."""
_SETTINGS_FRAME: Final = 4


@dataclass
class RayEngine:
    """Runs each task as a task of Ray's on one core, wherever in the cluster one is free."""

    workers: int
    """How many cores the cluster has for tasks."""
    retries: int = 1
    """How often a task is begun again whose worker died without a word."""
    is_here: bool = False
    """Whether the cluster is one of our own on this machine."""
    _sent: list[tuple[object, Any]] = field(default_factory=list, init=False, repr=False)
    """What is shared, each with what stands for it. Held: of an object that is gone another could have the place."""

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        told: Told[Result] | None = None,
        *,
        alone: bool = True,
    ) -> list[Done[Result] | Failed]:
        """Runs a function on each task; `shunter.engines.base.Engine` says how."""
        ray = _ray()
        # A process that ends with its task, or one that Ray keeps. Ray's own retries could not tell how often it died.
        begin = ray.remote(max_calls=int(alone), max_retries=0, num_cpus=1)(_work)
        outcomes: dict[int, Done[Result] | Failed] = {}
        waiting = deque(enumerate(tasks))
        deaths = [0] * len(tasks)
        running: dict[Any, tuple[int, Task]] = {}
        try:
            with interruption() as interrupted:
                while waiting or running:
                    while waiting and len(running) < AHEAD * self.workers:
                        place, task = waiting.popleft()
                        running[_begun(begin, function, task)] = place, task
                    for ended in ray.wait(list(running), num_returns=1, timeout=POLL_S)[0]:
                        place, task = running.pop(ended)
                        outcome = _outcome(ended, deaths[place], self.retries)
                        if outcome is None:
                            deaths[place] += 1
                            waiting.appendleft((place, task))
                            continue
                        outcomes[place] = outcome
                        if told is not None:
                            told(place, outcome)
                    if interrupted.is_set():
                        raise KeyboardInterrupt
        finally:
            _stop(list(running))
        return [outcomes[place] for place in range(len(tasks))]

    def share(self, value: Value, send: Callable[[Value], Value] | None = None) -> Shared[Value]:
        """Returns what tasks can hold in the place of something large, which is put into Ray's object store once."""
        for known, shared in self._sent:
            if known is value:
                return cast("Shared[Value]", shared)
        found = Stored[Value](_ray().put(value if send is None else send(value)))
        self._sent.append((value, found))
        return found


@dataclass(frozen=True)
class Stored(Generic[Value]):
    """A thing in Ray's object store."""

    reference: Any

    @property
    def key(self) -> str:
        """Ray's own name for it."""
        return str(self.reference.hex())

    def get(self) -> Value:
        """Returns the thing; whoever needs it often keeps it."""
        return cast(Value, _ray().get(self.reference))


def _ray() -> Any:  # noqa: ANN401 - Ray is an extra, which type checkers need not have
    return import_module("ray")


def _begun(begin: Any, function: Callable[[Any], Any], task: object) -> Any:  # noqa: ANN401 - Ray's function and reference
    """Hands a task to Ray, and returns Ray's reference to what will come of it."""
    try:
        return begin.remote(function, task, build(), os.getcwd())
    except TypeError as error:
        what = str(error).split("\n", 1)[0]
        raise InputError(
            f"a task cannot be sent to other machines ({what}); give files, or run it --on local"
        ) from None


def _outcome(reference: Any, deaths: int, retries: int) -> Done[Any] | Failed | None:  # noqa: ANN401 - Ray's reference
    """Returns what came of a task that has ended; None: its worker died, and it is to be begun again."""
    ray = _ray()
    try:
        found: Done[Any] | Failed | str = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        # A task catches its own errors: this is one of a worker that could not even read it.
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise InputError(f"a worker cannot run tasks of Shunter ({lines[-1].strip()}); {_same_everywhere()}") from None
    except ray.exceptions.RayError as error:
        if deaths < retries:
            return None
        name = type(error).__name__
        return Failed(f"its worker died {deaths + 1} times, the last time with {name}; is there memory enough?")
    if isinstance(found, str):
        raise InputError(f"{found}; {_same_everywhere()}")
    return found


def _same_everywhere() -> str:
    return f"install shunter {__version__}, of the same build, on every machine of the cluster"


def _stop(running: list[Any]) -> None:
    """Asks tasks to stop, and ends the workers of those that do not."""
    if not running:
        return
    ray = _ray()
    for reference in running:
        ray.cancel(reference)
    for reference in ray.wait(running, num_returns=len(running), timeout=GRACE_S)[1]:
        ray.cancel(reference, force=True)


def _work(function: Callable[[Any], Any], task: object, wanted: str, folder: str) -> Done[Any] | Failed | str:
    """Runs a task in a worker; a text says why this worker must not."""
    if build() != wanted:
        return f"a worker on {socket.gethostname()} has another build of Shunter ({build()}) than this one ({wanted})"
    # Relative names of files are those of whoever called, where this machine has that folder.
    with suppress(OSError):
        os.chdir(folder)
    return answer(function, task)


@cache
def build() -> str:
    """Returns the version of Shunter with a hash of its code and its compiled core: results depend on both."""
    home = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(path for suffix in ("py", "so", "toml") for path in home.rglob(f"*.{suffix}")):
        digest.update(f"{path.relative_to(home)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return f"{__version__}+{digest.hexdigest()[:12]}"


def check_address(address: str | None) -> None:
    """Raises an error if Ray is not installed, or nobody answers at an address.

    Args:
        address: ``HOST:PORT``, or ``ray://HOST:PORT``; None: a cluster on this machine is asked for.
    """
    need(RAY, f"--on {address or 'ray'}")
    if address is None:
        return
    host, port = _host_and_port(address)
    if not host or not (port.isdecimal() and 0 < int(port) < 1 << 16):
        raise InputError(
            f"--on is {address!r}; expected local, ray, HOST:PORT or ray://HOST:PORT, as in 127.0.0.1:6379"
        )
    # With TLS the first word is another, which Ray itself has to say.
    if os.environ.get("RAY_USE_TLS", "0") != "1":
        # Ray itself would wait for minutes, for an address may be that of a cluster which is about to start.
        remedy = "check the address, and that the cluster runs ('ray status')"
        try:
            is_server = _speaks_grpc(host, int(port))
        except OSError as error:
            raise InputError(f"--on {address}: nobody answers there ({error}); {remedy}") from None
        if not is_server:
            raise InputError(f"--on {address}: what answers there is not Ray; {remedy}")


def _host_and_port(address: str) -> tuple[str, str]:
    host, _, port = address.removeprefix(CLIENT).rpartition(":")
    return host.strip("[]"), port


def _speaks_grpc(host: str, port: int) -> bool:
    """Returns whether what answers at an address does so as servers of Ray do; that nobody does is an OSError."""
    with socket.create_connection((host, port), timeout=ANSWER_S) as connection:
        connection.settimeout(ANSWER_S)
        connection.sendall(_PREFACE)
        head = connection.recv(9)
    return len(head) > 3 and head[3] == _SETTINGS_FRAME


def _is_on_loopback_alone(address: str) -> bool:
    """Returns whether a cluster answers at the loopback of this machine, and not to other machines."""
    host, port = _host_and_port(address)
    if host not in (LOOPBACK, "localhost"):
        return False
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outward:
            # Nothing is sent: it tells by which of its addresses this machine would go out.
            outward.connect(("192.0.2.1", 9))
            return not _speaks_grpc(outward.getsockname()[0], int(port))
    except OSError:
        return True


@contextmanager
def ray_engine(address: str | None, cores: int) -> Iterator[RayEngine]:
    """Yields an engine on a Ray cluster.

    Args:
        address: As in `check_address`; None: a cluster on this machine alone, which ends with the block.
        cores: How many workers a cluster of our own has.

    Raises:
        InputError: Ray is not installed, or cannot be reached.
    """
    check_address(address)
    if "ray" in sys.modules and _ray().is_initialized():
        # Whoever has connected in Python means that cluster, and leaves it when it suits him.
        yield RayEngine(_cores(_ray()))
        return
    with _environment(address):
        ray = _ray()
        session = _begin_ray(ray, address, cores)
        try:
            yield RayEngine(_cores(ray), is_here=address is None)
        finally:
            ray.shutdown()
            if session is not None:
                # Sockets and logs of servers that are gone.
                shutil.rmtree(session, ignore_errors=True)


@contextmanager
def _environment(address: str | None) -> Iterator[None]:
    """Has Ray's switches in the environment, which its servers and workers inherit, as long as the block runs."""
    before = dict(os.environ)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is None:
        # Other users of this machine reach its loopback too, so Ray asks for a token. It would leave one in the home.
        os.environ.setdefault("RAY_AUTH_TOKEN", _token())
    # Ray would put the address by which others reach this machine in the place of the loopback.
    if address is None or _is_on_loopback_alone(address):
        _keep_to_this_machine()
    try:
        yield
    finally:
        for name in _SWITCHES:
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]


@cache
def _token() -> str:
    """Returns the token of the clusters of this process: Ray reads it once."""
    return secrets.token_hex(32)


def _keep_to_this_machine() -> None:
    """Lets a cluster that is started from now on listen on the loopback alone."""
    os.environ[_LOCAL_ONLY] = "0"
    # Ray reads the switch when it is imported, which somebody may have done before us.
    constants = sys.modules.get("ray._private.ray_constants")
    if constants is not None:
        constants.__dict__["ENABLE_RAY_CLUSTER"] = False


def _begin_ray(ray: Any, address: str | None, cores: int) -> str | None:  # noqa: ANN401 - Ray's module
    """Connects, having started a cluster where none is named; returns the folder of that one's sockets and logs."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address is not None:
            ray.init(address, **quiet)
            return None
        own = {"_node_ip_address": LOOPBACK, "include_dashboard": False, "num_cpus": cores}
        about = ray.init("local", **own, **quiet).address_info
    except (RuntimeError, ConnectionError, ValueError) as error:
        what = " ".join(str(error).split())
        remedy = "if the cluster asks for a token, set RAY_AUTH_MODE=token; see docs/engines.md"
        raise InputError(f"--on {address or 'ray'}: Ray cannot be used ({what}); {remedy}") from None
    if about["node_ip_address"] != LOOPBACK:
        # A version of Ray that no longer has the switch: it listens to everybody.
        ray.shutdown()
        raise InputError(f"--on ray: Ray {ray.__version__} would listen to other machines; install another version")
    return str(about["session_dir"])


def _cores(ray: Any) -> int:  # noqa: ANN401 - Ray's module
    """Returns how many cores a cluster has for tasks, waiting a moment for one that has just begun."""
    until = time.monotonic() + ANSWER_S
    while not (cores := int(ray.cluster_resources().get("CPU", 0))) and time.monotonic() < until:
        time.sleep(POLL_S)
    if not cores:
        raise InputError("--on: the Ray cluster has no cores for tasks; start workers, or its head with --num-cpus")
    return cores
