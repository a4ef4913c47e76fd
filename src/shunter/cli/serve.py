"""``shunter serve``: decisions, start times and explanations over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shunter.checks import TIME, whole
from shunter.cli.live_options import SourceArguments
from shunter.cli.options import TrustOption, duration, given_text, path, takes_fields
from shunter.cli.parsing import BadParameter, Option, echo, number, whole_number
from shunter.errors import InputError, visible
from shunter.extras import SERVE, need

if TYPE_CHECKING:
    from shunter.service.guard import Door
    from shunter.service.limits import Limits
    from shunter.service.running import Address
    from shunter.service.service import Loaded

"""What the extra ``serve`` brings."""


def socket_mode(text: str) -> int:
    """Returns the mode of a socket that an option was given."""
    try:
        found = int(text, 8)
    except ValueError:
        found = -1
    if not 0 <= found <= 0o777 or not found & 0o200:
        raise BadParameter(f"{text!r} is no mode of a socket; write 600 or 660")
    return found


@dataclass(frozen=True)
class NamedArguments:
    """What requests may name."""

    policy: Annotated[
        list[str] | None,
        Option(
            "--policy", parser=given_text, metavar="NAME=TEXT", show_default="fcfs=fcfs",
            help="A policy that requests may name: a name, a TOML or Python file, or the folder of a run. Give it "
            "again for another.",
        ),
    ] = None  # fmt: skip
    cluster: Annotated[
        list[str] | None,
        Option(
            "--cluster", parser=given_text, metavar="NAME=TEXT", show_default="none",
            help="A cluster that snapshots may name, and the one of the log of the same name.",
        ),
    ] = None  # fmt: skip
    log: Annotated[
        list[str] | None,
        Option(
            "--log", parser=given_text, metavar="NAME=FILE", show_default="none",
            help="A log about whose jobs requests may ask.",
        ),
    ] = None  # fmt: skip
    dispatch: Annotated[str | None, Option(metavar="NAME", show_default="easy", help="The dispatch rule.")] = None
    placement: Annotated[str | None, Option(metavar="NAME", show_default="first-fit", help="The placement.")] = None
    estimate: Annotated[
        str | None, Option(metavar="NAME", show_default="requested", help="The run times that policies see.")
    ] = None

    def loaded(self) -> Loaded:
        """Reads clusters and logs; policies are read by the service."""
        from shunter.service.policies import by_name
        from shunter.service.service import Loaded
        from shunter.workloads.reading import read_cluster, read_log

        given = {"dispatch": self.dispatch, "placement": self.placement, "estimate": self.estimate}
        words = {name: one for name, one in given.items() if one is not None}
        clusters = {name: read_cluster(text) for name, text in by_name("--cluster", self.cluster or []).items()}
        return Loaded(
            policies={
                name: {**words, "policy": text}
                for name, text in by_name("--policy", self.policy or ["fcfs=fcfs"]).items()
            },
            clusters=clusters,
            logs={name: read_log(text, clusters.get(name)) for name, text in by_name("--log", self.log or []).items()},
        )


@dataclass(frozen=True)
class DoorArguments:
    """Where the service listens, and whom it lets in."""

    socket: Annotated[
        Path | None,
        Option(parser=path, metavar="PATH", show_default="./shunter.sock", help="Listen on a Unix socket."),
    ] = None
    socket_mode: Annotated[
        int, Option(parser=socket_mode, metavar="MODE", show_default="600", help="Who may open it: 600 or 660.")
    ] = 0o600
    port: Annotated[
        int | None,
        Option(parser=whole_number, metavar="N", show_default="none", help="Listen on a TCP port; needs a token."),
    ] = None
    host: Annotated[str, Option(metavar="NAME", help="The address of this machine on which the port is.")] = "127.0.0.1"
    beyond_loopback: Annotated[
        bool, Option("--beyond-loopback", help="Let --host be an address that other machines can reach.")
    ] = False
    allow_host: Annotated[
        list[str] | None,
        Option(
            "--allow-host", metavar="NAME", show_default="localhost, 127.0.0.1, ::1",
            help="Another name by which clients call the service, behind a proxy for instance.",
        ),
    ] = None  # fmt: skip
    token_file: Annotated[
        Path | None, Option(parser=path, metavar="FILE", show_default="none", help="The token that clients send.")
    ] = None
    log_requests: Annotated[
        bool, Option("--log-requests", help="Write a line for each request: method, route, status, time.")
    ] = False

    def address(self) -> Address:
        """Returns where the service listens, if that lets nobody in by mistake."""
        from shunter.service.running import Address

        if self.port is not None:
            whole("--port", self.port, 0, 65_535)
        if self.socket is not None and self.port is not None:
            raise InputError("both --socket and --port are given; give one")
        where = None if self.port is not None else self.socket or Path("shunter.sock")
        found = Address(where, self.socket_mode, self.host, self.port or 0)
        found.check(has_token=self.token_file is not None, beyond_loopback=self.beyond_loopback)
        return found

    def door(self) -> Door:
        """Returns who is let in."""
        from shunter.service.guard import LOOPBACK_NAMES, Door
        from shunter.service.tokens import read_token

        own = [self.host] if self.beyond_loopback else []
        names = (*LOOPBACK_NAMES, *(name.lower() for name in [*own, *(self.allow_host or [])]))
        return Door(names, None if self.token_file is None else read_token(self.token_file), self.log_requests)


@dataclass(frozen=True)
class LimitArguments:
    """How much the service takes on."""

    deadline_s: Annotated[
        float,
        Option("--deadline", parser=duration, metavar=TIME, help="A decision that takes longer is stood in for."),
    ] = 0.2
    fallback: Annotated[str, Option(metavar="NAME", help="The classic policy that stands in.")] = "fcfs"
    max_wait_s: Annotated[
        float,
        Option("--max-wait", parser=duration, metavar=TIME, show_default="7d",
               help="A job that has waited so long goes first."),
    ] = 7 * 86_400.0  # fmt: skip
    rate: Annotated[float, Option(parser=number, metavar="N", help="Requests a second at most.")] = 5000.0
    body_mb: Annotated[float, Option(parser=number, metavar="MB", help="The largest body of a request.")] = 64.0
    snapshots: Annotated[int, Option(parser=whole_number, metavar="N", help="How many posted snapshots to keep.")] = 16
    threads: Annotated[
        int | None,
        Option(parser=whole_number, metavar="N", show_default="all cores", help="Threads for long requests."),
    ] = None

    def limits(self) -> Limits:
        """Returns the limits, checked."""
        from shunter.service.limits import Limits

        return Limits(**{name: value for name, value in vars(self).items() if value is not None})


NewTokenOption = Annotated[
    Path | None,
    Option(parser=path, metavar="FILE", show_default="none", help="Write a new token into a new file, and end."),
]


@takes_fields(NamedArguments)
@takes_fields(SourceArguments)
@takes_fields(DoorArguments)
@takes_fields(LimitArguments)
def serve(
    named: NamedArguments,
    shown: SourceArguments,
    at: DoorArguments,
    within: LimitArguments,
    new_token: NewTokenOption = None,
    trust: TrustOption = False,
) -> None:
    """Answer over HTTP what a policy decides, when jobs start, and why they wait.

    It listens on a Unix socket that only you may open, or on a port of this machine with a token. docs/serving.md has
    the addresses. /live is a page for people that shows the logs, and what --queue, --operate, --training and --runs
    name (docs/dashboard.md).

    For instance:

        shunter serve --policy sjf=sjf --socket /run/user/1000/shunter.sock

        shunter serve --new-token token

        shunter serve --policy site=tuned.toml --policy learned=runs/first --port 8471 --token-file token
    """
    if new_token is not None:
        from shunter.service.tokens import make_token

        make_token(new_token)
        echo(visible(f"A new token is in {new_token}; only you may read it."))
        return
    need(SERVE, "serve")
    from shunter.service.app import create_app
    from shunter.service.running import serve as serve_until_stopped
    from shunter.service.service import Service

    address, door, limits = at.address(), at.door(), within.limits()
    service = Service(named.loaded(), limits)
    start_logging()
    opened = address.open()
    where = f"unix:{address.path}" if address.path else f"http://{address.host}:{opened.getsockname()[1]}"
    echo(visible(f"Serving {', '.join(service.referees)} at {where}"))
    serve_until_stopped(create_app(service, door, shown.hub(service)), address, limits, opened)


def start_logging() -> None:
    """Has lines of the service and of the server written to standard error."""
    import logging
    import sys

    handler: Any = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name in ("shunter.serve", "uvicorn"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
