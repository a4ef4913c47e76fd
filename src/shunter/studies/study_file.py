"""A study as one file: logs, variants of a training, seeds, and what is searched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any, Final

from shunter.agents.algorithms import ALGORITHMS
from shunter.agents.training.config import ALGORITHM, FILE_KEYS, PRESETS, TrainConfig
from shunter.checks import NOTHING, check_name, declared, from_table
from shunter.errors import InputError
from shunter.files import read_toml
from shunter.studies.search_space import SearchOptions, search_from
from shunter.studies.seeds import check_seeds

TABLES: Final = ("study", "logs", "common", "variants", "grid", "ablation", "search")
STUDIES: Final = Path("studies")
"""Where studies go that are given no folder."""
SEARCHED: Final = "searched"
"""What the variant is called that a search has found."""
DRAWN: Final = "drawn"
"""What stands for a log where jobs are drawn."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9.]+")

Sections = dict[str, dict[str, Any]]
"""What is said of a training, by section and key of a training file."""


@dataclass(frozen=True)
class StudyOptions:
    """The table ``[study]``."""

    name: str
    seeds: int | tuple[int, ...] = declared(3, "How many seeds, or which.")
    steps: int | None = declared(None, "How many decisions each training takes; none: as the preset says.", low=1)
    preset: str | None = declared(None, "What trainings start from.")
    out: str | None = declared(None, "The folder of the study; none: studies/NAME.")


@dataclass(frozen=True)
class LogOptions:
    """What is learned from, as a table."""

    workload: str
    cluster: str | None = None


@dataclass(frozen=True)
class Study:
    """What a study file says."""

    file: Path
    name: str
    out: Path
    preset: str | None
    seeds: tuple[int, ...]
    logs: dict[str, Sections]
    """By name, what each says of a training."""
    variants: dict[str, Sections]
    """By name, all that each says of a training."""
    base: str
    """The variant that the others are held against."""
    search: SearchOptions | None = field(default=None)


def read_study(file: Path, out: Path | None = None) -> Study:
    """Returns what a study file says.

    Args:
        file: A TOML file.
        out: The folder of the study; None: the one that the file names.

    Raises:
        InputError: The file cannot be read, a table or a key is unknown, or a value is wrong.
    """
    tables = read_toml(file)
    where = str(file)
    _check_names(tables, TABLES, "table", f"{where}: ")
    if "study" not in tables:
        raise InputError(f"{where}: has no table [study]; add one with a name")
    options = from_table(StudyOptions, tables["study"], f"{where}: [study]")
    _check_plain(options.name, f"{where}: [study] name")
    if options.preset is not None:
        check_name("preset", options.preset, PRESETS, where=f"{where}: [study] ")
    common = merged(
        {} if options.steps is None else {"training": {"steps": options.steps}},
        _sections(tables.get("common", {}), f"{where}: [common]"),
    )
    variants = dict(_variants(tables, common, where))
    base = _add_ablation(variants, tables.get("ablation"), where)
    variants = {name: _placed(_without_idle(sections, common), file) for name, sections in variants.items()}
    search = None if "search" not in tables else search_from(tables["search"], f"{where}: [search]", list(variants))
    if search is not None:
        _check_options(search.keys, f"{where}: [search.options]")
        if SEARCHED in variants:
            raise InputError(f"{where}: a variant is called {SEARCHED!r}, as what the search finds; call it otherwise")
    return Study(
        file,
        options.name,
        out or Path(options.out or STUDIES / options.name),
        options.preset,
        tuple(check_seeds(options.seeds, f"{where}: [study] seeds")),
        _logs(tables.get("logs", {}), file),
        variants,
        base,
        search,
    )


def merged(*layers: Mapping[str, Mapping[str, Any]]) -> Sections:
    """Returns sections laid over each other, the last on top."""
    result: Sections = {}
    for layer in layers:
        for section, table in layer.items():
            result[section] = {**result.get(section, {}), **table}
    return result


def _variants(tables: Mapping[str, Any], common: Sections, where: str) -> Iterator[tuple[str, Sections]]:
    """Yields the variants: each of those that are named, at each place of the grid."""
    named = _table(tables.get("variants", {}), f"{where}: [variants]")
    grid = _sections(tables.get("grid", {}), f"{where}: [grid]")
    axes = []
    for section, keys in grid.items():
        for key, values in keys.items():
            if not isinstance(values, list) or not values:
                raise InputError(f"{where}: [grid] {section}.{key} is {values!r}; expected a list of values")
            axes.append([(section, key, value) for value in values])
    for name in named:
        _check_plain(name, f"{where}: the name of [variants.{name}]")
    taken: set[str] = set()
    for name, place in product(named or [""], product(*axes)):
        own = _sections(named[name], f"{where}: [variants.{name}]") if name else {}
        words = [name] * bool(name) + [_word(value) for _, _, value in place]
        called = "-".join(words) or "default"
        if called in taken:
            raise InputError(f"{where}: two variants are called {called!r}; name them in [variants]")
        taken.add(called)
        yield called, merged(common, own, *({section: {key: value}} for section, key, value in place))


