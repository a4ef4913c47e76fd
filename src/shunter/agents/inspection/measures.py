"""What a learned policy looks at, how sure it is, and whether it has collapsed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.agents.inspection.decisions import WAIT
from shunter.envs.layout import LOOKAHEAD
from shunter.policies.catalog import CHOOSING_JOBS, PICK_JOB

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.inspection.decisions import Decisions
    from shunter.agents.learned_policy import LearnedPolicy

SHUFFLED: Final = 512
"""On so many decisions features are shuffled."""
TIMES: Final = 3
"""So often each is shuffled."""

LEAST_CHOICES: Final = 50
"""Fewer tell nothing of collapse."""
ALWAYS: Final = 0.99
CERTAIN: Final = 0.01
"""A mean entropy, as a part of the largest possible, below this is none."""
EVEN: Final = 0.999
"""Above this all actions are about as likely."""
MOSTLY_WAITS: Final = 0.9
MOSTLY_DEAD: Final = 0.5


@dataclass(frozen=True)
class Importance:
    """What changes when a feature is shuffled."""

    feature: str
    part: str
    """Where it stands: ``cluster``, ``lookahead``, ``jobs``, ``hosts`` or ``job``."""
    moved: float
    """By how much the probabilities of actions change, in total variation: from 0 to 1."""
    changed: float
    """The share of choices that change."""


@dataclass(frozen=True)
class Manner:
    """How a policy decides; None where there was nothing to see."""

    choices: int
    """Decisions between two actions or more that were looked at."""
    entropy: float | None
    """Of the probabilities of actions, in nats: the mean over choices."""
    relative_entropy: float | None
    """The mean entropy over choices, as a part of what it would be if all allowed actions were as likely."""
    wait_share: float | None
    """Where both were possible, how often it waited instead of taking a job."""
    most_chosen: int | None
    """The action that it takes most often."""
    most_chosen_share: float | None


def manner(policy: LearnedPolicy, decisions: Decisions) -> Manner:
    """Returns how sure a policy is, and what it does most."""
    if not len(decisions):
        return Manner(0, None, None, None, None, None)
    chances = policy.action_probabilities(decisions.observations, decisions.masks).astype(np.float64)
    # 0 · log 0 is 0, and not NaN.
    entropy = -(chances * np.log(np.maximum(chances, np.finfo(np.float64).tiny))).sum(axis=1)
    counts = np.bincount(decisions.actions)
    may_wait = decisions.masks[:, WAIT] & decisions.layout.may_wait
    waited = (decisions.actions == WAIT)[may_wait]
    return Manner(
        choices=len(decisions),
        entropy=float(entropy.mean()),
        relative_entropy=float((entropy / np.log(decisions.masks.sum(axis=1))).mean()),
        wait_share=float(waited.mean()) if len(waited) else None,
        most_chosen=int(counts.argmax()),
        most_chosen_share=float(counts.max() / len(decisions)),
    )


def importances(policy: LearnedPolicy, decisions: Decisions, seed: int = 0) -> list[Importance]:
    """Returns what shuffling each feature changes, the most important first.

    The features of the cluster and the look-ahead (as a whole) are shuffled over decisions, those of jobs over all jobs
    in all windows: each keeps its values, and no longer belongs to what it was told of.
    """
    # Each feature takes several passes through the network.
    some = decisions.thinned(SHUFFLED)
    if not len(some):
        return []
    random = np.random.default_rng(seed)
    chances = policy.action_probabilities(some.observations, some.masks)
    best = policy.actions(some.observations, some.masks)
    found = []
    for part, feature in _features(some):
        moved, changed = [], []
        for _ in range(TIMES):
            shuffled = _shuffled(some, part, feature, random)
            difference = np.abs(policy.action_probabilities(shuffled, some.masks) - chances)
            # Total variation: half of the sum of absolute differences.
            moved.append(float(difference.sum(axis=1).mean()) / 2)
            changed.append(float((policy.actions(shuffled, some.masks) != best).mean()))
        found.append(Importance(feature, part, float(np.mean(moved)), float(np.mean(changed))))
    return sorted(found, key=lambda one: (-one.moved, -one.changed))


def _features(decisions: Decisions) -> Iterator[tuple[str, str]]:
    """Yields parts of an observation, and the features there."""
    for name, part in decisions.layout.parts.items():
        # The numbers of the look-ahead share one name: they are shuffled together.
        for feature in dict.fromkeys(part.features):
            yield name, feature


def _shuffled(decisions: Decisions, part: str, feature: str, random: np.random.Generator) -> NDArray[np.float32]:
    """Returns the observations with one feature shuffled."""
    layout = decisions.layout
    observations = decisions.observations.copy()
    values: Any = layout.split(observations)[part]
    if part == LOOKAHEAD:
        values[:] = values[random.permutation(len(values))]
        return observations
    column = values[..., layout.parts[part].features.index(feature)]
    # Empty rows of the window stay empty.
    filled = values[..., layout.job_features.index("present")] > 0 if part == "jobs" else np.ones(column.shape, bool)
    column[filled] = random.permutation(column[filled])
    return observations


def dead_units(policy: LearnedPolicy, decisions: Decisions) -> dict[str, tuple[int, int]]:
    """Returns by layer how many units never act, and of how many; layers that cannot die are not among them."""
    if not len(decisions):
        return {}
    # A ReLU that gives 0 for everything it sees learns no more; tanh cannot die like that.
    active = policy.active_units(decisions.observations, decisions.masks)
    return {name: (int((~acted).sum()), len(acted)) for name, acted in active.items()}


def signs_of_collapse(manner: Manner, dead: dict[str, tuple[int, int]], kind: str, order: str | None) -> list[str]:
    """Returns what speaks against a policy, in plain words; nothing is good news, or too little to go by.

    Args:
        manner: How it decides.
        dead: From `dead_units`.
        kind: ``pick-job``, ``pick-job-and-type`` or ``pick-host``.
        order: What sorts the window, if anything does.
    """
    signs: list[str] = []
    # A handful of choices may all be alike by chance.
    if manner.choices < LEAST_CHOICES:
        return signs
    if manner.wait_share is not None and manner.wait_share > MOSTLY_WAITS:
        signs.append(f"it waits in {100 * manner.wait_share:.0f} % of the choices in which it could take a job")
    if manner.most_chosen_share is not None and manner.most_chosen_share >= ALWAYS and manner.most_chosen != WAIT:
        what = f"host {manner.most_chosen}" if kind not in CHOOSING_JOBS else f"row {manner.most_chosen}"
        what += f": it is its order, {order}" if (kind, manner.most_chosen) == (PICK_JOB, 1) else ""
        signs.append(f"it always chooses {what}")
    if manner.relative_entropy is not None and manner.relative_entropy < CERTAIN:
        signs.append("it is sure of everything (entropy about 0): training on from here has nothing to try")
    if manner.relative_entropy is not None and manner.relative_entropy > EVEN:
        signs.append("all actions are about as likely: it has learned nothing yet")
    for name, (count, units) in dead.items():
        if count > MOSTLY_DEAD * units:
            signs.append(f"{count} of the {units} units of layer {name} never act")
    return signs
