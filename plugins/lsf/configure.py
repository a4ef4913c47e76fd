"""Writes the plugin's settings for anything that Shunter takes as a policy: a name, a tuned file, a run's checkpoint.

.venv/bin/python plugins/lsf/configure.py --policy runs/first > $LSF_ENVDIR/shunter.conf
.venv/bin/python plugins/lsf/configure.py --policy tuned.toml --placement best-fit --set budget_ms=10

Run it with the Python that Shunter is installed for: .venv/bin/python in a checkout, or /opt/shunter/bin/python.
"""

from __future__ import annotations

import argparse
import sys

try:
    from shunter import Cluster, read_workload
    from shunter.errors import InputError
    from shunter.native import core_numbers, lib, opened
    from shunter.policies.checkpoint import Checkpoint, checkpoint_folder, open_network
    from shunter.policies.native import NativePolicy
    from shunter.policies.scheduler import Scheduler, resolve_scheduler
    from shunter.simulation.core_inputs import core_config
except ModuleNotFoundError as error:
    print(
        f"error: {sys.executable} has no module {error.name!r}; "
        "run this with the Python that Shunter is installed for: "
        ".venv/bin/python in a checkout (after 'make install'), or /opt/shunter/bin/python",
        file=sys.stderr,
    )
    raise SystemExit(2) from None

UNKNOWN = -1

# What --set may give: the other keys of src/settings.c, with the same bounds. A test holds one to the other.
RANGES = {
    "missing_request_s": (1.0, 1e9),
    "max_wait_s": (0.0, 1e9),
    "scan_depth": (1.0, 4e9),
    "seed": (0.0, 9e15),
    "budget_ms": (0.001, 60_000.0),
    "breaker_failures": (1.0, 1e6),
    "breaker_s": (0.0, 1e6),
    "watch_s": (0.05, 1e6),
    "log_s": (0.0, 1e6),
}
CHOICES = {"enabled": ("yes", "no"), "reserve_by": ("requested", "estimate"), "memory_per": ("job", "slot")}
# Nothing here depends on the jobs: a few will do.
FEW_JOBS = "generate:lublin?seed=1&jobs=2&cores=2"
TEXTS = ("queues", "status_file")
TEXT_BYTES = 1023


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
    _check_taken(scheduler)
    found["scan_depth"] = str(fields["scan_depth"])
    found["seed"] = str(fields["seed"])
    return found


def _check_taken(scheduler: Scheduler) -> None:
    """Asks the core as the plugin does, whose refusals are the plugin's."""
    workload, cluster = read_workload(FEW_JOBS), Cluster.pool(2)
    learned = open_network(scheduler.policy) if isinstance(scheduler.policy, Checkpoint) else None
    config = core_config(scheduler, workload, cluster)
    try:
        opened(lib.shunter_blocks_open, config.pointer, 0 if learned is None else learned.number).close()
    except InputError as error:
        raise InputError(f"policy {scheduler.policy.text!r}: the plugin does not take it: {error}") from None


def _policy(scheduler: Scheduler) -> dict[str, str]:
    """Returns the order and the estimate, with their parameters."""
    order = scheduler.policy.order
    if not isinstance(order, NativePolicy):
        raise InputError(f"policy {scheduler.policy.text!r} is written in Python; the plugin takes one of the core's")
    if order.spec.tables:
        raise InputError(
            f"policy {scheduler.policy.text!r}: the plugin takes no tables; leave out {', '.join(order.spec.tables)}"
        )
    told = order.for_core(read_workload(FEW_JOBS), Cluster.pool(2))
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


def set_by_hand(words: list[str]) -> dict[str, str]:
    """Returns the settings that KEY=VALUE texts give.

    Raises:
        InputError: The plugin would refuse one of them.
    """
    found = {}
    for word in words:
        key, sign, value = (part.strip() for part in word.partition("="))
        if not sign:
            raise InputError(f"--set {word}: expected KEY=VALUE")
        if key in RANGES:
            _check_number(key, value)
        elif key in CHOICES:
            if value not in CHOICES[key]:
                raise InputError(f"--set {key}: cannot be {value!r}; expected {' or '.join(CHOICES[key])}")
        elif key not in TEXTS:
            known = ", ".join(sorted([*RANGES, *CHOICES, *TEXTS]))
            raise InputError(f"--set {key}: there is no such key for --set; there are {known}")
        elif len(value.encode()) > TEXT_BYTES or "#" in value or "\n" in value:
            raise InputError(f"--set {key}: expected at most {TEXT_BYTES} bytes in one line without '#'")
        found[key] = value
    return found


def _check_number(key: str, value: str) -> None:
    least, most = RANGES[key]
    try:
        # Python reads 1_000, which C does not.
        is_right = least <= float(value) <= most and "_" not in value
    except ValueError:
        is_right = False
    if not is_right:
        raise InputError(f"--set {key}: cannot be {value!r}; expected a number from {least:g} to {most:g}")


def main(words: list[str] | None = None) -> int:
    """Prints the settings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", required=True, help="a policy's name, a TOML file, or a run that picks jobs")
    parser.add_argument("--placement", help="a placement's name, or a run that picks hosts (default: LSF's own hosts)")
    parser.add_argument("--estimate", help="the run time that the policy sees (default: the policy's own)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any other key of the settings")
    given = parser.parse_args(words)
    try:
        found = settings_of(given.policy, given.placement, given.estimate) | set_by_hand(given.set)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(f"{key} = {value}" for key, value in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
