"""Whether a checkpoint has seen the days that it is judged on."""

from __future__ import annotations

from typing import Any

import pytest

from shunter import read_workload
from shunter.comparison.seen_days import UNKNOWN, Judged, part_warning, places


def day(
    log: str = "a.swf", use: str = "trained", part: tuple[float, float] = (0.0, 0.6), **more: str
) -> dict[str, Any]:
    known = {"log": log, "sha256": log[0], "jobs": 100, "use": use, "part": list(part)}
    return known | {"first_submit_s": 100 * part[0], "last_submit_s": 100 * part[1] - 1} | more


DAYS = [day(), day("b.swf"), day(use="chosen", part=(0.6, 0.7)), day("b.swf", use="chosen", part=(0.6, 0.7))]


def judged(log: str, sha256: str, part: tuple[float, float], jobs: int = 100) -> Judged:
    return Judged(log, sha256, jobs, part, (jobs * part[0], jobs * part[1] - 1))


@pytest.mark.parametrize(
    ("names", "part", "words"),
    [
        (("a.swf", "a"), (0.7, 1.0), None),
        (("a.swf", "a"), (0.5, 1.0), "0.5:1 of the log overlaps with 0:0.6, on which it was trained"),
        (("renamed.swf", "b"), (0.5, 1.0), "0.5:1 of the log overlaps with 0:0.6, on which it was trained"),
        (("b.swf", "stretched"), (0.65, 1.0), "0.65:1 of the log overlaps with 0.6:0.7, on which it was chosen"),
        (("other.swf", "c"), (0.0, 1.0), None),
    ],
)
def test_a_part_that_was_trained_on(names: tuple[str, str], part: tuple[float, float], words: str | None) -> None:
    found = part_warning("first", {"days": DAYS}, judged(*names, part))
    assert found == (None if words is None else f"first: {words}; the figures flatter it")


def test_days_of_what_it_began_from() -> None:
    days = [*DAYS, day("c.swf", "tuned", (0.0, 0.8), by="tuned.toml")]
    found = part_warning("second", {"days": days}, judged("c.swf", "c", (0.7, 1.0)))
    assert found is not None
    assert "0.7:1 of the log overlaps with 0:0.8, on which tuned.toml, from which it began, was tuned" in found
    assert part_warning("second", {"days": days}, judged("c.swf", "c", (0.8, 1.0))) is None


def test_a_log_that_has_grown_is_judged_by_its_times() -> None:
    """Half of the longer log is all of the shorter one."""
    assert part_warning("first", {"days": DAYS}, judged("a.swf", "grown", (0.35, 0.5), jobs=200)) is None
    found = part_warning("first", {"days": DAYS}, judged("a.swf", "grown", (0.25, 0.5), jobs=200))
    assert found is not None
    assert "on which it was trained" in found


@pytest.mark.parametrize("facts", [{}, {"days": "a.swf"}, {"days": ["a.swf"]}, {"days": [{"log": "a.swf"}]}])
def test_a_checkpoint_that_does_not_say_where_it_comes_from(facts: dict[str, Any]) -> None:
    found = part_warning("first", facts, judged("a.swf", "a", (0.7, 1.0)))
    assert found is not None
    assert found.startswith("first does not say what it was trained on")


def test_an_ancestor_that_does_not_say() -> None:
    days = [{"use": UNKNOWN, "by": "runs/old"}]
    found = part_warning("first", {"days": days}, judged("a.swf", "a", (0.7, 1.0)))
    assert found is not None
    assert found.startswith("first began from runs/old, which does not say what it was trained on; make sure")


def test_the_days_of_a_workload() -> None:
    workload = read_workload("generate:lublin?seed=3&jobs=50&cores=64")
    found = Judged.of(workload, (0.5, 1.0))
    assert (found.log, found.sha256, found.jobs) == (workload.name, workload.content_sha256, 50)
    assert found.submit_s == (workload.jobs["submit_s"][25], workload.jobs["submit_s"][49])
    assert places((0.0, 0.6), 50) == (0, 29)
