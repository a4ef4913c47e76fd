"""The roles that contenders play in a report: one name each, in every verb, table, sentence and JSON object."""

from __future__ import annotations

from typing import Final

BASELINE, CHOSEN, BEST = "baseline", "chosen", "best"
CHOSEN_SAME, BEST_SAME = "chosen-same-estimate", "best-same-estimate"
EARLIEST = "earliest-finish"
BEGINNING, TUNED, LEARNED, ALSO, CLASSIC = "beginning", "tuned", "learned", "also", "classic"

ROLES: Final = {
    BASELINE: "baseline",
    CHOSEN: "chosen on training days",
    BEST: "best in hindsight",
    CHOSEN_SAME: "chosen, same estimate",
    BEST_SAME: "best, same estimate",
    EARLIEST: "earliest finish",
    BEGINNING: "the beginning",
    TUNED: "tuned",
    LEARNED: "learned",
    ALSO: "also judged",
    CLASSIC: "",
}
"""By the role of a row in JSON: what tables and figures call it.

The baseline is what the site has, or what the user named as such. Classics are chosen on training days by what they
did there; in hindsight by what they did in the very windows that everything is judged on. They see requested times, or
(same estimate) what the policy sees that is judged. The beginning is the policy that a training began with. The
earliest finish is sjf where each job takes the type of GPU on which it ends first, beside scores that choose types.
"""
OTHERS: Final = {
    BEST: "the best classic in hindsight",
    BEST_SAME: "the best classic in hindsight with the same estimate",
    CHOSEN: "the classic chosen on training days",
    CHOSEN_SAME: "the classic chosen on training days with the same estimate",
    EARLIEST: "the earliest finish",
    BASELINE: "the baseline",
    BEGINNING: "the beginning",
    TUNED: "the tuned policy",
}
"""What sentences call those that others are held against, in the order in which they are told of."""
JUDGED_AGAINST: Final = {
    role: OTHERS[role] for role in (BEGINNING, TUNED, CHOSEN, CHOSEN_SAME, BEST, BEST_SAME, EARLIEST, BASELINE)
}
"""What tuned and learned policies are judged against, where they began first; their tables have this order."""
