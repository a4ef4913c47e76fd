"""Policies and estimates as the command line spells them: a name, a name with parameters, or a TOML file."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOVING = {"sexp", "lexp", "wfp3", "unicef", "fair-share", "multifactor", "random-feasible", "linear", "pairs"}
LEARNED = {"last-two", "posterior", "history"}
PREEMPTIVE = {"srtf", "las", "srsf", "gittins"}
WORDS = {"origin", "outlived"}
WITHOUT_ESTIMATE = {
    *("fcfs", "fifo", "first-available", "lcfs", "smallest", "largest", "priority", "random", "las", "gittins"),
}


@dataclass(frozen=True)
class Spec:
    """A name and what was said beside it."""

    name: str
    said: dict[str, Any] = field(default_factory=dict)

    def number(self, key: str, default: float) -> float:
        """Returns a parameter, or its default."""
        return float(self.said.get(key, default))

    def table(self, key: str) -> dict[str | None, float]:
        """Returns a table of a file, empty where there is none."""
        return {name: float(value) for name, value in self.said.get(key, {}).items()}


def read_spec(text: str, section: str) -> Spec:
    """Returns what a spec says; of a file, the section named so."""
    if text.endswith(".toml"):
        said = tomllib.loads(Path(text).read_text())[section]
        return Spec(said["kind"], said)
    name, _, parameters = text.partition("?")
    pairs = [pair.split("=") for pair in parameters.split("&") if pair]
    return Spec(name, {key: value if key in WORDS else float(value) for key, value in pairs})


OWN = Spec("own")
"""A score written in Python."""


def order_moves(policy: Spec, estimate: Spec) -> bool:
    """Tells whether the order of a policy with a name is made anew at every pass."""
    learns = estimate.name in LEARNED and policy.name not in {*WITHOUT_ESTIMATE, OWN.name}
    return policy.name in MOVING or learns
