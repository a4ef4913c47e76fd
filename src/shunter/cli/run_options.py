"""How the options of a simulation reach a verb: said once here, and handed over as one object.

A verb has one parameter of the type `RunArguments`, and says which groups of options fill it::

    @takes(SITE | LOAD | SETTINGS)
    def verb(arguments: RunArguments, json: JsonOption = False) -> None:

The values are checked before the verb is called. What a verb takes in its own way (a list, another default) is a
parameter of its own, and not in the groups. The options of settings follow from the fields of `Settings`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, get_type_hints

import typer

from shunter.checks import declarations
from shunter.cli.arguments import RunArguments, default_words
from shunter.cli.options import (
    ClusterOption,
    FormatOption,
    LengthOption,
    LoadOption,
    MapOption,
    OnlyOption,
    StartOption,
    StrictOption,
    WorkloadOption,
    given_text,
    number,
    whole_number,
)
from shunter.cli.outputs import given_options
from shunter.cli.signatures import Options, Verb, fills
from shunter.model.settings import SETTING_NAMES, Settings
from shunter.policies.catalog import DISPATCHES, ESTIMATES, PLACEMENTS, POLICIES

NAMES: Final = {
    "policy": f"{', '.join(POLICIES)}, a name with parameters such as hybrid?aging=0.5, FILE.toml, the folder of a run "
    "of 'shunter train' (which brings its own dispatch rule, placement and estimate), or FILE.py[:CLASS]: a policy of "
    "your own (it is run)",
    "dispatch": f"{', '.join(DISPATCHES)}, or a number k: so many jobs hold reservations",
    "placement": f"{', '.join(PLACEMENTS)}, milp also with parameters (milp?alpha=2), or FILE.py[:CLASS]: a placement "
    "of your own (it is run)",
    "estimate": f"{', '.join(ESTIMATES)}, also with parameters (noisy?sigma=2), or FILE.toml with a prior",
}
"""What the settings that are looked up by name may be."""


SAID: Final = declarations(Settings)
HINTS: Final = get_type_hints(Settings)


def setting_help(name: str) -> str:
    """Returns what the help says of a setting."""
    help = SAID[name].help
    return f"{help.removesuffix('.')}: {NAMES[name]}." if name in NAMES else help


def setting_option(name: str) -> object:
    """Returns the option of a setting, as Typer takes it."""
    said, hint = SAID[name], HINTS[name]
    if hint is bool:
        return Annotated[bool, typer.Option(f"--{name.replace('_', '-')}", help=setting_help(name))]
    kinds = getattr(hint, "__args__", (hint,))
    kind, parse = next(
        (kind, parse) for kind, parse in ((int, whole_number), (float, number), (str, given_text)) if kind in kinds
    )
    shown = said.shown_default or (str(getattr(Settings(), name)) if said.is_open else "")
    option = typer.Option(parser=parse, metavar=said.metavar, help=setting_help(name), show_default=shown or True)
    return Annotated[kind | None if said.is_open or type(None) in kinds else kind, option]


def _options(*names: str) -> Options:
    return {name: setting_option(name) for name in names}


SITE: Options = {"workload": WorkloadOption, "cluster": ClusterOption}
LOAD: Options = {"load": LoadOption}
WINDOW: Options = {"start": StartOption, "length": LengthOption}
POLICY: Options = _options("policy", "dispatch", "placement", "estimate")
STOPS: Options = _options(
    "preemption_overhead_s", "preempted_progress", "min_run_s", "failures", "mtbf_s", "mttr_s", "failed_progress"
)
"""What stops jobs, and what that costs them."""
SETTINGS: Options = {
    **_options(*(name for name in SETTING_NAMES if name not in {*POLICY, *STOPS})),
    "format": FormatOption,
    "columns": MapOption,
    "only": OnlyOption,
    "strict": StrictOption,
}


def takes(options: Options, **defaults: str) -> Callable[[Verb], Verb]:
    """Returns a decorator for a verb whose `RunArguments` come from these options, some with defaults of its own."""
    return fills(RunArguments, options, _make, default_words() | defaults)


def _make(values: dict[str, Any], given: dict[str, Any]) -> RunArguments:
    if values.get("columns") is not None:
        values["columns"] = ",".join(values["columns"])
    settings = {name: values.pop(name) for name in SETTING_NAMES if name in values}
    context: Any = given.get("context")
    asked = frozenset() if context is None else frozenset(given_options(context))
    # A verb that takes several logs puts each of them in itself.
    return RunArguments(**{"workload": ""} | values, given=settings, asked=asked)
