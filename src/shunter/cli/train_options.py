"""The options of ``shunter train`` that stand for keys of a training file: said once, with where they go.

A verb has one parameter of the type `Changes`; `takes_changes` shows Typer one option for each of `FLAGS` in its place,
and hands over what the user gave by section and key, as `shunter.agents.config.load_config` takes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, Final

import typer

from shunter.cli.options import given_text, number, whole_number
from shunter.errors import InputError

NOTHING: Final = "none"
"""What a user writes to have none of something."""
BOUNDED: Final = {"mean-wait": "wait", "wait": "wait", "utilization": "utilization"}
"""What can be bounded, and what rewards call it."""


class Changes(dict[str, dict[str, Any]]):
    """What the command line says of a training, by section and key."""

    def put(self, section: str, key: str, value: object) -> None:
        """Adds a value."""
        self.setdefault(section, {})[key] = value


@dataclass(frozen=True)
class Flag:
    """An option, and the keys that it stands for."""

    name: str
    keys: tuple[str, ...]
    """Each as ``section.key``."""
    parse: Callable[[str], Any]
    metavar: str
    help: str
    several: bool = False
    """Whether it may be given several times."""

    @property
    def parameter(self) -> Parameter:
        """What Typer sees."""
        option = typer.Option(
            f"--{self.name.replace('_', '-')}", parser=self.parse, metavar=self.metavar, help=self.help
        )
        kind: object = list[str] | None if self.several else str | None
        return Parameter(self.name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option])


def _or_nothing(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Returns a parser that also takes the word for nothing."""

    def parsed(text: str) -> object:
        return NOTHING if text == NOTHING else parse(text)

    return parsed


def whole_numbers(text: str) -> list[int]:
    """Returns the whole numbers that an option was given, with commas between them."""
    return [whole_number(part.strip()) for part in text.split(",")]


def weights(text: str) -> dict[str, float]:
    """Returns the rewards that an option was given: ``wait``, or ``bounded_slowdown=1,wait=0.2``."""
    given = {}
    for part in text.split(","):
        name, equals, weight = part.partition("=")
        given[name.strip()] = number(weight) if equals else 1.0
    return given


def bound(text: str) -> tuple[str, float]:
    """Returns the bound that an option was given: ``mean-wait=1.1``."""
    name, equals, factor = text.partition("=")
    if not equals or name not in BOUNDED:
        raise typer.BadParameter(f"{text!r} is no bound; expected mean-wait=X or utilization=X, as in mean-wait=1.1")
    return BOUNDED[name], number(factor)


TEXT, WHOLE, NUMBER = given_text, whole_number, number
_PART = "The part of each log, as fractions of its jobs, "

