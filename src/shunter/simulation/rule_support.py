"""Which ways to schedule know a site's limits, licenses and advance reservations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shunter.errors import InputError
from shunter.model.start_rules import compile_rules, counter_text
from shunter.policies.checkpoint import Checkpoint
from shunter.policies.pairs import EFT
from shunter.simulation.decision import Reason

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.start_rules import StartRules
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.decision import Decision, Waiting


def check_rules_known(scheduler: Scheduler, cluster: Cluster, *, over_pairs: bool) -> None:
    """Raises an error for a way to schedule that does not know the rules of a cluster.

    Args:
        scheduler: How jobs are scheduled.
        cluster: The nodes and their rules.
        over_pairs: Whether the policy is a score over pairs.
    """
    if not cluster.rules.bind_starts:
        return
    if scheduler.settings.dispatch.startswith("committed"):
        refuse_rules(f"--dispatch {scheduler.settings.dispatch}", cluster, "choose another dispatch rule, such as easy")
    if scheduler.pairs.kind == EFT or over_pairs:
        what = "policy pairs" if over_pairs else f"--pairs {EFT}"
        refuse_rules(what, cluster, "let jobs take any type, or those by price")
    if isinstance(scheduler.policy, Checkpoint):
        refuse_rules(f"the learned policy {scheduler.policy.text}", cluster, "choose another policy")


def with_rule_names(decision: Decision, workload: Workload, cluster: Cluster) -> Decision:
    """Returns a decision whose reasons name the rules that they are about."""
    if all(one.rule is None for one in decision.waiting.values()):
        return decision
    rules = compile_rules(workload.whole(), cluster)
    waiting = {job: replace(one, rule_name=_rule_name(one, rules)) for job, one in decision.waiting.items()}
    return replace(decision, waiting=waiting)


def _rule_name(waiting: Waiting, rules: StartRules | None) -> str:
    if rules is None or waiting.rule is None:
        return ""
    if waiting.reason is Reason.LIMIT:
        return counter_text(rules.counters[waiting.rule])
    reservation = rules.windows[waiting.rule]
    return reservation.name or f"reserved from {reservation.start}"


def refuse_rules(what: str, cluster: Cluster, remedy: str) -> None:
    """Raises an error for what does not know the rules of a cluster.

    Args:
        what: What does not know them.
        cluster: The nodes and their rules.
        remedy: What the user may do instead of describing the cluster without them.
    """
    raise InputError(
        f"{what} does not know limits, licenses and advance reservations, which {cluster.name} has; {remedy}, or give "
        "a cluster without them"
    )
