"""Files of a site in a folder, and what is read of them."""

from __future__ import annotations

from pathlib import Path

from shunter.workloads.machines import FoundSite, detect_machines, read_site
from shunter.workloads.text.source import open_source


def write_files(folder: Path, **texts: str) -> list[Path]:
    """Writes a file for each text, called like it with dots for underscores."""
    paths = []
    for name, text in texts.items():
        path = folder / name.replace("_", ".")
        path.write_text(text)
        paths.append(path)
    return paths


def read_files(folder: Path, **texts: str) -> FoundSite:
    """Returns what the files tell; each must be strictly sound."""
    return read_site(write_files(folder, **texts), strict=True)


def detected(folder: Path, text: str) -> str | None:
    """Returns what a file with this text is taken for."""
    return detect_machines(open_source(write_files(folder, list=text)[0]))


def left(found: FoundSite) -> dict[str, str]:
    """Returns why each key was left out, with the first place and value."""
    return {one.key: f"{one.file}:{one.line} {one.value}: {one.why}" for one in found.left}