def _without_idle(sections: Sections, common: Sections) -> Sections:
    """Returns sections without what all variants share for other algorithms; a variant's own word on them stays."""
    learner = sections.get("training", {}).get(ALGORITHM, TrainConfig().training.algorithm)
    return {
        name: table
        for name, table in sections.items()
        if name == learner or name not in ALGORITHMS or table != common.get(name)
    }


def _word(value: object) -> str:
    """Returns how names call a value of the grid: ``64x64`` for a list."""
    text = "x".join(str(each) for each in value) if isinstance(value, list) else str(value)
    return _NOT_IN_NAMES.sub("-", text).strip("-") or "none"


def _add_ablation(variants: dict[str, Sections], table: object, where: str) -> str:
    """Adds the variants of an ablation; returns which variant the others are held against."""
    if table is None:
        return next(iter(variants))
    given = dict(_table(table, f"{where}: [ablation]"))
    base = given.pop("base", next(iter(variants)))
    check_name("variant", str(base), variants, where=f"{where}: [ablation] base: ")
    for name, change in given.items():
        here = f"{where}: [ablation.{name}]"
        _check_plain(name, f"the name of {here}")
        if name in variants:
            raise InputError(f"{here}: a variant has this name already; call it otherwise")
        variants[name] = merged(variants[base], _sections(change, here))
    return str(base)


def _sections(given: object, where: str) -> Sections:
    """Returns sections of a training file, having checked the names of sections and keys."""
    sections = {}
    for section, table in _table(given, where).items():
        sections[section] = dict(_table(table, f"{where} {section}"))
    _check_options({section: list(table) for section, table in sections.items()}, where)
    return sections


def _check_options(keys: Mapping[str, list[str]], where: str) -> None:
    """Raises an error for a section or a key that no training file has."""
    known = {one.name: one for one in fields(TrainConfig) if one.name != ALGORITHM}
    for section, names in keys.items():
        check_name("section", section, [*known, *ALGORITHMS], where=f"{where} ")
        # What an environment has depends on its kind, which another table may say: it is checked with all of them.
        if section == "environment":
            continue
        kind = ALGORITHMS[section].options if section in ALGORITHMS else type(getattr(TrainConfig(), section))
        _check_names(names, [one.name for one in fields(kind)], "key", f"{where} {section}: ")


def _logs(given: object, file: Path) -> dict[str, Sections]:
    where = f"{file}: [logs]"
    logs: dict[str, Sections] = {}
    for name, value in _table(given, where).items():
        _check_plain(name, f"{where} the name {name!r}")
        table = {"workload": value} if isinstance(value, str) else value
        log = from_table(LogOptions, table, f"{file}: [logs.{name}]")
        cluster = {} if log.cluster is None else {"cluster": [_beside(log.cluster, file)]}
        logs[name] = {"data": {"workload": [_beside(log.workload, file)], **cluster}}
    return logs or {DRAWN: {}}


def _placed(sections: Sections, file: Path) -> Sections:
    """Returns sections in which what lies beside the study file has its path."""
    placed = merged(sections)
    for section, key in FILE_KEYS:
        value = placed.get(section, {}).get(key)
        if isinstance(value, str) and value != NOTHING:
            placed[section][key] = _beside(value, file)
    return placed


def _beside(name: str, file: Path) -> str:
    """Returns the path of a file that lies beside the study file; any other name stays."""
    path = file.parent / name
    return str(path) if path.exists() else name


def _table(given: object, where: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"{where} is {given!r}; expected a table of keys and values")
    return given


def _check_names(
    given: Mapping[str, Any] | list[str], known: tuple[str, ...] | list[str], kind: str, where: str
) -> None:
    for name in given:
        check_name(kind, name, known, where=where)


def _check_plain(name: str, where: str) -> None:
    """Raises an error for a name that is not that of a folder everywhere."""
    if not _NAME.fullmatch(name):
        raise InputError(f"{where} is {name!r}; expected letters, digits, dots, hyphens and underscores")
