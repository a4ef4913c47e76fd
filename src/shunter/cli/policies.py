"""``shunter policies``: the names that the other verbs take, with a line each."""

from __future__ import annotations

from shunter.cli.options import JsonOption
from shunter.cli.outputs import print_json
from shunter.cli.parsing import echo
from shunter.policies.catalog import DISPATCHES, ESTIMATES, PAIRS, PLACEMENTS, POLICIES

KINDS = {
    "policy": ("--policy: the order of the queue (r estimate, n cores, w wait, s submit time)", POLICIES),
    "dispatch": ("--dispatch: what happens when the next job does not fit", DISPATCHES),
    "placement": ("--placement: which nodes it gets", PLACEMENTS),
    "pairs": ("--pairs: which types of GPUs it takes", PAIRS),
    "estimate": ("--estimate: the run time that the policy sees", ESTIMATES),
}


def policies(json: JsonOption = False) -> None:
    """List the policies, dispatch rules, placements, types of GPUs that jobs take, and estimates.

    For instance:

        shunter policies
    """
    if json:
        print_json({kind: names for kind, (_, names) in KINDS.items()})
        return
    # One width for all lists, so that the meanings stand below each other.
    width = max(len(name) for _, names in KINDS.values() for name in names)
    for title, names in KINDS.values():
        echo(f"\n{title}" if names is not POLICIES else title)
        for name, meaning in names.items():
            echo(f"  {name:<{width}}  {meaning}")
