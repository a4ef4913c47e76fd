"""How the options of a simulation reach a verb: said once here, and handed over as one object.

A verb has one parameter of the type `RunArguments`, and says which groups of options fill it::

    @takes(SITE | LOAD | SETTINGS)
    def verb(arguments: RunArguments, json: JsonOption = False) -> None:

The values are checked before the verb is called. What a verb takes in its own way (a list, another default) is a
parameter of its own, and not in the groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.cli.arguments import RunArguments
from shunter.cli.options import (
    ClusterOption,
    DispatchOption,
    EstimateOption,
    FailedProgressOption,
    FailuresOption,
    FormatOption,
    KillOption,
    LengthOption,
    LoadOption,
    MapOption,
    MaxWaitOption,
    MinRunOption,
    MissingRequestOption,
    MtbfOption,
    MttrOption,
    OnlyOption,
    PlacementOption,
    PolicyOption,
    PreemptedProgressOption,
    PreemptionOverheadOption,
    ReserveByOption,
    ScanDepthOption,
    SeedOption,
    StartOption,
    StrictOption,
    WorkloadOption,
)
from shunter.cli.outputs import given_options
from shunter.cli.signatures import Options, Verb, fills

SITE: Options = {"workload": WorkloadOption, "cluster": ClusterOption}
LOAD: Options = {"load": LoadOption}
POLICY: Options = {
    "policy": PolicyOption,
    "dispatch": DispatchOption,
    "placement": PlacementOption,
    "estimate": EstimateOption,
}
WINDOW: Options = {"start": StartOption, "length": LengthOption}
STOPS: Options = {
    "preemption_overhead_s": PreemptionOverheadOption,
    "preempted_progress": PreemptedProgressOption,
    "min_run_s": MinRunOption,
    "failures": FailuresOption,
    "mtbf_s": MtbfOption,
    "mttr_s": MttrOption,
    "failed_progress": FailedProgressOption,
}
"""What stops jobs, and what that costs them."""
SETTINGS: Options = {
    "max_wait_s": MaxWaitOption,
    "missing_request": MissingRequestOption,
    "reserve_by": ReserveByOption,
    "kill_at_request": KillOption,
    "scan_depth": ScanDepthOption,
    "seed": SeedOption,
    "format": FormatOption,
    "columns": MapOption,
    "only": OnlyOption,
    "strict": StrictOption,
}


def takes(options: Options) -> Callable[[Verb], Verb]:
    """Returns a decorator for a verb whose `RunArguments` come from these options."""
    return fills(RunArguments, options, _make)


def _make(values: dict[str, Any], given: dict[str, Any]) -> RunArguments:
    if values.get("columns") is not None:
        values["columns"] = ",".join(values["columns"])
    # A verb that takes several logs puts each of them in itself.
    arguments = RunArguments(**{"workload": ""} | values)
    # Only checked: what stands in for an option that was not given may depend on what the verb changes.
    arguments.checked()
    context: Any = given.get("context")
    if context is not None:
        _check_checkpoint(arguments, set(given_options(context)))
    return arguments


def _check_checkpoint(arguments: RunArguments, asked: set[str]) -> None:
    """Raises an error if the user asked a checkpoint by name for a default that it does not have."""
    from shunter.policies.checkpoint_path import BROUGHT, check_given, is_checkpoint

    if is_checkpoint(arguments.policy):
        check_given(arguments.policy, {name: getattr(arguments, name) for name in BROUGHT if name in asked})
