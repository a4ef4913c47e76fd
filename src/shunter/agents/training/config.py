"""A whole training as one file: ``config.toml``, presets, and what the command line changes in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.agents.algorithms import ALGORITHMS, AlgorithmOptions, PpoOptions
from shunter.agents.networks import NetworkOptions
from shunter.checks import RANGE, check_fields, check_name, declared, from_table, to_table
from shunter.comparison.contest import Contest
from shunter.envs.episodes import PARTS, EpisodeOptions
from shunter.envs.kinds import environment_from, environment_table
from shunter.envs.pick_job import PickJobOptions
from shunter.envs.rewards import RewardOptions
from shunter.envs.sources import EnvironmentOptions
from shunter.errors import InputError
from shunter.files import read_toml, toml_value
from shunter.model.windows import MOST_COUNT, check_numbers, parse_part, part_of_jobs
from shunter.policies.catalog import CHOOSING_JOBS, PICK_JOB
from shunter.policies.native import spec_file
from shunter.policies.trust import words_of_a_file

if TYPE_CHECKING:
    from shunter.model.log import Log

PRESETS: Final = ("pick-job", "pick-job-committed", "pick-job-and-type", "pick-host", "quick")
FILE_KEYS: Final = (("training", "init"), ("environment", "order"), ("environment", "estimate"))
"""The keys, with their sections, that may name TOML files."""
OPTIONS: Final = "options"
"""What errors call what the user says beside a file."""
ALGORITHM: Final = "algorithm"
"""The field of `TrainConfig` whose section has the name of the algorithm."""
DEVICES: Final = ("cpu", "cuda", "auto")
ENGINES: Final = ("auto", "native", "torch")
GEOMETRIC, MEANS = "geometric", "means"

_MOST: Final = 10**12

Sections = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class DataOptions:
    """What is learned from; where there is nothing, pick-host draws its own jobs and hosts."""

    workload: tuple[str, ...] = declared(
        (),
        "A job log (SWF, CSV or Parquet, also .gz) or a generator to learn from. Give it several times to learn one "
        "policy for several logs.",
        option="workload",
        metavar="FILE",
        shown_default="none: pick-host draws its own jobs",
    )
    cluster: tuple[str, ...] = declared(
        (),
        "A number of cores, a preset or a TOML file; one for each log, in the same order.",
        option="cluster",
        metavar="CLUSTER",
        shown_default="the cluster that each log describes",
    )


@dataclass(frozen=True)
class TrainingOptions:
    """How long to train, and what to do on the way."""

    algorithm: str = declared(
        "ppo",
        "The algorithm that learns.",
        choices=ALGORITHMS,
        option="algorithm",
        metavar="NAME",
    )
    steps: int = declared(
        2_000_000,
        "How many decisions to train for, over all environments.",
        low=1,
        high=_MOST,
        option="steps",
        metavar="N",
    )
    seed: int = declared(
        0,
        "The seed of everything random except the choice of windows.",
        low=0,
        high=2**63 - 1,
        option="seed",
        metavar="N",
    )
    eval_every: int = declared(
        200_000, "How many steps lie between two validations.", low=1, high=_MOST, option="eval-every", metavar="N"
    )
    save_every: int = declared(
        200_000, "How many steps lie between two saves.", low=1, high=_MOST, option="save-every", metavar="N"
    )
    patience: int | None = declared(
        None,
        "Stop after this many validations in a row without improvement. none: never.",
        low=1,
        high=_MOST,
        option="patience",
        metavar="N",
    )
    threshold: float = declared(
        0.0,
        "How much the validation cost must fall to count as an improvement for --patience.",
        low=0.0,
        option="threshold",
        metavar="X",
    )
    margin_se: float = declared(
        1.0,
        "A later policy replaces the initial one as the best if it is better by more than this many standard errors. "
        "0: if it is better at all.",
        low=0.0,
        option="margin-se",
        metavar="X",
    )
    decide_windows: int = declared(
        256,
        "Up to how many windows of each log are looked at where --validation-windows do not tell whether a policy is "
        "better than the best so far. Generators draw them with other seeds.",
        low=1,
        high=MOST_COUNT,
        option="decide-windows",
        metavar="K",
    )
    judge_by: str = declared(
        GEOMETRIC,
        "Which means of two policies are compared on validation: geometric ones, in which every window counts the "
        "same, or plain ones, in which windows count by what is at stake in them.",
        choices=(GEOMETRIC, MEANS),
        option="judge-by",
        metavar="NAME",
    )
    device: str = declared("cpu", "Where the network computes.", choices=DEVICES, option="device", metavar="NAME")
    engine: str = declared(
        "auto",
        "What computes: the core (native), or PyTorch (torch), which is slower. auto: the core, unless the network, a "
        "feature or a reward is your own, or --device is not cpu.",
        choices=ENGINES,
        option="engine",
        metavar="NAME",
    )
    threads: int = declared(1, "How many cores to use.", low=1, high=1024, option="threads", metavar="N")
    init: str | None = declared(
        None,
        "Where to begin: a policy file of 'shunter tune' (.toml), to learn where to depart from it; or a checkpoint or "
        "run folder, to go on from its weights.",
        option="init",
        metavar="FILE|DIR",
    )

    imitate: str | None = declared(
        None,
        "Learn first to do what a classic does on the training days, as in saf/easy; or what the site did (log): the "
        "starts that the log has recorded.",
        option="imitate",
        metavar="POLICY|log",
    )
    imitate_steps: int = declared(
        100_000, "For how many decisions.", low=1, high=_MOST, option="imitate-steps", metavar="N"
    )
    imitate_mix: float = declared(
        0.0,
        "Which part of these decisions it takes itself at the end; it grows from 0 (DAgger). 0: it only watches.",
        low=0.0,
        high=1.0,
        option="imitate-mix",
        metavar="X",
    )

    def __post_init__(self) -> None:
        check_fields(self, "[training] ")
        if self.imitate is None and self.imitate_mix:
            raise InputError("[training] imitate_mix means nothing without imitate; say whom, as in imitate = saf/easy")


@dataclass(frozen=True)
class ReportOptions:
    """On which episodes the result is judged; what is not said here is as in validation."""

    part: tuple[float, float] | str = declared(
        PARTS["report"],
        "The part of each log that the result is judged on, as fractions of its jobs; it lies behind --validation.",
        option="report",
        metavar=RANGE,
    )
    windows: int = declared(
        Contest.windows,
        "How many windows of each log the result is judged on.",
        low=1,
        high=MOST_COUNT,
        option="report-windows",
        metavar="K",
    )
    length: int | None = declared(
        None,
        "How many jobs of each of these windows are measured.",
        low=1,
        high=MOST_COUNT,
        option="report-length",
        metavar="N",
        shown_default=f"{Contest.length}, as in evaluate; where a log has no room for that, as in validation",
    )

    def __post_init__(self) -> None:
        part = parse_part(self.part, "[report] part") if isinstance(self.part, str) else self.part
        object.__setattr__(self, "part", tuple(part))
        check_fields(self, "[report] ")
        check_numbers(count=self.windows, length=self.length or 1, blocks=None, part=self.bounds, warmup=0)

    @property
    def bounds(self) -> tuple[float, float]:
        """The part of each log as two fractions."""
        assert isinstance(self.part, tuple)
        return self.part


def _validation() -> EpisodeOptions:
    # The best policy is chosen here: every window more makes the choice less a matter of luck.
    return EpisodeOptions(part=PARTS["validation"], windows=64, length=256)


@dataclass(frozen=True)
class TrainConfig:
    """Everything that a training depends on; each field is a section of the file."""

    data: DataOptions = field(default_factory=DataOptions)
    environment: EnvironmentOptions = field(default_factory=PickJobOptions)
    episodes: EpisodeOptions = field(default_factory=EpisodeOptions)
    """Those that are trained on."""
    validation: EpisodeOptions = field(default_factory=_validation)
    """Those that the best policy is chosen on."""
    report: ReportOptions = field(default_factory=ReportOptions)
    """Those that the result is judged on."""
    reward: RewardOptions = field(default_factory=RewardOptions)
    network: NetworkOptions = field(default_factory=NetworkOptions)
    algorithm: AlgorithmOptions = field(default_factory=PpoOptions)
    """Of the algorithm that ``[training] algorithm`` names; its section has the same name."""
    training: TrainingOptions = field(default_factory=TrainingOptions)

    @property
    def kind(self) -> str:
        """One of `ENVIRONMENTS`."""
        return self.environment.layout.kind

    def report_episodes(self, logs: Sequence[Log]) -> EpisodeOptions:
        """Returns the episodes that the result is judged on: the windows of ``shunter evaluate``, where there is room.

        Args:
            logs: What is learned from; none where jobs are drawn.
        """
        own = self.report
        usual = replace(self.validation, part=own.bounds, windows=own.windows, length=own.length or Contest.length)
        places = [part_of_jobs(len(log.workload), usual.bounds, usual.warmup) for log in logs]
        if own.length is None and any(high - low < usual.length for low, high in places):
            return replace(usual, length=self.validation.length)
        return usual

    def to_toml(self, folder: Path | None = None) -> str:
        """Returns the file; `load_config` reads the same again.

        Args:
            folder: Where it will stand: files in it are named from there, so that it can be moved.
        """
        sections = self.sections()
        for name, key in FILE_KEYS:
            path = spec_file(str(sections[name].get(key)))
            if folder is not None and path is not None and path.is_relative_to(folder):
                sections[name][key] = path.relative_to(folder).as_posix()
        return toml_text(sections)

    def sections(self) -> dict[str, dict[str, Any]]:
        """Returns the sections of the file."""
        names = {one.name: one.name for one in fields(self)} | {ALGORITHM: self.training.algorithm}
        sections = {name: to_table(getattr(self, attribute)) for attribute, name in names.items()}
        sections["environment"] = environment_table(self.environment)
        return sections


def config_from(sections: Mapping[str, Any], where: str) -> TrainConfig:
    """Returns the training that sections describe; what they leave out is as `TrainConfig` has it.

    Args:
        sections: By name, a table each.
        where: Begins every error: the file.

    Raises:
        InputError: A section or a key is unknown, or a value is wrong.
    """
    defaults = TrainConfig()
    fixed = [one.name for one in fields(TrainConfig) if one.name != ALGORITHM]
    made: dict[str, Any] = {}
    for name, table in sections.items():
        try:
            check_name("section", name, [*fixed, *ALGORITHMS])
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        place = f"{where}: [{name}]"
        if name == "environment":
            made[name] = environment_from(table, place)
        elif name in ALGORITHMS:
            made[name] = from_table(ALGORITHMS[name].options, table, place)
        else:
            # Validation has other defaults than training, though both are of one class.
            made[name] = from_table(type(getattr(defaults, name)), _over(defaults, name, table), place)
    # A file may have sections of several algorithms; the one that is trained with counts.
    own = {name: made.pop(name) for name in ALGORITHMS if name in made}
    learner = made.get("training", defaults.training).algorithm
    config = TrainConfig(**made, algorithm=own.get(learner) or ALGORITHMS[learner].options())
    try:
        # Whether a schedule has a meaning depends on two sections.
        config.algorithm.schedules(config.training.steps)
    except InputError as error:
        raise InputError(f"{where}: [{learner}]: {error}") from None
    return config


def _over(defaults: TrainConfig, name: str, table: object) -> object:
    """Returns a table laid over the section's defaults, which need not be those of its class."""
    return {**to_table(getattr(defaults, name)), **table} if isinstance(table, Mapping) else table


