"""Fair share: how much each user, and all of them together, have used of late."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tests.reference.arithmetic import added
from tests.reference.model import RefJob
from tests.reference.sizes import MICRO, Sizes
from tests.reference.specs import Spec

WEEK_S = 604_800


def half_after(periods: float) -> float:
    """Returns what is left of one after so many half-lives."""
    return math.exp(-periods * math.log(2))


@dataclass
class Account:
    """Sizes times seconds used until a moment, each second weighing less as it ages, and the sizes held since then."""

    half_life_s: float
    size_seconds: float = 0.0
    held_micro: int = 0
    since_ms: int = 0

    def used(self, now_ms: int) -> float:
        """Returns the sizes times seconds until now."""
        d = half_after((now_ms - self.since_ms) / 1000 / self.half_life_s)
        c = self.held_micro / MICRO
        return self.size_seconds * d + c * (1 - d) * self.half_life_s / math.log(2)

    def change(self, micro: int, now_ms: int) -> None:
        """Brings the sum up to now; from now on so much more, or less, is held."""
        self.size_seconds, self.since_ms = self.used(now_ms), now_ms
        self.held_micro += micro


class Usage:
    """The accounts and shares of all users; all jobs without a user are those of one user, None."""

    def __init__(self, jobs: Sequence[RefJob], policy: Spec, sizes: Sizes) -> None:
        half_life_s = policy.number("half_life_s", WEEK_S)
        given = policy.table("shares")
        self._shares = {job.user: given.get(job.user, 1) for job in jobs}
        self._accounts = {user: Account(half_life_s) for user in self._shares}
        self._all = Account(half_life_s)
        self._sizes = sizes

    def share(self, user: str | None) -> float:
        """Returns the user's part of all shares."""
        return self._shares[user] / added(self._shares.values())

    def change(self, job: RefJob, sign: int, now_ms: int) -> None:
        """Takes note that a job starts (1) or stops (-1)."""
        for account in (self._accounts[job.user], self._all):
            account.change(sign * self._sizes.micro(job), now_ms)

    def used_by_share(self, user: str | None, now_ms: int) -> float:
        """Returns U/S, the score of ``fair-share``."""
        return self._accounts[user].used(now_ms) / self.share(user)

    def factor(self, user: str | None, now_ms: int) -> float:
        """Returns F, which is 1 for those who have used nothing and 1/2 for those who have used their share."""
        everybody = self._all.used(now_ms)
        if everybody <= 0:
            return 1.0
        return half_after(self._accounts[user].used(now_ms) / everybody / self.share(user))
