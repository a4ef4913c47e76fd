"""Policies and placements of the user's own, written in Python.

A policy gives a score for each waiting job. It is handed over as an object, or as the file that defines it:
``my_policy.py``, or ``my_policy.py:ClassName``.
"""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, TypeVar

from shunter.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Own = TypeVar("Own")

_FILE: Final = re.compile(r"(?P<path>.+\.py)(?::(?P<name>\w+))?")


@dataclass(frozen=True)
class QueueView:
    """What a policy may see of some jobs at one instant; one value a job in each array."""

    now_s: float
    """The clock, in the log's absolute seconds."""
    free_cores: float
    """Cores that are free now, on all nodes together."""
    total_cores: float
    index: NDArray[np.uint32]
    """Each job's place in the workload."""
    submit_s: NDArray[np.float64]
    estimate_s: NDArray[np.float64]
    """The run time that the chosen estimate tells. It is the true one only if the estimate is `perfect`, or where the
    log has no request and the run time stands in for it (the default, counted in the ledger)."""
    requested_s: NDArray[np.float64]
    """What the user asked for; NaN where the log does not say."""
    tasks: NDArray[np.int64]
    cores: NDArray[np.float64]
    """Over all tasks."""
    memory_mb: NDArray[np.float64]
    """Over all tasks; NaN where the log does not say."""
    gpus: NDArray[np.float64]
    """Over all tasks."""
    priority: NDArray[np.float64]
    """NaN where the log does not say."""
    user: NDArray[np.int64]
    """A number for each user; −1 where the log does not say."""

    @property
    def wait_s(self) -> NDArray[np.float64]:
        """How long each job has waited."""
        return self.now_s - self.submit_s


class Policy(ABC):
    """Orders the queue by a score: the lowest goes first, equal scores go by submit time.

    The core keeps everything else: the dispatch rule, the placement, the starvation guard. So what a policy
    is compared by is its order alone. Derive from this class and write `score`.
    """

    name = "own"
    """What tables call the policy."""
    moves = True
    """Whether the order moves with time. If not, `score` is asked once for all jobs, and all else runs natively."""

    @abstractmethod
    def score(self, queue: QueueView) -> NDArray[np.float64]:
        """Returns one finite number for each job of the queue."""


@dataclass(frozen=True)
class PythonPolicy:
    """A policy of the user's own, ready to be asked."""

    text: str
    """The file that was named, or the policy's own name."""
    policy: Policy
    file: Path | None = None
    """The file that defines it, if it was named by one."""

    @property
    def label(self) -> str:
        """What tables call it: a file by its name alone."""
        return self.text if self.file is None else Path(self.text).name

    @property
    def order(self) -> None:
        """The policy of Shunter's that sorts the queue: none does."""
        return None


def python_path(text: str) -> Path | None:
    """Returns the Python file that a text names; None if it names none."""
    match = _FILE.fullmatch(text)
    return Path(match["path"]) if match else None


def load_class(text: str, base: type[Own], what: str, plural: str) -> type[Own]:
    """Returns the class that a file derives from one of ours; the file is run, as a script of yours would be.

    Args:
        text: The file, with the class behind a colon if it has several.
        base: The class that it has to be derived from.
        what: What errors call an object of it.
        plural: What errors call several of them.

    Raises:
        InputError: There is no such file, it fails, or it does not define just the class asked for.
    """
    match = _FILE.fullmatch(text)
    if match is None or not Path(match["path"]).is_file():
        raise InputError(f"{what} {text!r}: there is no such file; expected FILE.py or FILE.py:CLASS")
    path, name = Path(match["path"]), match["name"]
    module = _run(path, what)
    classes = {
        found: value
        for found, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.__name__
    }
    if name and name not in classes:
        raise InputError(f"{path}: has no {what} {name!r}; it has: {', '.join(classes) or 'none'}")
    if not name and len(classes) != 1:
        first = next(iter(classes), None)
        remedy = f"name one: {path}:{first}" if first else f"derive one from shunter.{base.__name__}"
        raise InputError(f"{path}: defines {len(classes)} {plural} ({', '.join(classes) or 'none'}); {remedy}")
    return classes[name or next(iter(classes))]


def make(kind: type[Own], text: str, what: str) -> Own:
    """Returns an object of a class that `load_class` found in a file."""
    try:
        return kind()
    except TypeError as error:
        raise InputError(f"{python_path(text)}: the {what} cannot be made without arguments: {error}") from error


def load_python_policy(text: str) -> PythonPolicy:
    """Returns the policy that a file defines.

    Raises:
        InputError: There is no such file, it fails, or it does not define just the policy asked for.
    """
    kind = load_class(text, Policy, "policy", "policies")  # type: ignore[type-abstract]
    return PythonPolicy(text, make(kind, text, "policy"), python_path(text))


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
