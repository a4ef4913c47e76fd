"""A policy or placement of one's own from a file: ``my_policy.py``, or ``my_policy.py:ClassName``."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from shunter.errors import InputError
from shunter.policies.checkpoint_path import checkpoint_file

if TYPE_CHECKING:
    from shunter.policies.own import Policy

Own = TypeVar("Own")

_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<name>\w+))?")


def policy_path(spec: str) -> Path | None:
    """Returns the file that a policy's name points to: one in Python, or a checkpoint's; None if it is neither."""
    return python_path(spec) or checkpoint_file(spec)


def python_path(spec: str) -> Path | None:
    """Returns the file in Python that a policy's name points to; None if the name is not that of one."""
    match = _FILE.fullmatch(spec)
    return Path(match["path"]) if match else None


def check_policy_file(spec: str, what: str = "policy") -> Path:
    """Returns the file in Python that a policy's name points to (or another's), or raises an error if there is none."""
    path = python_path(spec)
    if path is None or not path.is_file():
        raise InputError(f"{what} {spec!r}: there is no such file; expected FILE.py or FILE.py:CLASS")
    return path


def class_name(spec: str) -> str | None:
    """Returns the class that a policy's name asks for behind the file; None if it names none."""
    match = _FILE.fullmatch(spec)
    return match["name"] if match else None


def load_policy(spec: str) -> Policy:
    """Returns the policy that a file defines; the file is run, as a script of yours would be.

    Raises:
        InputError: There is no such file, it fails, or it does not define just the policy asked for.
    """
    from shunter.policies.own import Policy

    return load_own(spec, Policy, "policy", "policies")  # type: ignore[type-abstract]


def load_own(spec: str, base: type[Own], what: str, plural: str) -> Own:
    """Returns an object of the class that a file derives from one of ours; the file is run.

    Args:
        spec: The file, with the class behind a colon if it has several.
        base: The class that it has to be derived from.
        what: What errors call such an object.
        plural: What errors call several of them.

    Raises:
        InputError: There is no such file, it fails, or it does not define just the class asked for.
    """
    path = check_policy_file(spec, what)
    module = _run(path, what)
    classes = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.__name__
    }
    name = class_name(spec)
    if name and name not in classes:
        raise InputError(f"{path}: has no {what} {name!r}; it has: {', '.join(classes) or 'none'}")
    if not name and len(classes) != 1:
        first = next(iter(classes), None)
        remedy = f"name one: {path}:{first}" if first else f"derive one from shunter.{base.__name__}"
        raise InputError(f"{path}: defines {len(classes)} {plural} ({', '.join(classes) or 'none'}); {remedy}")
    try:
        return classes[name or next(iter(classes))]()
    except TypeError as error:
        raise InputError(f"{path}: the {what} cannot be made without arguments: {error}") from error


def _run(path: Path, what: str) -> ModuleType:
    name = f"shunter_{what}_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: cannot be imported as Python")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"{path}: fails when it is run: {type(error).__name__}: {error}") from error
    return module
