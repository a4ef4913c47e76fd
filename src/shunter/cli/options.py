"""The options that verbs share, and how they reach a verb.

The options of a verb are told by its signature. A verb that simulates has one parameter of the type
`RunArguments`, and says which groups of options fill it::

    @takes(SITE | LOAD | SETTINGS)
    def verb(arguments: RunArguments, json: JsonOption = False) -> None:

The command sees a signature in which these options stand in the place of that parameter. When it calls, one object is
made of their values, and the verb is called with it. What a verb takes in its own way (a list, another default) is a
parameter of its own, and not in the groups. The options of settings follow from the fields of `Settings`.

Options that belong together and are no settings are the fields of a dataclass, each annotated with its option::

    @takes_fields(WindowArguments, part="0.7:1")
    def verb(where: WindowArguments, json: JsonOption = False) -> None:
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_origin, get_type_hints

from shunter.checks import TIME, seconds_of
from shunter.cli.parsing import BadParameter, Context, Option, number, whole_number
from shunter.cli.running import DEFAULT_WORDS, RunArguments
from shunter.errors import InputError
from shunter.model.settings import DECLARED, SETTING_NAMES, Settings
from shunter.policies.catalog import DISPATCHES, ESTIMATES, PLACEMENTS, POLICIES

if TYPE_CHECKING:
    from shunter.comparison.contest import Contest


def duration(text: str) -> float:
    """Returns the seconds that an option was given: ``36h``, ``2h30m``, ``90``."""
    found = seconds_of(text)
    if found is None:
        raise BadParameter(f"{text!r} is not a time; write 90m, 36h, 1d, 2h30m, or a number of seconds")
    return found


def offered_load(text: str) -> float:
    """Returns the load that an option was given: ``0.9`` or ``90%``."""
    from shunter.workloads.load import parse_load

    try:
        return parse_load(text)
    except InputError:
        raise BadParameter(f"{text!r} is not a load; write 0.9 or 90%") from None


def given_text(text: str) -> str:
    """Returns the text that an option was given, which must not be empty."""
    if not text.strip():
        raise BadParameter("it is empty; give a name")
    return text


def listed_names(option: str, text: str) -> list[str]:
    """Returns the names that an option was given, with commas between them."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f"--{option} is {text!r}; expected names with single commas between them")
    return names


def path(text: str) -> Path:
    """Returns the path that an option was given; an empty one would mean the current folder."""
    return Path(given_text(text))


WorkloadOption = Annotated[
    str,
    Option(
        parser=given_text,
        metavar="FILE",
        help="A job log (SWF, sacct, lsb.acct, CSV, Parquet and others, also .gz; a pattern such as 'part-*.csv' if it "
        "is in several files), or a generator such as generate:lublin?jobs=10000&cores=256&load=0.9 (others: poisson, "
        "uniform, bursty-gpu, eda, helios-like, philly-like).",
    ),
]
ClusterOption = Annotated[
    str | None,
    Option(
        metavar="CLUSTER",
        show_default="what the log's header or the generator tells",
        help="A number of cores, a preset, a TOML file, or a generator such as generate:eda?hosts=20&seed=42.",
    ),
]
LoadOption = Annotated[
    float | None,
    Option(
        parser=offered_load,
        metavar="X",
        show_default="the arrivals as they are",
        help="Stretch the arrivals of the whole workload so that its offered load on the cluster is X: 0.9 or 90%.",
    ),
]
StartOption = Annotated[
    int, Option(parser=whole_number, metavar="I", help="The first job of the window, counted from 0.")
]
LengthOption = Annotated[
    int | None,
    Option(parser=whole_number, metavar="N", show_default="to the end", help="How many jobs the window has."),
]
SeedOption = Annotated[int, Option(parser=whole_number, metavar="N", help="The seed of everything random.")]
FormatOption = Annotated[
    str | None,
    Option(
        "--format",
        metavar="NAME",
        show_default="by the file's content",
        help="The format of the log, if its content does not tell it (docs/traces.md lists them).",
    ),
]
MapOption = Annotated[
    list[str] | None,
    Option(
        "--map",
        metavar="OURS=THEIRS",
        show_default="the table's own names",
        help="For a CSV or Parquet table with other column names: which of its columns gives ours, such as "
        "submit_s=arrival or run_s=end-start or submit_s=time_ms/1000; without a header by number, as in "
        "submit_s=1,run_s=5; several times, or with commas between them.",
    ),
]
OnlyOption = Annotated[
    str | None,
    Option(
        "--only",
        metavar="STATUS,...",
        show_default="all jobs",
        help="Keep only the jobs that ended so: completed, failed, cancelled, timeout ... in any case of letters.",
    ),
]
StrictOption = Annotated[
    bool, Option("--strict", help="Make an error of each repair, and of each job that can never fit.")
]
OutOption = Annotated[
    Path | None,
    Option(
        "--out",
        "-o",
        parser=path,
        metavar="DIR",
        help="Write the schedule, the metrics and a manifest to this folder.",
    ),
]
ForceOption = Annotated[bool, Option("--force", help="Let --out overwrite the run in a folder.")]
PlotOption = Annotated[
    Path | None,
    Option(parser=path, metavar="FILE", help="Draw utilization, queue and a Gantt chart: a .png, .svg or .pdf file."),
]


