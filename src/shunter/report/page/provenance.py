"""What a report rests on: commands, versions, seeds and hashes, from the manifests that folders hold."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from shunter.report.page.parts import Commands, Details, Part, Section, Table

NOT_OPTIONS: Final = ("workload", "checkpoints", "force", "json")
NAMES: Final = {"columns": "map"}
"""Options whose names differ from those of their parameters."""
HASHES: Final = {
    "workload.sha256": "log, as read",
    "cluster.sha256": "cluster",
    "schedule_sha256": "schedule",
    "workload_sha256": "log, as read",
    "cluster_sha256": "cluster",
}
"""By their place in a manifest, or in a result."""


def provenance_section(manifests: Mapping[str, Mapping[str, Any]], commands: Sequence[str] = ()) -> Section:
    """Returns what was run, on what, and by which versions, so that anybody can do it again.

    Args:
        manifests: By what each is of, such as the name of its folder. Anything with some of the keys of a manifest will
            do: ``shunter``, ``created``, ``seed``, ``python``, ``platform``, ``packages``, hashes.
        commands: What was run, as one types it.
    """
    parts: list[Part] = []
    if commands:
        parts.append(Commands(tuple(commands), "What was run"))
    parts += [_facts_table(name, manifest) for name, manifest in manifests.items()]
    parts += [
        Details(f"Every setting of {name}", (_settings_table(manifest),))
        for name, manifest in manifests.items()
        if _resolved(manifest)
    ]
    lead = "The same inputs, settings and seed give the same result to the last digit, on any machine."
    return Section("provenance", "How to repeat it", lead, tuple(parts))


def command_of(verb: str, manifest: Mapping[str, Any]) -> str:
    """Returns the command line that wrote a folder, as its manifest tells it.

    Args:
        verb: Such as ``simulate``.
        manifest: With the options that the user gave.
    """
    given = manifest.get("arguments", {}).get("given", {})
    return shlex.join(["shunter", verb, *_words(given)])


def _words(given: Mapping[str, Any]) -> Iterator[str]:
    for name in ("checkpoints", "workload"):
        value = given.get(name)
        if value is not None:
            yield from map(str, value) if isinstance(value, list) else [str(value)]
    for name, value in given.items():
        if name in NOT_OPTIONS or value is False or value is None:
            continue
        option = f"--{NAMES.get(name, name).replace('_', '-')}"
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        yield from [option] if value is True else [option, text]


def _facts_table(name: str, manifest: Mapping[str, Any]) -> Table:
    rows = [(words, str(manifest[key])) for key, words in _FACTS if manifest.get(key) is not None]
    for key, words in (("workload", "log"), ("cluster", "cluster")):
        about = manifest.get(key)
        if isinstance(about, Mapping):
            rows.append((words, str(about.get("path") or about.get("spec") or about.get("name"))))
        elif about is not None:
            rows.append((words, str(about)))
    rows += [(f"package {package}", str(version)) for package, version in dict(manifest.get("packages") or {}).items()]
    rows += [(f"SHA-256 of the {words}", value) for words, value in _hashes(manifest)]
    return Table(("", name), tuple(rows), f"What {name} rests on", shown=20, right=())


_FACTS: Final = (
    ("shunter", "Shunter"),
    ("version", "Shunter"),
    ("created", "written"),
    ("seed", "seed"),
    ("python", "Python"),
    ("platform", "platform"),
)


def _hashes(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for place, words in HASHES.items():
        value: Any = manifest
        for key in place.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, str):
            yield words, value


def _resolved(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments = manifest.get("arguments") or {}
    found = arguments.get("resolved", arguments)
    return found if isinstance(found, Mapping) else {}


def _settings_table(manifest: Mapping[str, Any]) -> Table:
    rows = tuple((name, "none" if value is None else str(value)) for name, value in _resolved(manifest).items())
    return Table(("setting", "value"), rows, "Given, or what stood in for what was not", shown=100, right=())
