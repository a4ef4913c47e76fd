"""``shunter operate slurm``: work beside Slurm."""

from __future__ import annotations

from shunter.cli.operate_options import verb_beside

slurm = verb_beside(
    "slurm",
    """Read Slurm, decide by a policy, and say what it would do; or nudge Slurm's own order towards it.

Observing changes nothing and needs no rights. Nudging sets SiteFactor, within bounds, and undoes it at the end.

For instance:

    shunter operate slurm --policy sjf --once

    shunter operate slurm --policy tuned.toml --config operate.toml --mode nudge
""",
)
