"""What tests of several folders need, and which tests run without ``--all``."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

from shunter.comparison import combinations
from tests import support
from tests.browser import chromium as chromium
from tests.browser import open_page as open_page

# A landing must not depend on luck, so the ordinary run draws the same examples every time; `make soak` draws new ones.
PATIENT = [HealthCheck.too_slow, HealthCheck.differing_executors]
settings.register_profile("fixed", deadline=None, suppress_health_check=PATIENT, derandomize=True)
settings.register_profile("soak", deadline=None, suppress_health_check=PATIENT, derandomize=False, database=None)
settings.register_profile("few", settings.get_profile("fixed"), max_examples=100 // support.FEWER)

LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that ``make test-all`` gives."""
    parser.addoption("--all", action="store_true", help="also run slow tests, repetitions, and all examples")


def pytest_configure(config: pytest.Config) -> None:
    """Sets how many examples are drawn, before test modules are imported."""
    support.runs_all = config.getoption("--all")
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("fixed" if support.runs_all else "few")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out slow tests and repetitions, unless all are asked for or single tests are named."""
    if config.getoption("--all") or any("::" in word for word in config.args):
        return
    seen: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (left_out if _is_left_out(item, seen) else kept).append(item)
    config.stash[LEFT_OUT] = len(left_out)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def _is_left_out(item: pytest.Item, seen: Counter[str]) -> bool:
    if item.get_closest_marker("slow"):
        return True
    marker = item.get_closest_marker("every")
    if marker is None:
        return False
    test = item.nodeid.partition("[")[0]
    seen[test] += 1
    return bool((seen[test] - 1) % marker.args[0])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints what did not run, and why, in a line for each reason."""
    reasons = Counter(str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"not run: {count} tests: {reason.removeprefix('Skipped: ')}")
    if left_out := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"not run: {left_out} tests: slow ones and repetitions (all: make test-all)")


@pytest.fixture
def few_classics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two classics are as good as all, and quicker."""
    monkeypatch.setattr(combinations, "CLASSICS", ("fcfs", "saf"))
