"""``shunter serve``: decisions, start times and explanations over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shunter.checks import TIME
from shunter.cli.options import TrustOption, duration, given_text, path
from shunter.cli.parsing import BadParameter, Option, echo, number, whole_number
from shunter.errors import InputError, visible

if TYPE_CHECKING:
    from shunter.service.service import Loaded

NEEDED = ("fastapi", "uvicorn", "httptools", "prometheus_client")
"""What the extra ``serve`` brings."""


def _mode(text: str) -> int:
    try:
        found = int(text, 8)
    except ValueError:
        found = -1
    if not 0 <= found <= 0o777 or not found & 0o200:
        raise BadParameter(f"{text!r} is no mode of a socket; write 600 or 660")
    return found


PolicyOption = Annotated[
    list[str],
    Option(
        "--policy", parser=given_text, metavar="NAME=TEXT", show_default="fcfs=fcfs",
        help="A policy that requests may name: a name, a TOML or Python file, or the folder of a run. Give it again "
        "for another.",
    ),
]  # fmt: skip
ClusterOption = Annotated[
    list[str],
    Option(
        "--cluster", parser=given_text, metavar="NAME=TEXT", show_default="none",
        help="A cluster that snapshots may name, and the cluster of the log of the same name.",
    ),
]  # fmt: skip
LogOption = Annotated[
    list[str],
    Option(
        "--log", parser=given_text, metavar="NAME=FILE", show_default="none",
        help="A log about whose jobs requests may ask.",
    ),
]  # fmt: skip


def serve(
    policy: PolicyOption = [],  # noqa: B006 - an empty list that nobody changes
    cluster: ClusterOption = [],  # noqa: B006
    log: LogOption = [],  # noqa: B006
    dispatch: Annotated[str | None, Option(metavar="NAME", show_default="easy", help="The dispatch rule.")] = None,
    placement: Annotated[str | None, Option(metavar="NAME", show_default="first-fit", help="The placement.")] = None,
    estimate: Annotated[
        str | None, Option(metavar="NAME", show_default="requested", help="Run times that policies see.")
    ] = None,
    socket: Annotated[
        Path | None,
        Option(parser=path, metavar="PATH", show_default="shunter.sock here", help="Listen on a Unix socket."),
    ] = None,
    socket_mode: Annotated[
        int, Option(parser=_mode, metavar="MODE", show_default="600", help="Who may open it: 600 or 660.")
    ] = 0o600,
    port: Annotated[
        int | None,
        Option(parser=whole_number, metavar="N", show_default="none", help="Listen on a TCP port; needs a token."),
    ] = None,
    host: Annotated[str, Option(metavar="NAME", help="On which address of this machine.")] = "127.0.0.1",
    beyond_loopback: Annotated[
        bool, Option("--beyond-loopback", help="Let --host be an address that other machines can reach.")
    ] = False,
    allow_host: Annotated[
        list[str],
        Option(
            "--allow-host", metavar="NAME", show_default="localhost, 127.0.0.1, ::1",
            help="Another name by which clients call the service, behind a proxy for instance.",
        ),
    ] = [],  # noqa: B006
    token_file: Annotated[
        Path | None, Option(parser=path, metavar="FILE", show_default="none", help="The token that clients send.")
    ] = None,
    new_token: Annotated[
        Path | None,
        Option(parser=path, metavar="FILE", show_default="none", help="Write a new token into a new file, and end."),
    ] = None,
    deadline: Annotated[
        float, Option(parser=duration, metavar=TIME, help="A decision that takes longer is stood in for.")
    ] = 0.2,
    fallback: Annotated[str, Option(metavar="NAME", help="The classic that stands in.")] = "fcfs",
    max_wait: Annotated[
        float,
        Option(parser=duration, metavar=TIME, show_default="7d", help="A job that has waited so long goes first."),
    ] = 7 * 86_400.0,
    rate: Annotated[float, Option(parser=number, metavar="N", help="Requests a second at most.")] = 5000.0,
    body_mb: Annotated[float, Option("--body-mb", parser=number, metavar="N", help="Largest body, in MB.")] = 64.0,
    snapshots: Annotated[int, Option(parser=whole_number, metavar="N", help="Posted snapshots to keep.")] = 16,
    threads: Annotated[
        int | None, Option(parser=whole_number, metavar="N", show_default="all cores", help="For long requests.")
    ] = None,
    log_requests: Annotated[
        bool, Option("--log-requests", help="Write a line for each request: method, route, status, time.")
    ] = False,
    trust: TrustOption = False,
) -> None:
    """Answer over HTTP what a policy decides, when jobs start, and why they wait.

    It listens on a Unix socket that only you may open, or on a port of this machine with a token. docs/serving.md has
    the addresses.

    For instance:

        shunter serve --policy sjf=sjf --socket /run/user/1000/shunter.sock

        shunter serve --new-token token && shunter serve --policy site=tuned.toml --port 8471 --token-file token
    """
    if new_token is not None:
        _make_token(new_token)
        return
    check_installed()
    from shunter.service.app import create_app
    from shunter.service.guard import LOOPBACK_NAMES, Door
    from shunter.service.limits import Limits
    from shunter.service.running import Address, serve
    from shunter.service.service import Service
    from shunter.service.tokens import read_token

    if socket is not None and port is not None:
        raise InputError("both --socket and --port are given; give one")
    address = Address(None if port is not None else socket or Path("shunter.sock"), socket_mode, host, port or 0)
    address.check(has_token=token_file is not None, beyond_loopback=beyond_loopback)
    token = None if token_file is None else read_token(token_file)
    given: dict[str, Any] = {"deadline_s": deadline, "fallback": fallback, "max_wait_s": max_wait, "rate": rate}
    given |= {"body_mb": body_mb, "snapshots": snapshots, **({} if threads is None else {"threads": threads})}
    limits = Limits(**given)
    words = {"dispatch": dispatch, "placement": placement, "estimate": estimate}
    service = Service(_loaded(policy, cluster, log, {name: one for name, one in words.items() if one}), limits)
    _start_logging()
    opened = address.open()
    where = f"unix:{address.path}" if address.path else f"http://{host}:{opened.getsockname()[1]}"
    echo(visible(f"Serving {', '.join(service.referees)} at {where}"))
    hosts = (*LOOPBACK_NAMES, *(name.lower() for name in allow_host), *([host.lower()] if beyond_loopback else []))
    serve(create_app(service, Door(hosts, token, log_requests)), address, limits, opened)


def check_installed() -> None:
    """Raises an error that says how to install what is missing."""
    from importlib.util import find_spec

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(f"serve needs {', '.join(missing)}, not installed; run: pip install 'shunter[serve]'")


def _make_token(file: Path) -> None:
    from shunter.service.tokens import make_token

    make_token(file)
    echo(visible(f"A new token is in {file}; only you may read it."))


def _loaded(policies: list[str], clusters: list[str], logs: list[str], words: dict[str, Any]) -> Loaded:
    """Reads what requests may name."""
    from shunter.service.policies import named
    from shunter.service.service import Loaded
    from shunter.workloads.reading import read_cluster, read_log

    texts = {option: _by_name(option, [named(option, one) for one in given]) for option, given in (
        ("--policy", policies or ["fcfs=fcfs"]), ("--cluster", clusters), ("--log", logs),
    )}  # fmt: skip
    known = {name: read_cluster(text) for name, text in texts["--cluster"].items()}
    return Loaded(
        policies={name: {**words, "policy": text} for name, text in texts["--policy"].items()},
        clusters=known,
        logs={name: read_log(text, known.get(name)) for name, text in texts["--log"].items()},
    )


def _by_name(option: str, pairs: list[tuple[str, str]]) -> dict[str, str]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError(f"{option}: a name is given twice; give each once")
    return found


def _start_logging() -> None:
    """Has lines of the service and of the server written to standard error."""
    import logging
    import sys

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name in ("shunter.serve", "uvicorn"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