FLAGS: Final = (
    Flag(
        "workload", ("data.workload",), TEXT, "FILE",
        "A job log (SWF, CSV or Parquet, also .gz) or a generator to learn from; give it several times for one policy "
        "for several logs.", several=True,
    ),
    Flag(
        "cluster", ("data.cluster",), TEXT, "CLUSTER",
        "A number of cores, a preset or a TOML file; one for each log, in the same order. By default what each log "
        "tells.", several=True,
    ),
    Flag("env", ("environment.kind",), TEXT, "NAME", "What is decided: pick-job (which job next), or pick-host."),
    Flag(
        "init", ("training.init",), TEXT, "FILE|DIR",
        "Where to begin: a policy of 'shunter tune' (.toml), to learn where to depart from it; or a checkpoint.",
    ),
    Flag("steps", ("training.steps",), WHOLE, "N", "How many decisions to train for, over all environments."),
    Flag("seed", ("training.seed",), WHOLE, "N", "For everything random but the choice of windows."),
    Flag(
        "mode", ("environment.mode",), TEXT, "NAME",
        "What a choice does: reserve (EASY's freedom), feasible, committed or committed-backfill.",
    ),
    Flag("order", ("environment.order",), TEXT, "NAME", "The policy that sorts what is chosen from."),
    Flag("window", ("environment.window",), WHOLE, "N", "How many waiting jobs are seen."),
    Flag("lookahead", ("environment.lookahead",), TEXT, "NAME", "Future capacity: off, per_gpu, sorted or cdf."),
    Flag("estimate", ("environment.estimate",), TEXT, "NAME", "The run time that is seen: requested, posterior, ..."),
    Flag(
        "max_wait", ("environment.max_wait_s",), _or_nothing(number), "S",
        "A job that has waited S seconds must be chosen before all others.",
    ),
    Flag("train", ("episodes.part",), TEXT, "A:B", _PART + "that is trained on."),
    Flag("validation", ("validation.part",), TEXT, "A:B", _PART + "on which the best policy is chosen."),
    Flag("report", ("report.part",), TEXT, "A:B", _PART + "on which the result is judged, behind --validation."),
    Flag("windows", ("episodes.windows",), _or_nothing(whole_number), "K", "How many windows of each log to train on."),
    Flag("validation_windows", ("validation.windows",), WHOLE, "K", "How many windows of each log to choose on."),
    Flag("report_windows", ("report.windows",), WHOLE, "K", "How many windows of each log it is judged on."),
    Flag("length", ("episodes.length", "validation.length"), WHOLE, "N", "How many jobs of each window are measured."),
    Flag(
        "report_length", ("report.length",), _or_nothing(whole_number), "N",
        "The same where it is judged; none: as in validation.",
    ),
    Flag(
        "warmup", ("episodes.warmup", "validation.warmup"), WHOLE, "N",
        "How many jobs before each window are simulated too.",
    ),
    Flag(
        "reward", ("reward.reward",), weights, "NAME|A=X,B=Y",
        "What is rewarded: bounded_slowdown, wait, utilization, ... (docs/environments.md), also several with weights. "
        "Policies are compared by the one that weighs most.",
    ),
    Flag("scale", ("reward.scale",), TEXT, "A/B", "Divide rewards by what this policy gets: fcfs/easy, or none."),
    Flag("relative_to", ("reward.relative_to",), TEXT, "A/B", "Subtract what this policy gets: fcfs/easy, or none."),
    Flag(
        "bound", ("reward.bounds",), bound, "NAME=X",
        "What must not become worse: mean-wait or utilization, and how many times that of the classic chosen on "
        "training days. Give it several times for several.", several=True,
    ),
    Flag("network", ("network.kind",), TEXT, "NAME", "kernel, mlp, attention, or (pick-host) hosts."),
    Flag("hidden", ("network.hidden",), whole_numbers, "N,N", "The sizes of its hidden layers."),
    Flag("lr", ("ppo.learning_rate",), NUMBER, "X", "The learning rate."),
    Flag("lr_schedule", ("ppo.lr_schedule",), TEXT, "NAME", "constant, linear, exponential, cosine, warmup-cosine."),
    Flag("lr_warmup_steps", ("ppo.lr_warmup_steps",), WHOLE, "N", "How long the learning rate rises at first."),
    Flag("entropy", ("ppo.entropy",), NUMBER, "X", "The weight of the policy's entropy."),
    Flag("num_envs", ("ppo.num_envs",), WHOLE, "N", "How many environments are played at once."),
    Flag("rollout_steps", ("ppo.rollout_steps",), WHOLE, "N", "How many steps of each are seen between updates."),
    Flag("epochs", ("ppo.epochs",), WHOLE, "N", "How often each update goes through them."),
    Flag("minibatch", ("ppo.minibatch",), WHOLE, "N", "How many samples a gradient is taken from."),
    Flag("gamma", ("ppo.gamma",), NUMBER, "X", "The discount of later rewards."),
    Flag(
        "target_kl", ("ppo.target_kl",), _or_nothing(number), "X", "How far an update may move the policy, or none."
    ),
    Flag("eval_every", ("training.eval_every",), WHOLE, "N", "Steps from one validation to the next."),
    Flag("save_every", ("training.save_every",), WHOLE, "N", "Steps from one save to the next."),
    Flag(
        "patience", ("training.patience",), _or_nothing(whole_number), "N",
        "Stop after so many validations in a row that did not become better, or none.",
    ),
    Flag("threshold", ("training.threshold",), NUMBER, "X", "By how much the objective must fall to count as better."),
    Flag(
        "margin_se", ("training.margin_se",), NUMBER, "X",
        "By how many standard errors a policy must be better than the beginning to be the best; 0: at all.",
    ),
    Flag("threads", ("training.threads",), WHOLE, "N", "How many cores to use."),
    Flag("device", ("training.device",), TEXT, "NAME", "Where the network is: cpu, cuda or auto."),
)  # fmt: skip
"""In the order of the help."""

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        parser=given_text,
        metavar="KEY=VALUE",
        show_default="none",
        help="Any other key of a training file, as in ppo.clip=0.1 or environment.num_hosts=40.",
    ),
]


def takes_changes(verb: Callable[..., None]) -> Callable[..., None]:
    """Returns the verb as Typer is to see it: with an option for each flag in the place of its `Changes`."""
    own = signature(verb, eval_str=True)
    (place,) = (name for name, parameter in own.parameters.items() if parameter.annotation is Changes)

    @wraps(verb)
    def called_by_typer(**given: object) -> None:
        changes = Changes()
        for flag in FLAGS:
            _add(changes, flag, given.pop(flag.name))
        verb(**given, **{place: changes})

    others = [one for one in own.parameters.values() if one.name != place]
    shown = [*(flag.parameter for flag in FLAGS), *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in others)]
    called_by_typer.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]
    return called_by_typer


def _add(changes: Changes, flag: Flag, value: Any) -> None:  # noqa: ANN401 - whatever the flag's parser gave
    if value is None:
        return
    if flag.parse is bound:
        value = dict(value)
    for name in flag.keys:
        section, _, key = name.partition(".")
        changes.put(section, key, value)


def add_settings(changes: Changes, texts: Iterable[str]) -> None:
    """Adds what ``--set`` gave.

    Raises:
        InputError: A key has no section, or there is no value.
    """
    for text in texts:
        name, equals, value = text.partition("=")
        section, dot, key = name.strip().partition(".")
        if not (equals and dot and section and key):
            raise InputError(f"--set is {text!r}; expected section.key=value, as in ppo.clip=0.1")
        changes.put(section, key, _value(value.strip()))


def _value(text: str) -> object:
    """Returns the number, the list, ``true`` or ``false`` that a text is; any other is itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
