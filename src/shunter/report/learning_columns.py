"""The columns of a training's diary that are drawn, in figures and on pages."""

from __future__ import annotations

from typing import Final

RATIO: Final = "validation/ratio"
WAIT_RATIO: Final = "validation/wait_ratio"
CHANGE: Final = "approximate_kl"
PANELS: Final = (
    (WAIT_RATIO, "mean wait to the classic's", "validation"),
    ("return", "return of an episode", "training"),
    ("entropy", "entropy of the policy", "training"),
    (CHANGE, "change of the policy in an update (KL)", "training"),
    ("wait_share", "share of decisions to wait", "training"),
    ("explained_variance", "share of returns that the value explains", "training"),
)
"""Beside the metric: the column, what it is, and where it was measured."""
