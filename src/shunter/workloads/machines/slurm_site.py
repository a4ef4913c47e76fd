"""All that the files of a Slurm site tell, as one cluster and one policy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shunter.model.site import SiteRules
from shunter.workloads.machines.site import Assembled, Told
from shunter.workloads.machines.slurm_accounts import one_cluster, parents, user_shares
from shunter.workloads.machines.slurm_limits import limits
from shunter.workloads.machines.slurm_order import order
from shunter.workloads.machines.slurm_partitions import partition_rules, with_partitions
from shunter.workloads.machines.slurm_reservations import reservations
from shunter.workloads.machines.slurm_values import NOTHING

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.machines.site import Site

_LICENSE: Final = re.compile(r"([^:*]+)(?:[:*](.*))?")


def assemble(site: Site, nodes: Sequence[Node]) -> Assembled:
    """Returns the nodes with their partitions, the rules, and the policy if a configuration tells it.

    Raises:
        InputError: A value makes no sense.
    """
    nodes = with_partitions(site, nodes)
    one_cluster(site)
    tree = parents(site)
    partitions, default = partition_rules(site, nodes)
    known = {name for node in nodes for name in node.partitions}
    found = [one for one in limits(site) if set(one.partitions) <= known]
    rules = SiteRules(
        partitions, tuple(found), _licenses(site), tuple(reservations(site, nodes)), tree, default_partition=default
    )
    return Assembled(nodes, rules, order(site, user_shares(site, tree)))


def _licenses(site: Site) -> dict[str, int]:
    """Returns how many there are of each license: as configured, or as printed, which is in force."""
    told = site.settings.get("licenses")
    found: dict[str, Told] = {}
    if told is not None and told.value.lower() not in NOTHING:
        for item in told.value.split(","):
            match = _LICENSE.fullmatch(item.strip())
            if match is None:
                raise site.wrong(told, "names with counts such as matlab:10,ansys")
            # One without a count is one.
            found[match[1]] = told._replace(value=match[2] or "1")
    return {name: site.count(one) or 0 for name, one in (found | site.licenses).items()}
