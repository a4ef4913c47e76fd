"""Which of its partitions admit a job, and why none does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from shunter.model.schedule import RejectReason
from shunter.model.site import Limit, PartitionRules, SiteRules
from tests.reference.locality import fewest_of
from tests.reference.model import Config, RefJob, RefNode
from tests.reference.resources import capacity, choices, empty, in_partition, names_in, partitions, usable


def admitted(job: RefJob, nodes: Sequence[RefNode], config: Config) -> RefJob:
    """Returns the job as it asks for those of its partitions alone that admit it, or says why there are none."""
    rules = config.rules
    if all(node.partition is None for node in nodes):
        named = []
    elif not names_in(job.partition) and rules.default_partition is not None:
        named = [rules.default_partition]
    else:
        named = list(dict.fromkeys(names_in(job.partition)))
    job = replace(job, partition=",".join(named) or None)
    if named:
        job = first_refusal(job, named, nodes, config)
    elif not in_partition(job, nodes):
        return replace(job, refused=RejectReason.NO_SUCH_FEATURES)
    if job.refused is RejectReason.NONE and is_over_a_limit(job, rules):
        return replace(job, refused=RejectReason.OVER_JOB_LIMIT)
    return job


def first_refusal(job: RefJob, named: list[str], nodes: Sequence[RefNode], config: Config) -> RefJob:
    """Returns the job with those partitions that are left after each question, or the first that leaves none."""
    rules = config.rules

    def alone(name: str) -> RefJob:
        return replace(job, partition=name)

    questions: list[tuple[RejectReason, Callable[[str], bool]]] = [
        (RejectReason.NO_SUCH_PARTITION, lambda name: bool(partitions(alone(name), nodes))),
        (RejectReason.NOT_ADMITTED, lambda name: is_owner_admitted(job, of(rules, name), rules)),
        (RejectReason.NO_SUCH_FEATURES, lambda name: bool(in_partition(alone(name), nodes))),
        (RejectReason.OVER_JOB_LIMIT, lambda name: is_small_enough(alone(name), of(rules, name), nodes, config)),
    ]
    for reason, serves in questions:
        named = [name for name in named if serves(name)]
        if not named:
            return replace(job, refused=reason)
    first = of(rules, named[0]).default_time_s
    if job.requested_ms is None and first is not None:
        job = replace(job, requested_ms=round(first * 1000))
    factors = tuple((name, factor) for name in named if (factor := of(rules, name).factor) is not None)
    tier = max(of(rules, name).tier for name in named)
    exclusive = job.exclusive or any(of(rules, name).exclusive for name in named)
    return replace(job, partition=",".join(named), tier=tier, factors=factors, exclusive=exclusive)


def of(rules: SiteRules, name: str) -> PartitionRules:
    """Returns the rules of a partition."""
    return rules.partitions.get(name, PartitionRules())


def is_below(account: str | None, named: Iterable[str], rules: SiteRules) -> bool:
    """Tells whether an account, or one above it, is among those named."""
    while account is not None:
        if account in named:
            return True
        account = rules.accounts.get(account)
    return False


def is_owner_admitted(job: RefJob, partition: PartitionRules, rules: SiteRules) -> bool:
    """Tells whether a partition admits the account, the user and the QOS of a job."""
    if partition.accounts and not is_below(job.account, partition.accounts, rules):
        return False
    if is_below(job.account, partition.denied_accounts, rules):
        return False
    if partition.users and job.user not in partition.users:
        return False
    if job.user in partition.denied_users:
        return False
    return not partition.qos or job.qos in partition.qos


def is_small_enough(job: RefJob, partition: PartitionRules, nodes: Sequence[RefNode], config: Config) -> bool:
    """Tells whether a job asks for no more time, cores and nodes than a partition gives to one."""
    most_s = partition.max_time_s
    if most_s is not None and job.requested_ms is not None and job.requested_ms > most_s * 1000:
        return False
    if partition.max_cores is not None and job.total_cores_milli > partition.max_cores * 1000:
        return False
    if partition.max_nodes is None:
        return True
    free, mine = empty(nodes), set(usable(job, nodes))
    counts = [
        fewest_of([capacity(job, free[number]) for number in choice if number in mine], job.tasks)
        for choice in choices(job, range(len(nodes)), nodes, config.mix)
    ]
    fewest = min((count for count in counts if count is not None), default=None)
    return fewest is None or fewest <= partition.max_nodes


def is_over_a_limit(job: RefJob, rules: SiteRules) -> bool:
    """Tells whether a limit of one job that holds at all hours applies to a job, which asks for more."""
    return any(is_over(job, limit) for limit in rules.limits if not limit.has_hours and applies(job, limit, rules))


def applies(job: RefJob, limit: Limit, rules: SiteRules) -> bool:
    """Tells whether a limit is one of this job."""
    return (
        (not limit.partitions or any(name in limit.partitions for name in names_in(job.partition)))
        and (not limit.qos or job.qos in limit.qos)
        and (not limit.accounts or is_below(job.account, limit.accounts, rules))
        and (not limit.users or job.user in limit.users)
    )


def is_over(job: RefJob, limit: Limit) -> bool:
    """Tells whether a job asks for more than a limit gives to one."""
    asked = [
        (limit.max_time_s, job.requested_ms),
        (limit.max_cores, job.total_cores_milli),
        (limit.max_gpus, job.total_gpu_milli),
    ]
    return any(most is not None and value is not None and value > most * 1000 for most, value in asked)
