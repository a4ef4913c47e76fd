"""Writes the plugin's settings for anything that Shunter takes as a policy: a name, a tuned file, a run's checkpoint.

python plugins/lsf/configure.py --policy runs/first > $LSF_ENVDIR/shunter.conf
python plugins/lsf/configure.py --policy tuned.toml --placement best-fit --set budget_ms=10
"""

from __future__ import annotations

import argparse
import sys

from shunter import Cluster, read_workload
from shunter.errors import InputError
from shunter.native import core_numbers
from shunter.policies.checkpoint import Checkpoint, checkpoint_folder
from shunter.policies.scheduler import Scheduler, resolve_scheduler

UNKNOWN = -1


def settings_of(policy: str, placement: str | None = None, estimate: str | None = None) -> dict[str, str]:
    """Returns the plugin's settings for one way to schedule.

    Raises:
        InputError: There is no such thing, or the plugin cannot do it.
    """
    scheduler = resolve_scheduler(policy=policy, placement=placement, estimate=estimate)
    found = _policy(scheduler)
    if isinstance(scheduler.policy, Checkpoint):
        found["checkpoint"] = str(scheduler.policy.folder.resolve())
    if scheduler.placement.make_placer is not None:
        raise InputError(f"placement {placement!r} is written in Python; the plugin takes one of the core's")
    if scheduler.placement.network is not None:
        found["host_checkpoint"] = str(checkpoint_folder(scheduler.placement.text).resolve())
    elif placement is not None:
        found["placement"] = _name("Placement", scheduler.placement.code)
    fields = scheduler.settings.core_fields()
    if fields["missing_request_ms"] != UNKNOWN:
        found["missing_request_s"] = f"{fields['missing_request_ms'] / 1000:g}"
    if fields["max_wait_ms"] != UNKNOWN:
        found["max_wait_s"] = f"{fields['max_wait_ms'] / 1000:g}"
    if fields["reserve_by_estimate"]:
        found["reserve_by"] = "estimate"
    found["scan_depth"] = str(fields["scan_depth"])
    found["seed"] = str(fields["seed"])
    return found


def _policy(scheduler: Scheduler) -> dict[str, str]:
    """Returns the order and the estimate, with their parameters."""
    order = scheduler.policy.order
    if order is None or order.known.tables:
        raise InputError(
            f"policy {scheduler.settings.policy!r}: the plugin takes policies of the core's, without tables"
        )
    # None of these depends on the jobs: a few will do.
    told = order.for_core(read_workload("generate:lublin?seed=1&jobs=2&cores=2"), Cluster.pool(2))
    found = {"policy": "priority" if order.kind == "priority" else _name("Policy", told.code)}
    if len(told.parameters):
        found["policy_parameters"] = " ".join(f"{value!r}" for value in told.parameters.tolist())
    found["estimate"] = scheduler.estimate.kind
    if len(scheduler.estimate.parameters):
        found["estimate_parameters"] = " ".join(f"{value!r}" for value in scheduler.estimate.parameters.tolist())
    if scheduler.size_by != "auto":
        found["size_by"] = scheduler.size_by
    return found


def _name(enum: str, code: int) -> str:
    return next(name for name, number in core_numbers(enum).items() if number == code)


def main(words: list[str] | None = None) -> int:
    """Prints the settings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", required=True, help="a policy's name, a TOML file, or a run that picks jobs")
    parser.add_argument("--placement", help="a placement's name, or a run that picks hosts (default: LSF's own hosts)")
    parser.add_argument("--estimate", help="the run time that the policy sees (default: the policy's own)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any other key of the settings")
    given = parser.parse_args(words)
    try:
        found = settings_of(given.policy, given.placement, given.estimate)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for each in given.set:
        key, _, value = each.partition("=")
        found[key.strip()] = value.strip()
    print("\n".join(f"{key} = {value}" for key, value in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
