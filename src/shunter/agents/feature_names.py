"""The names of what a policy has learned to see: an observation of the same size may mean something else."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from shunter.envs.layout import HOST_FEATURES, PICK_HOST
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.envs.layout import Layout


def feature_names(layout: Layout) -> dict[str, list[str]]:
    """Returns the names of the features, by what they tell of, in the order of the observation."""
    return {
        "cluster": list(layout.cluster_features),
        "host": list(HOST_FEATURES) if layout.kind == PICK_HOST else [],
        "job": list(layout.job_features),
    }


def check_features(recorded: object, layout: Layout, where: str) -> None:
    """Raises an error that names the first feature that is another one than this version has in its place.

    Args:
        recorded: What a checkpoint says.
        layout: Of its observations.
        where: Begins the error.
    """
    for part, own in feature_names(layout).items():
        named: Any = recorded.get(part) if isinstance(recorded, dict) else None
        if not isinstance(named, list):
            raise InputError(f"{where}: features: has no list {part!r}; take another copy")
        for place, (theirs, ours) in enumerate(zip_longest(named, own)):
            if theirs != ours:
                what = f"{part} feature {place} was {theirs or 'not there'}, here it is {ours or 'not there'}"
                raise InputError(f"{where}: was trained on other features: {what}; use the version it was trained with")
