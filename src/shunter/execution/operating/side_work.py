"""What is done beside the cycle, outside every deadline: counterfactuals, and start times predicted and scored.

Simulations run in a thread of their own, one at a time. Whatever fails is counted, and the cycle goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from shunter.errors import failure_text
from shunter.execution.deciding import queue_scheduler
from shunter.execution.operating import calibration, counterfactual
from shunter.execution.operating.aside import Aside
from shunter.execution.operating.calibration import Calibration, Score, calibration_lines, predict, score_row
from shunter.execution.operating.configuration import Configuration
from shunter.execution.operating.counterfactual import Counterfactual, counterfactual_of
from shunter.execution.operating.folder import OperationFolder
from shunter.execution.operating.picture import Picture, picture_of
from shunter.execution.operating.site import Site, SiteJob
from shunter.execution.operating.stretch import Stretch
from shunter.policies.trust import words_of_a_file
from shunter.simulation.eta import check_scheduler

if TYPE_CHECKING:
    from shunter.policies.scheduler import Scheduler

GAP_S: Final = 900.0
"""After longer without a reading, and than three periods, a stretch is given up: jobs have come and gone unseen."""


class SideWork:
    """Looks back on what another policy would have done, and forward to when jobs start."""

    def __init__(
        self,
        folder: OperationFolder,
        configuration: Configuration,
        may_go_on: Callable[[], bool],
        tell: Callable[[str], None],
        *,
        of_file: bool,
    ) -> None:
        """Reads the site's policy.

        Args:
            folder: Of the operation.
            configuration: Says how often, and how the site schedules.
            may_go_on: Whether the operation goes on.
            tell: Takes a line for people.
            of_file: Whether a file may have named the site's policy.

        Raises:
            InputError: There is no such policy, or the core cannot run it.
        """
        self._may_go_on, self._tell = may_go_on, tell
        self._aside = Aside()
        self._calibration = Calibration(folder.predictions)
        if self._calibration.trouble:
            tell(self._calibration.trouble)
        self._stretch: Stretch | None = None
        self._next_s = {calibration.KIND: 0.0, counterfactual.KIND: 0.0}
        self._failures = dict.fromkeys(self._next_s, 0)
        self._last_failure = ""
        self._found: Counterfactual | None = None
        self._counts = {"counterfactuals": 0, "counterfactuals_gained": 0}
        self._predicted = 0
        self.change(configuration, of_file=of_file)

    def change(self, configuration: Configuration, *, of_file: bool) -> None:
        """Lets another configuration hold from now on.

        Raises:
            InputError: There is no such policy, or the core cannot run it.
        """
        with words_of_a_file() if of_file else nullcontext():
            self._site = check_scheduler(queue_scheduler(configuration.site_words))
        self._configuration = configuration
        if configuration.counterfactual_every_s is None:
            self._stretch = None

    def see(self, site: Site, *, is_changed: bool) -> list[dict[str, Any]]:
        """Takes in a reading; returns what the audit is to tell of it.

        Args:
            site: The reading.
            is_changed: Whether Shunter holds changes of jobs.
        """
        lines: list[dict[str, Any]] = []
        predicted, scores = 0, list[Score]()
        with self._guarded(calibration.KIND):
            scores = self._calibration.see(site)
        with self._guarded(calibration.KIND):
            predicted = self._take(lines)
            if scores or predicted:
                told = {"predicted": predicted, "new_scores": [score_row(one) for one in scores]}
                lines.append({"kind": calibration.KIND, "time_s": site.now_s, **told, **self._calibration.told()})
        with self._guarded(counterfactual.KIND):
            self._go_on(site, is_changed)
        return lines

    def _take(self, lines: list[dict[str, Any]]) -> int:
        """Takes what a task has found, if one has ended; returns how many start times it has predicted."""
        answer = self._aside.take()
        if answer is None:
            return 0
        name, found = answer
        if isinstance(found, Exception):
            self._fail(name, found)
        elif isinstance(found, Counterfactual):
            self._found = found
            self._counts["counterfactuals"] += 1
            self._counts["counterfactuals_gained"] += found.is_gain
            lines.append(found.told())
        else:
            added = self._calibration.add(found)
            self._predicted += added
            return added
        return 0

    def _go_on(self, site: Site, is_changed: bool) -> None:
        stretch = self._stretch
        if stretch is None:
            return
        gap_s = site.now_s - stretch.latest_s
        if not 0 <= gap_s <= max(GAP_S, 3 * self._configuration.period_s):
            self._stretch = None
            return
        stretch.see(site)
        stretch.is_changed |= is_changed
        if len(stretch) > counterfactual.MOST_JOBS:
            self._stretch = None
            most = f"more than {counterfactual.MOST_JOBS:,} jobs"
            self._fail(counterfactual.KIND, ValueError(f"{most} since the reading it began with; it begins anew"))

    def begin(self, site: Site, picture: Picture | None, ended: Sequence[SiteJob], policy: Scheduler) -> None:
        """Begins what is due, when the cycle has done its own.

        Args:
            site: The latest reading.
            picture: What was decided on; None: there was nothing to decide.
            ended: The jobs that have ended, from which estimates learn.
            policy: The one that is asked what it would have done.
        """
        now, words = site.now_s, self._configuration
        if words.counterfactual_every_s is not None and (site.jobs or ended):
            with self._guarded(counterfactual.KIND):
                self._look_back(picture or picture_of(site, ended) if self._is_stretch_over(now) else None, now, policy)
        due = words.eta_every_s is not None and now >= self._next_s[calibration.KIND]
        if due and picture is not None and picture.candidates and not self._aside.is_busy:
            self._next_s[calibration.KIND] = now + (words.eta_every_s or 0.0)
            self._aside.start(calibration.KIND, lambda: predict(picture, self._site))

    def _is_stretch_over(self, now_s: float) -> bool:
        """Returns whether a new stretch is to begin: never without having looked back on the one before."""
        stretch, is_due = self._stretch, now_s >= self._next_s[counterfactual.KIND]
        over_s = self._configuration.counterfactual_stretch_s
        return stretch is None or (is_due and now_s - stretch.begin_s >= over_s)

    def _look_back(self, next_picture: Picture | None, now_s: float, policy: Scheduler) -> None:
        """Asks what the policy would have done, if that is due, and begins a new stretch with the picture."""
        stretch, is_due = self._stretch, now_s >= self._next_s[counterfactual.KIND]
        if stretch is not None and is_due:
            if self._aside.is_busy:
                return
            # One that contradicts itself is not looked back on again.
            self._stretch = None
            # Tables are made here, between cycles: later readings change the stretch, and decisions are not held up.
            tables, is_changed, site, may_go_on = stretch.tables(), stretch.is_changed, self._site, self._may_go_on
            self._aside.start(
                counterfactual.KIND,
                lambda: counterfactual_of(tables, site, policy, is_changed=is_changed, may_go_on=may_go_on),
            )
            self._stretch = stretch
        if is_due or stretch is None:
            self._next_s[counterfactual.KIND] = now_s + (self._configuration.counterfactual_every_s or 0.0)
        if next_picture is not None:
            self._stretch = Stretch(next_picture)

    @contextmanager
    def _guarded(self, name: str) -> Iterator[None]:
        try:
            yield
        # Neither a full disk nor a reading that contradicts itself is to disturb the cycle.
        except Exception as error:
            self._fail(name, error)

    def _fail(self, name: str, error: Exception) -> None:
        self._failures[name] += 1
        self._last_failure = f"{name}: {failure_text(error)}"
        self._tell(f"{self._last_failure}; the operation goes on")

    def told(self) -> dict[str, Any]:
        """Returns what the status tells."""
        eta = self._calibration.told()
        return {
            **self._counts,
            **{f"failed_{name}s": count for name, count in self._failures.items()},
            "last_failed_side_work": self._last_failure,
            "side_work_seconds": round(self._aside.cpu_s, 3),
            "site_words": self._configuration.site_words,
            "etas": self._predicted,
            "counterfactual": None if self._found is None else self._found.told(),
            "eta": eta | {"lines": calibration_lines(eta)},
        }