def load_config(
    path: Path | None = None,
    preset: str | None = None,
    changes: Sections | None = None,
    beginning: Sections | None = None,
) -> TrainConfig:
    """Returns a training: a preset, over it what the beginning brings, over it a file, and changes over all.

    Args:
        path: A TOML file.
        preset: One of `PRESETS`; None: the defaults.
        changes: What the command line says, by section and key; a value of None says nothing.
        beginning: From `shunter.agents.training.beginnings.beginning_changes`.

    Raises:
        InputError: The preset is unknown, the file cannot be read, a key is unknown, or a value is wrong.
    """
    layers: list[tuple[str, Mapping[str, Any]]] = []
    if preset is not None:
        layers.append((f"preset {preset}", preset_sections(preset)))
    if beginning:
        layers.append(("--init", beginning))
    if path is not None:
        layers.append((str(path), file_sections(path)))
    layers.append((OPTIONS, changes or {}))
    learner = _algorithm(layers)
    if learner is not None:
        layers.insert(0 if preset is None else 1, (f"algorithm {learner}", _brought(learner, layers)))
    sections: dict[str, Any] = {}
    config = TrainConfig()
    for where, layer in layers:
        sections = _laid_over(sections, layer, where)
        # Each layer is read by itself, so that an error names the layer that it is in.
        with nullcontext() if where == OPTIONS else words_of_a_file():
            config = config_from(sections, where)
    check_options_of(config.training.algorithm, changes or {})
    return config


