"""``shunter dashboard``: a live page of a queue, an operation, a training, a folder of runs, or a log."""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from shunter.checks import whole
from shunter.cli.live_options import SourceArguments, usual_sources
from shunter.cli.options import TrustOption, path, takes_fields
from shunter.cli.parsing import Option, echo, whole_number
from shunter.cli.serve import NamedArguments, start_logging
from shunter.errors import InputError, visible
from shunter.extras import SERVE, need

if TYPE_CHECKING:
    from shunter.service.service import Loaded

POLICIES: Final = ("fcfs", "sjf", "saf", "wfp3", "unicef")
"""Among which a what-if chooses where no --policy is given."""
HOST: Final = "127.0.0.1"


@dataclass(frozen=True)
class PageArguments:
    """Where the page is, and who gets in."""

    port: Annotated[
        int, Option(parser=whole_number, metavar="N", show_default="any free one", help="The port on this machine.")
    ] = 0
    token_file: Annotated[
        Path | None,
        Option(
            "--token-file", parser=path, metavar="FILE", show_default="a new token each time",
            help="The token to sign in with ('shunter serve --new-token FILE' makes one).",
        ),
    ] = None  # fmt: skip
    open: Annotated[bool, Option("--open", help="Open the page in the browser of this machine.")] = False

    def token(self) -> bytes:
        """Returns the token that lets somebody in.

        Raises:
            InputError: The file has none.
        """
        from shunter.service.tokens import BYTES, read_token

        return secrets.token_urlsafe(BYTES).encode() if self.token_file is None else read_token(self.token_file)


@takes_fields(SourceArguments)
@takes_fields(NamedArguments)
@takes_fields(PageArguments)
def dashboard(
    shown: SourceArguments,
    named: NamedArguments,
    at: PageArguments,
    trust: TrustOption = False,
) -> None:
    """Show a live page in the browser: who waits and why, past and expected starts, nodes, decisions, what-if.

    Without options it shows what it finds: the usual queue, operations beside Slurm and LSF, and the folder runs/. It
    changes nothing. Only this machine can reach it, and only with the link that it prints; stop it with Ctrl-C.
    docs/dashboard.md tells what is on the page.

    For instance:

        shunter dashboard --open

        shunter dashboard --queue default --runs runs

        shunter dashboard --operate /var/lib/shunter --policy site=tuned.toml

        shunter dashboard --log kth=log.swf.gz --cluster kth=100 --policy easy=fcfs --policy sjf=sjf
    """
    need(SERVE, "dashboard")
    from shunter.service.app import create_app
    from shunter.service.guard import LOOPBACK_NAMES, Door
    from shunter.service.limits import Limits
    from shunter.service.running import Address, serve
    from shunter.service.service import Service

    whole("--port", at.port, 0, 65_535)
    if shown.is_empty and not named.log:
        shown = usual_sources()
        if shown.is_empty:
            raise InputError("there is no queue, operation or folder runs/ to show; name one (see --help)")
    limits, address, token = Limits(), Address(port=at.port), at.token()
    service = Service(_loaded(named), limits)
    hub = shown.hub(service)
    start_logging()
    opened = address.open()
    url = f"http://{HOST}:{opened.getsockname()[1]}/live"
    # Behind '#' a browser keeps it for itself: no request and no log has it.
    link = f"{url}#{token.decode()}" if at.token_file is None else url
    echo(visible(f"Showing {', '.join(hub.sources)}"))
    echo(f"Open {link}")
    if at.token_file is not None:
        echo(visible(f"and sign in with the token in {at.token_file}"))
    with tempfile.TemporaryDirectory(prefix="shunter-") as folder:
        if at.open:
            open_browser(Path(folder) / "open.html", f"{url}#{token.decode()}")
        serve(create_app(service, Door(LOOPBACK_NAMES, token), hub), address, limits, opened)


def _loaded(named: NamedArguments) -> Loaded:
    """Reads what is named; without a policy, a few classics."""
    from dataclasses import replace

    return replace(named, policy=named.policy or [f"{name}={name}" for name in POLICIES]).loaded()


def open_browser(page: Path, link: str) -> None:
    """Opens a link in the browser.

    All users of a machine see the words of a command, so that the browser is given a file that only its owner reads.
    """
    import webbrowser

    page.touch(0o600)
    shown = escape(link)
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={shown}"><a href="{shown}">Shunter</a>')
    if not webbrowser.open(page.as_uri()):
        echo("There is no browser here; open the link above", err=True)
