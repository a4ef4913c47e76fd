"""``shunter operate lsf``: work beside LSF."""

from __future__ import annotations

from shunter.cli.operate_options import verb_beside

lsf = verb_beside(
    "lsf",
    """Read LSF, decide by a policy, and say what it would do; or nudge LSF's own order towards it.

Observing changes nothing and needs no rights. Nudging sets the administrators' part of absolute priorities, or
positions in queues without them, within bounds, and undoes it at the end. It was never run beside a real LSF.

For instance:

    shunter operate lsf --policy sjf --once

    shunter operate lsf --policy tuned.toml --config operate.toml --mode nudge
""",
)
