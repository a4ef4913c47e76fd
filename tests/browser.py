"""A browser for tests: pages that are watched for requests that leave the machine, and for errors.

Fixtures: ``chromium`` (one browser for a module; no coroutine can be run with `asyncio.run` there meanwhile) and
``open_page``, which opens pages in it and at the end asserts that nothing was wrong with any of them.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Route

ARGUMENTS: Final = (
    *("--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run"),
)
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
WITHIN: Final = ("file", "data", "blob", "about")
"""Addresses of these kinds ask no other machine."""
WIDE, NARROW = 1440, 390
HEIGHT = 900


@dataclass
class Watched:
    """A page of a browser, and what went wrong with it."""

    page: Page
    left: list[str] = field(default_factory=list)
    """Addresses that the page asked for on other machines; the requests were stopped."""
    errors: list[str] = field(default_factory=list)
    """What it wrote to the console as errors, and exceptions that nobody caught."""
    expected: list[str] = field(default_factory=list)
    """Patterns of errors that a test brings about on purpose, such as a server that goes away."""

    def check(self) -> None:
        """Asserts that no request left the machine, and that there was no error but those expected."""
        assert not self.left, f"the page asked other machines: {self.left}"
        unexpected = [text for text in self.errors if not any(re.search(one, text) for one in self.expected)]
        assert not unexpected, f"the page had errors: {unexpected}"

    def overflow(self) -> int:
        """Returns by how many pixels the page is wider than the window; 0 if it is not."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def scroll_through(self) -> None:
        """Scrolls from the top to the bottom, so that everything that is drawn when it comes near is drawn."""
        height = int(self.page.evaluate("document.documentElement.scrollHeight"))
        for place in range(0, height, HEIGHT // 2):
            self.page.evaluate(f"window.scrollTo({{top: {place}, behavior: 'instant'}})")
            self.page.wait_for_timeout(30)


OpenPage = Callable[..., Watched]
"""Opens an address, or a file, at a width in pixels: ``open_page(path, width=NARROW, dark=True)``."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Yields a browser without a window; skips where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed (Debian: make services)")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (pip install playwright)"
    )
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[OpenPage]:
    """Yields what opens pages; at the end of the test it asserts that nothing was wrong with any of them."""
    opened: list[Watched] = []

    def open_one(address: str | Path, width: int = WIDE, dark: bool = False) -> Watched:
        context = chromium.new_context(
            viewport={"width": width, "height": HEIGHT},
            color_scheme="dark" if dark else "light",
            has_touch=width < WIDE,
            reduced_motion="reduce",
        )
        watched = Watched(context.new_page())
        opened.append(watched)
        context.route("**/*", lambda route: _pass_or_stop(watched, route))
        watched.page.on("console", lambda message: _keep_error(watched, message))
        watched.page.on("pageerror", lambda error: watched.errors.append(str(error)))
        watched.page.goto(address.resolve().as_uri() if isinstance(address, Path) else address)
        return watched

    yield open_one
    for watched in opened:
        watched.page.context.close()
        watched.check()


def _pass_or_stop(watched: Watched, route: Route) -> None:
    address = urlsplit(route.request.url)
    if address.scheme in WITHIN or address.hostname in LOOPBACK:
        route.continue_()
        return
    watched.left.append(route.request.url)
    route.abort()


def _keep_error(watched: Watched, message: ConsoleMessage) -> None:
    if message.type == "error":
        watched.errors.append(message.text)