def _trust(context: Context, option: object, is_given: bool) -> bool:
    """Lets Python files be run that files name, as long as this command runs."""
    if is_given:
        from shunter.policies.trust import trust_files

        trust_files()
    return is_given


TrustOption = Annotated[
    bool,
    Option(
        "--trust",
        callback=_trust,
        help="Run Python files that a file names (a manifest, a checkpoint, a training file), and not you.",
    ),
]
ObjectiveOption = Annotated[
    str,
    Option(
        metavar="NAME",
        help="What is to become better: bounded-slowdown, slowdown, mean-wait, p95-wait, p99-wait, max-wait, "
        "turnaround, utilization, fairness, or any metric by its full name.",
    ),
]
JsonOption = Annotated[bool, Option("--json", help="Print one JSON object instead of tables.")]
WindowCountOption = Annotated[
    int, Option("--windows", parser=whole_number, metavar="K", help="How many windows of the log are simulated.")
]
WindowLengthOption = Annotated[
    int, Option("--length", parser=whole_number, metavar="N", help="How many jobs of each window are measured.")
]
BlocksOption = Annotated[
    int | None,
    Option(
        parser=whole_number,
        metavar="B",
        show_default="as many as hold a window, at most 10",
        help="In how many blocks of the log the windows lie; intervals draw whole blocks.",
    ),
]
WarmupOption = Annotated[
    int,
    Option(
        parser=whole_number,
        metavar="N",
        help="How many jobs before each window are simulated too, so that it does not begin on an empty cluster.",
    ),
]
PartOption = Annotated[
    str, Option(metavar="A:B", help="The part of the log to take windows from, as fractions of its jobs.")
]
ThreadsOption = Annotated[
    int | None,
    Option(parser=whole_number, metavar="N", show_default="all cores", help="How many cores to use."),
]
OnOption = Annotated[
    str,
    Option(
        "--on",
        parser=given_text,
        metavar="PLACE",
        help="Where the work runs: local, on this machine; ray, in Ray workers on this machine, as many as --threads "
        "says; HOST:PORT or ray://HOST:PORT, in the workers of a Ray cluster (docs/engines.md). Results are the same.",
    ),
]


@dataclass(frozen=True)
class WindowArguments:
    """By what policies are compared, and in which windows of a log."""

    metric: Annotated[str, Option(metavar="NAME", help="The metric to compare and to sort by.")] = (
        "mean_bounded_slowdown"
    )
    windows: WindowCountOption = 20
    length: WindowLengthOption = 1024
    blocks: BlocksOption = None
    warmup: WarmupOption = 0
    part: PartOption = "0:1"
    threads: ThreadsOption = None

    def contest(self, seed: int, baseline: str | None = None) -> Contest:
        """Returns the contest that these options describe."""
        from shunter.comparison.contest import Contest

        return Contest(**vars(self), seed=seed, baseline=baseline)


Options = dict[str, object]
"""Options by the fields of the object that they fill, in the order of the help."""
Verb = Callable[..., None]
Make = Callable[[dict[str, Any], dict[str, Any]], object]
"""Makes the object of the values of its options, and sees what else the verb was given."""

NAMES: Final = {
    "policy": f"{', '.join(POLICIES)}, a name with parameters such as hybrid?aging=0.5, FILE.toml, the folder of a run "
    "of 'shunter train' (which brings its own dispatch rule, placement and estimate), or FILE.py[:CLASS]: a policy of "
    "your own (it is run)",
    "dispatch": f"{', '.join(DISPATCHES)}, or a number k: so many jobs hold reservations",
    "placement": f"{', '.join(PLACEMENTS)}, milp also with parameters (milp?alpha=2), the folder of a run of 'shunter "
    "train --env pick-host', or FILE.py[:CLASS]: a placement of your own (it is run)",
    "pairs": "any, price with a price for each type (price?factor=1.2&V100=3&P100=2&K80=1), eft, or FILE.toml with "
    "prices, of 'shunter trace prices'",
    "estimate": f"{', '.join(ESTIMATES)}, also with parameters (noisy?sigma=2), or FILE.toml with a prior",
}
"""What the settings that are looked up by name may be."""
HINTS: Final = get_type_hints(Settings)


def setting_help(name: str) -> str:
    """Returns what the help says of a setting."""
    help = DECLARED[name].help
    return f"{help.removesuffix('.')}: {NAMES[name]}." if name in NAMES else help