def _algorithm(layers: Sequence[tuple[str, Mapping[str, Any]]]) -> str | None:
    """Returns the algorithm that the last layer to name one names, if there is such an algorithm."""
    tables = [layer.get("training") for _, layer in layers]
    named = [table.get(ALGORITHM) for table in tables if isinstance(table, Mapping)]
    given = [name for name in named if name is not None]
    return given[-1] if given and given[-1] in ALGORITHMS else None


def check_options_of(learner: str, changes: Sections) -> None:
    """Raises an error if options are given that another algorithm has, and this one has not."""
    own = {one.name for one in fields(ALGORITHMS[learner].options)}
    for name, table in changes.items():
        strange = [key for key in table if key not in own] if name in ALGORITHMS and name != learner else []
        if strange:
            raise InputError(
                f"[{name}] {strange[0]} means nothing to {learner}; take --algorithm {name}, or leave it out"
            )


def _brought(learner: str, layers: Sequence[tuple[str, Mapping[str, Any]]]) -> Sections:
    """Returns what an algorithm brings; a window means nothing where hosts are chosen."""
    brought = ALGORITHMS[learner].brings
    kinds = [_kind(layer) for _, layer in layers if "kind" in layer.get("environment", {})]
    is_host = bool(kinds) and kinds[-1] not in CHOOSING_JOBS
    return {name: table for name, table in brought.items() if not (is_host and name == "environment")}


