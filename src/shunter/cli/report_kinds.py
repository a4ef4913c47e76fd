"""The kinds of folders that ``shunter report`` makes pages of, also those of layers above the report's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shunter.advice.kept import STAGES
from shunter.advice.page import advice_page
from shunter.errors import InputError
from shunter.execution.operating.audit import audit_lines
from shunter.execution.operating.folder import OperationFolder
from shunter.report.page.folders import KINDS, Kind, read_object
from shunter.report.page.operations import operation_page
from shunter.report.page.parts import Page


def kinds() -> tuple[Kind, ...]:
    """Returns every kind there is."""
    operation = Kind("an operation", "operate (its folder, or audit.jsonl)", _is_operation, _operation)
    return (Kind("an advice", "advise", _is_advice, _advice), *KINDS, operation)


def _is_advice(path: Path) -> bool:
    return (path / f"{STAGES[-1]}.json").is_file()


def _advice(paths: Sequence[Path], anonymous: bool) -> Page:
    return advice_page(paths[0], anonymous)


def _is_operation(path: Path) -> bool:
    folder = OperationFolder(path)
    return path.name.startswith(folder.audit.name) or folder.audit.is_file() or folder.status.is_file()


def _operation(paths: Sequence[Path], anonymous: bool) -> Page:
    (path,) = paths
    if anonymous:
        raise InputError(f"{path}: the page of an operation names no users; leave --anonymous out")
    folder = OperationFolder(path if path.is_dir() else path.parent)
    audit = folder.audit if path.is_dir() else path
    status = read_object(folder.status) if folder.status.is_file() else {}
    return operation_page(folder.path.resolve().name, audit_lines(audit) if audit.is_file() else (), status)