def setting_option(name: str) -> object:
    """Returns the option of a setting, as a signature has it."""
    said, hint = DECLARED[name], HINTS[name]
    if hint is bool:
        return Annotated[bool, Option(f"--{name.replace('_', '-')}", help=setting_help(name))]
    kinds = getattr(hint, "__args__", (hint,))
    # Some settings take a number or text in Python; on the command line the first of these types that they take.
    parsers = ((int, whole_number), (float, duration if said.metavar == TIME else number), (str, given_text))
    kind, parse = next((kind, parse) for kind, parse in parsers if kind in kinds)
    shown = said.shown_default or (str(getattr(Settings(), name)) if said.is_open else "")
    option = Option(parser=parse, metavar=said.metavar, help=setting_help(name), show_default=shown or True)
    return Annotated[kind | None if said.is_open or type(None) in kinds else kind, option]


def _options(*names: str) -> Options:
    return {name: setting_option(name) for name in names}


SITE: Options = {"workload": WorkloadOption, "cluster": ClusterOption}
LOAD: Options = {"load": LoadOption}
WINDOW: Options = {"start": StartOption, "length": LengthOption}
POLICY: Options = _options("policy", "dispatch", "placement", "estimate")
STOPS: Options = _options(
    "preemption_overhead_s",
    "preemption_overhead_per_gb_s",
    "preempted_progress",
    "min_run_s",
    "failures",
    "mtbf_s",
    "mttr_s",
    "failed_progress",
)
"""What stops jobs, and what that costs them."""
SETTINGS: Options = {
    **_options(*(name for name in SETTING_NAMES if name not in {*POLICY, *STOPS})),
    "format": FormatOption,
    "columns": MapOption,
    "only": OnlyOption,
    "strict": StrictOption,
    "trust": TrustOption,
}


def takes(options: Options, **defaults: str) -> Callable[[Verb], Verb]:
    """Returns a decorator for a verb whose `RunArguments` come from these options, some with defaults of its own."""
    return fills(RunArguments, options, _make, DEFAULT_WORDS | {"trust": False} | defaults)


def takes_fields(kind: type, **defaults: object) -> Callable[[Verb], Verb]:
    """Returns a decorator for a verb with a parameter of this dataclass, whose fields are annotated with options."""
    return fills(kind, get_type_hints(kind, include_extras=True), lambda values, _: kind(**values), defaults)


def _make(values: dict[str, Any], given: dict[str, Any]) -> RunArguments:
    # It has acted already, and is no argument of a run.
    values.pop("trust", None)
    if values.get("columns") is not None:
        values["columns"] = ",".join(values["columns"])
    settings = {name: values.pop(name) for name in SETTING_NAMES if name in values}
    context: Any = given.get("context")
    # A checkpoint refuses a setting that was asked for, but not the same value as a default.
    asked = frozenset() if context is None else frozenset(given_options(context))
    # A verb that takes several logs puts each of them in itself.
    return RunArguments(**{"workload": ""} | values, given=settings, asked=asked)


def given_options(context: Context) -> dict[str, Any]:
    """Returns the options that the user gave, as they were understood."""
    given = {name: value for name, value in context.params.items() if name in context.given}
    return {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}


def fills(
    kind: type, options: Options, make: Make, defaults: Mapping[str, Any] | None = None
) -> Callable[[Verb], Verb]:
    """Returns a decorator for a verb whose one parameter of this type is filled by these options.

    The default of an option is the one that is given for it, or that of the field which it fills.
    """

    def decorate(verb: Verb) -> Verb:
        # Annotations are text in our modules; commands and `kind` need the types.
        own = signature(verb, eval_str=True)
        (place,) = (name for name, parameter in own.parameters.items() if parameter.annotation is kind)

        @wraps(verb)
        def called(**given: object) -> None:
            values: dict[str, Any] = {field: given.pop(_option_name(field)) for field in options}
            verb(**given, **{place: make(values, given)})

        called.__signature__ = _shown(own, place, options, _defaults(kind) | dict(defaults or {}))  # type: ignore[attr-defined]
        return called

    return decorate


def _option_name(field: str) -> str:
    """Returns the name of a field's option, which does not say the unit: ``max_wait`` for ``max_wait_s``."""
    return field.removesuffix("_s")


def _defaults(kind: type) -> dict[str, Any]:
    return {name: one.default for name, one in signature(kind).parameters.items()}


def _shown(own: Signature, place: str, options: Options, defaults: Mapping[str, Any]) -> Signature:
    """Returns what a command sees: first what is required, then the cluster, then the others as they stand."""
    shown: list[Parameter] = []
    for parameter in own.parameters.values():
        if parameter.name == place:
            shown += [
                Parameter(_option_name(name), Parameter.KEYWORD_ONLY, default=defaults[name], annotation=options[name])
                for name in options
            ]
        else:
            shown.append(parameter)
    # The help shows required options first. The sort is stable: the rest, and what is still to be filled, stays put.
    shown.sort(key=lambda one: (not _is_required(one), one.name != "cluster"))
    return own.replace(parameters=[one.replace(kind=Parameter.KEYWORD_ONLY) for one in shown])


def _is_required(parameter: Parameter) -> bool:
    is_option = get_origin(parameter.annotation) is Annotated
    return is_option and parameter.default is Parameter.empty