def file_sections(path: Path) -> dict[str, Any]:
    """Returns what a training file says; a TOML file that it names and that lies beside or below it has its path.

    Raises:
        InputError: The file cannot be read.
    """
    sections = read_toml(path)
    for name, key in FILE_KEYS:
        section = sections.get(name)
        value = section.get(key) if isinstance(section, dict) else None
        # A run's folder can be moved: its config.toml names the copies in it without a path.
        if isinstance(value, str) and spec_file(value) is not None and (path.parent / value).is_file():
            sections[name][key] = str(path.parent / value)
    return sections


def preset_sections(name: str) -> dict[str, Any]:
    """Returns what a preset says."""
    check_name("preset", name, PRESETS)
    with as_file(files("shunter.agents") / "presets" / f"{name}.toml") as path:
        return read_toml(path)


def toml_text(sections: Sections) -> str:
    """Returns a TOML file of these sections; reading it gives the same numbers again."""
    parts = []
    for name, section in sections.items():
        lines = [f"{key} = {toml_value(value)}\n" for key, value in section.items()]
        parts.append(f"[{name}]\n" + "".join(lines))
    return "\n".join(parts)


def _laid_over(sections: Mapping[str, Any], layer: Mapping[str, Any], where: str) -> dict[str, Any]:
    result = dict(sections)
    for name, table in layer.items():
        if not isinstance(table, Mapping):
            raise InputError(f"{where}: {name} is {table!r}; expected a section [{name}]")
        # Keys of one kind of environment mean nothing to the other.
        is_other = name == "environment" and table.get("kind", _kind(result)) != _kind(result)
        given = {key: value for key, value in table.items() if value is not None}
        result[name] = given if is_other else {**result.get(name, {}), **given}
    return result


def _kind(sections: Mapping[str, Any]) -> object:
    return sections.get("environment", {}).get("kind", PICK_JOB)
