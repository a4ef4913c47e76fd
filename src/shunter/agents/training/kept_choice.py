"""The classics that a run chose, kept in its folder: choosing takes minutes, and a run that goes on has no need to."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from shunter.agents.training.checkpoint_files import MAY_BE_FILES
from shunter.checks import to_table
from shunter.envs.kinds import environment_table
from shunter.files import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from shunter.agents.training.setup import Site
    from shunter.comparison.combinations import Combination

CHOICE_FILE: Final = "classics.json"


def keep_choice(site: Site, chosen: Sequence[Combination], folder: Path) -> None:
    """Writes down for each log the classic that was chosen.

    Raises:
        InputError: The folder cannot be written.
    """
    content = {"chosen": [one.label for one in chosen], "chosen_on_sha256": _chosen_on(site)}
    write_file(folder / CHOICE_FILE, lambda file: file.write(json.dumps(content, indent=1).encode()))


def kept_choice(site: Site, folder: Path) -> tuple[Combination, ...] | None:
    """Returns for each log the classic that a run chose; None: it did not come so far, or was to choose on other days.

    What cannot be read counts as nothing: choosing again is always right.
    """
    try:
        content: Any = json.loads((folder / CHOICE_FILE).read_bytes())
        labels, chosen_on = content["chosen"], content["chosen_on_sha256"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
    rivals = {one.label: one for one in site.source.rivals()}
    known = isinstance(labels, list) and all(isinstance(label, str) and label in rivals for label in labels)
    if not known or chosen_on != _chosen_on(site) or len(labels) != max(1, len(site.logs)):
        return None
    return tuple(rivals[label] for label in labels)


def _chosen_on(site: Site) -> str:
    """Returns a hash of all that a choice depends on: who could be chosen, on which days, and by what."""
    config = site.config
    environment = environment_table(config.environment)
    facts = {
        "rivals": [str(one.settings) for one in site.source.rivals()],
        "logs": [(log.workload.content_sha256, log.cluster.content_sha256) for log in site.logs],
        # No rival looks into the files that sort the window; where they lie changes when a run is moved.
        "environment": {name: value for name, value in environment.items() if name not in MAY_BE_FILES},
        "episodes": to_table(config.episodes),
        "objective": str(site.objective),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
