"""The policies of a service: read at the start by name, and read anew, outside of any request, when a file changes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.errors import InputError, ShunterError, visible
from shunter.execution.deciding import queue_scheduler
from shunter.execution.operating.judge import policy_digest
from shunter.service.deciders import Decider, decider_of
from shunter.service.snapshots import NAME

if TYPE_CHECKING:
    from shunter.policies.scheduler import Scheduler

Stamps = frozenset[tuple[str, int, int, int]]
LOGGER: Final = logging.getLogger("shunter.serve")


@dataclass(frozen=True, eq=False)
class LoadedPolicy:
    """A policy as it was read."""

    name: str
    words: Mapping[str, Any]
    """The settings that it was read from."""
    scheduler: Scheduler
    decider: Decider
    sha256: str
    stamps: Stamps
    """What its files looked like before they were read."""
    loaded_at_s: float = field(default_factory=time.time)

    def described(self) -> dict[str, Any]:
        """Returns what clients are told of it; where its files are is none of their business."""
        settings = self.scheduler.settings
        from_file = "policy" in self.scheduler.files
        return {
            "name": self.name,
            "kind": "tuned" if self.decider.kind == "classic" and from_file else self.decider.kind,
            "policy": self.decider.kind if from_file else settings.policy,
            **{name: Path(str(getattr(settings, name))).name for name in ("dispatch", "placement", "estimate")},
            "sha256": self.sha256,
            "loaded_at_s": round(self.loaded_at_s, 3),
        }


def load_policy(name: str, words: Mapping[str, Any]) -> LoadedPolicy:
    """Reads a policy with all that it needs.

    Raises:
        InputError: There is none, it is damaged, or it stops running jobs.
    """
    # Read once to know its files, and again when it is known how they look: what changes in between is seen later.
    stamps = stamps_of(queue_scheduler(words))
    scheduler = queue_scheduler(words)
    return LoadedPolicy(name, words, scheduler, decider_of(scheduler), policy_digest(scheduler), stamps)


def stamps_of(scheduler: Scheduler) -> Stamps:
    """Returns what changes when a file of a policy does."""
    found = set()
    for path in scheduler.files.values():
        # A checkpoint is several files in one folder.
        several = [path] if path.suffix in (".toml", ".py") else path.parent.glob("*")
        for file in several:
            try:
                about = file.stat()
            except OSError:
                continue
            found.add((str(file), about.st_mtime_ns, about.st_size, about.st_ino))
    return frozenset(found)


class Watch:
    """Looks at the files of policies from time to time. What is bad does not take the place of what is good."""

    def __init__(
        self,
        changed: Callable[[LoadedPolicy], None],
        same: Callable[[str], None],
        failed: Callable[[str, str], None],
    ) -> None:
        """Watches nothing yet.

        Args:
            changed: Is given a policy that was read anew.
            same: Is given the name of one that was read anew and is what it was.
            failed: Is given the name of one that could not be, and why.
        """
        self._changed = changed
        self._same = same
        self._failed = failed
        self._seen: dict[str, Stamps] = {}
        # What the command line trusts, a reload trusts.
        self._context = copy_context()

    def look(self, policies: list[LoadedPolicy]) -> None:
        """Reads those anew whose files have changed."""
        for policy in policies:
            stamps = stamps_of(policy.scheduler)
            # What is bad is not tried again until it changes again.
            if stamps == self._seen.get(policy.name, policy.stamps):
                continue
            self._seen[policy.name] = stamps
            try:
                fresh = self._context.copy().run(load_policy, policy.name, policy.words)
            # Whatever is in a file that somebody is writing just now, the old policy goes on.
            except Exception as error:
                why = str(error) if isinstance(error, ShunterError) else f"{type(error).__name__}: {error}"
                LOGGER.warning("policy %s: cannot be read anew, the old one stays: %s", policy.name, visible(why))
                self._failed(policy.name, why)
                continue
            self._seen[policy.name] = fresh.stamps
            if fresh.sha256 != policy.sha256:
                LOGGER.info("policy %s: read anew, %s", policy.name, fresh.sha256[:12])
                self._changed(fresh)
            else:
                self._same(policy.name)


def by_name(option: str, given: Sequence[str]) -> dict[str, str]:
    """Returns the rest of each ``NAME=TEXT`` by its name.

    Raises:
        InputError: One is not written so, or a name stands twice.
    """
    found: dict[str, str] = {}
    for text in given:
        name, _, rest = text.partition("=")
        if not rest or NAME.fullmatch(name) is None:
            raise InputError(f"{option} is {text!r}; write NAME=..., the name in letters, digits, '.', '_' and '-'")
        if name in found:
            raise InputError(f"{option}: the name {name!r} is given twice; give each once")
        found[name] = rest
    return found
