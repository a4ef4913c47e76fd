"""A whole training as one file: ``config.toml``, presets, and what the command line changes in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

from shunter.agents.options import DataOptions, NetworkOptions, PpoOptions, ReportOptions, TrainingOptions
from shunter.agents.tables import from_table, to_table, toml_text
from shunter.checks import check_name
from shunter.envs.layout import PICK_HOST, PICK_JOB
from shunter.envs.options import PARTS, EpisodeOptions, PickHostOptions, PickJobOptions, RewardOptions
from shunter.errors import InputError
from shunter.policies.specs import read_toml, spec_file

EnvironmentOptions = PickJobOptions | PickHostOptions

ENVIRONMENTS: Final[dict[str, type[PickJobOptions] | type[PickHostOptions]]] = {
    PICK_JOB: PickJobOptions,
    PICK_HOST: PickHostOptions,
}
"""What ``[environment] kind`` may be, and what its other keys are."""
PRESETS: Final = ("pick-job", "pick-job-committed", "pick-host", "quick")
FILE_KEYS: Final = (("training", "init"), ("environment", "order"), ("environment", "estimate"))
"""The keys, with their sections, that may name TOML files."""

Sections = Mapping[str, Mapping[str, Any]]


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
    ppo: PpoOptions = field(default_factory=PpoOptions)
    training: TrainingOptions = field(default_factory=TrainingOptions)

    @property
    def kind(self) -> str:
        """`PICK_JOB` or `PICK_HOST`."""
        return self.environment.layout.kind

    @property
    def report_episodes(self) -> EpisodeOptions:
        """The episodes that the result is judged on."""
        own = self.report
        length = self.validation.length if own.length is None else own.length
        return replace(self.validation, part=own.bounds, windows=own.windows, length=length)

    def to_toml(self, folder: Path | None = None) -> str:
        """Returns the file; `load_config` reads the same again.

        Args:
            folder: Where it will stand: files in the same folder are named without it, so that it can be moved.
        """
        sections = self.sections()
        for name, key in FILE_KEYS:
            value = sections[name].get(key)
            if folder is not None and value is not None and Path(value) == folder / Path(value).name:
                sections[name][key] = Path(value).name
        return toml_text(sections)

    def sections(self) -> dict[str, dict[str, Any]]:
        """Returns the sections of the file."""
        sections = {one.name: to_table(getattr(self, one.name)) for one in fields(self)}
        sections["environment"] = environment_table(self.environment)
        return sections


def environment_table(options: EnvironmentOptions) -> dict[str, Any]:
    """Returns the section of an environment; `environment_from` reads the same again."""
    return {"kind": options.layout.kind, **to_table(options)}


def environment_from(table: object, where: str) -> EnvironmentOptions:
    """Returns what an environment is to be.

    Raises:
        InputError: A key is unknown, or a value is wrong.
    """
    if not isinstance(table, Mapping):
        raise InputError(f"{where} is {table!r}; expected a table of keys and values")
    kind = table.get("kind", PICK_JOB)
    if not isinstance(kind, str) or kind not in ENVIRONMENTS:
        raise InputError(f"{where}: kind is {kind!r}; expected one of {', '.join(ENVIRONMENTS)}")
    return from_table(ENVIRONMENTS[kind], {key: value for key, value in table.items() if key != "kind"}, where)


def config_from(sections: Mapping[str, Any], where: str) -> TrainConfig:
    """Returns the training that sections describe; what they leave out is as `TrainConfig` has it.

    Args:
        sections: By name, a table each.
        where: Begins every error: the file.

    Raises:
        InputError: A section or a key is unknown, or a value is wrong.
    """
    defaults = TrainConfig()
    made: dict[str, Any] = {}
    for name, table in sections.items():
        try:
            check_name("section", name, [one.name for one in fields(TrainConfig)])
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        place = f"{where}: [{name}]"
        if name == "environment":
            made[name] = environment_from(table, place)
        else:
            made[name] = from_table(type(getattr(defaults, name)), _over(defaults, name, table), place)
    config = TrainConfig(**made)
    try:
        config.ppo.schedules(config.training.steps)
    except InputError as error:
        raise InputError(f"{where}: [ppo]: {error}") from None
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
        beginning: From `shunter.agents.beginnings.beginning_changes`.

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
    layers.append(("options", changes or {}))
    sections: dict[str, Any] = {}
    config = TrainConfig()
    for where, layer in layers:
        sections = _laid_over(sections, layer, where)
        # Each layer is read by itself, so that an error names the layer that it is in.
        config = config_from(sections, where)
    return config


def file_sections(path: Path) -> dict[str, Any]:
    """Returns what a training file says; a TOML file that it names and that lies beside it has its path.

    Raises:
        InputError: The file cannot be read.
    """
    sections = read_toml(path)
    for name, key in FILE_KEYS:
        section = sections.get(name)
        value = section.get(key) if isinstance(section, dict) else None
        if isinstance(value, str) and spec_file(value) is not None and (path.parent / value).is_file():
            sections[name][key] = str(path.parent / value)
    return sections


def preset_sections(name: str) -> dict[str, Any]:
    """Returns what a preset says."""
    check_name("preset", name, PRESETS)
    with as_file(files("shunter.agents") / "presets" / f"{name}.toml") as path:
        return read_toml(path)


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
