"""How the options of a simulation reach a verb: said once here, and handed over as one object.

A verb has one parameter of the type `RunArguments`, and says which groups of options fill it::

    @takes(SITE | LOAD | SETTINGS)
    def verb(arguments: RunArguments, json: JsonOption = False) -> None:

Typer learns a verb's options from its signature. ``takes`` shows it a signature in which the options of these groups
stand in the place of that parameter; when Typer calls, it makes one `RunArguments` of their values, checks it, and
calls the verb with it as it was given. The default of an option is that of the field which it fills. What a verb takes
in its own way (a list, another default) is a parameter of its own, and not in the groups.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

from shunter.cli.arguments import RunArguments
from shunter.cli.options import (
    ClusterOption,
    DispatchOption,
    EstimateOption,
    FormatOption,
    KillOption,
    LengthOption,
    LoadOption,
    MaxWaitOption,
    MissingRequestOption,
    PlacementOption,
    PolicyOption,
    ReserveByOption,
    ScanDepthOption,
    SeedOption,
    StartOption,
    StrictOption,
    WorkloadOption,
)
from shunter.cli.outputs import given_options

Options = dict[str, object]
"""Options by the fields of `RunArguments` that they fill, in the order of the help."""
Verb = Callable[..., None]

SITE: Options = {"workload": WorkloadOption, "cluster": ClusterOption}
LOAD: Options = {"load": LoadOption}
POLICY: Options = {
    "policy": PolicyOption,
    "dispatch": DispatchOption,
    "placement": PlacementOption,
    "estimate": EstimateOption,
}
WINDOW: Options = {"start": StartOption, "length": LengthOption}
SETTINGS: Options = {
    "max_wait_s": MaxWaitOption,
    "missing_request": MissingRequestOption,
    "reserve_by": ReserveByOption,
    "kill_at_request": KillOption,
    "scan_depth": ScanDepthOption,
    "seed": SeedOption,
    "format": FormatOption,
    "strict": StrictOption,
}


def takes(options: Options) -> Callable[[Verb], Verb]:
    """Returns a decorator for a verb whose `RunArguments` come from these options."""

    def decorate(verb: Verb) -> Verb:
        own = signature(verb, eval_str=True)
        (place,) = (name for name, parameter in own.parameters.items() if parameter.annotation is RunArguments)

        @wraps(verb)
        def called_by_typer(**given: object) -> None:
            values: dict[str, Any] = {field: given.pop(_option_name(field)) for field in options}
            # A verb that takes several logs puts each of them in itself.
            arguments = RunArguments(**{"workload": ""} | values)
            # Only checked: what stands in for an option that was not given may depend on what the verb changes.
            arguments.checked()
            context: Any = given.get("context")
            if context is not None:
                _check_checkpoint(arguments, set(given_options(context)))
            verb(**given, **{place: arguments})

        called_by_typer.__signature__ = _shown(own, place, options)  # type: ignore[attr-defined]
        return called_by_typer

    return decorate


def _check_checkpoint(arguments: RunArguments, asked: set[str]) -> None:
    """Raises an error if the user asked a checkpoint by name for a default that it does not have."""
    from shunter.simulate.checkpoint_path import BROUGHT, check_given, is_checkpoint

    if is_checkpoint(arguments.policy):
        check_given(arguments.policy, {name: getattr(arguments, name) for name in BROUGHT if name in asked})


def _option_name(field: str) -> str:
    """Returns the name of a field's option, which does not say the unit: ``max_wait`` for ``max_wait_s``."""
    return field.removesuffix("_s")


def _shown(own: Signature, place: str, options: Options) -> Signature:
    """Returns what Typer sees: first what is required, then the cluster, then the others as they stand."""
    fields = signature(RunArguments).parameters
    shown: list[Parameter] = []
    for parameter in own.parameters.values():
        if parameter.name == place:
            shown += [fields[name].replace(name=_option_name(name), annotation=options[name]) for name in options]
        else:
            shown.append(parameter)
    shown.sort(key=lambda one: (one.default is not Parameter.empty, one.name != "cluster"))
    return own.replace(parameters=[one.replace(kind=Parameter.KEYWORD_ONLY) for one in shown])
