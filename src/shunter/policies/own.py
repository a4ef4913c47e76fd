"""Policies and placements of the user's own, written in Python.

A policy gives a score for each waiting job; a placer says on which nodes a job starts. Either is handed over as an
object, or as the file that defines it: ``my_policy.py``, or ``my_policy.py:ClassName``. Such a
file is run, so the user must have named it, or trust who did (``trust.py``).
"""

from __future__ import annotations

import re
import sys
import sysconfig
import traceback
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from operator import index
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np

from shunter.errors import InputError
from shunter.policies.trust import check_trusted

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload

Own = TypeVar("Own")

_FILE: Final = re.compile(r"(?P<path>.+\.py)(?::(?P<name>\w+))?")
MILLI: Final = 1000
_NOT_THE_USERS: Final = ("<", str(Path(__file__).parents[1]), *sysconfig.get_paths().values())
"""How the names of files begin whose code is not the user's: Shunter's own, and Python's libraries."""

Assignment: TypeAlias = list[tuple[int, int]]
"""Pairs of a node's number and how many of the job's tasks it gets."""


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
    eligible_s: NDArray[np.float64]
    """Since when each job waits for nodes: its submit time, unless it was held."""
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
    size: NDArray[np.float64]
    """How large each job counts: its larger share of the cluster's cores or GPUs, in the resource that binds. On a
    cluster of cores alone it is the number of cores."""
    priority: NDArray[np.float64]
    """NaN where the log does not say."""
    user: NDArray[np.int64]
    """A number for each user; −1 where the log does not say."""

    @property
    def wait_s(self) -> NDArray[np.float64]:
        """How long each job has waited."""
        return self.now_s - self.eligible_s


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


@dataclass(frozen=True)
class Request:
    """What a job asks for; amounts are for one task."""

    tasks: int
    cores_milli: int
    memory_mb: int
    """0 where the log does not say: memory does not bind."""
    gpu_milli: int

    @property
    def gpus(self) -> int:
        """Whole GPUs of one task; 0 for a fraction of one."""
        # A task with a fraction has none: it shares a device, and whole GPUs are never mixed with fractions.
        return self.gpu_milli // MILLI


@dataclass(frozen=True)
class Requests:
    """What every job of a workload asks for, looked up by its index."""

    tasks: NDArray[np.int64]
    cores_milli: NDArray[np.int64]
    memory_mb: NDArray[np.int64]
    gpu_milli: NDArray[np.int64]

    @classmethod
    def of(cls, workload: Workload) -> Requests:
        """Returns the requests of a workload's jobs, in the core's units."""
        jobs = workload.jobs
        return cls(
            jobs["tasks"].to_numpy().astype(np.int64),
            _whole(jobs["cores_per_task"], MILLI),
            _whole(jobs["memory_mb_per_task"], 1),
            _whole(jobs["gpus_per_task"], MILLI),
        )

    def __len__(self) -> int:
        return len(self.tasks)

    def __getitem__(self, job: int) -> Request:
        return Request(
            int(self.tasks[job]), int(self.cores_milli[job]), int(self.memory_mb[job]), int(self.gpu_milli[job])
        )


def _whole(column: pl.Series, units: int) -> NDArray[np.int64]:
    """Returns a column in the core's units; 0 where the log does not say."""
    return np.asarray(np.rint(column.fill_null(0.0).to_numpy() * units), dtype=np.int64)


@dataclass(frozen=True)
class Scene:
    """One decision: a job that is to start, and the cluster as it is now. Arrays have one value a node."""

    job: int
    """The job's place in the workload that `Placer.begin` was given."""
    now_s: float
    request: Request
    capacity: NDArray[np.uint32]
    """How many of the job's tasks each node could take now; 0 where it may not go."""
    free_cores_milli: NDArray[np.int64]
    free_memory_mb: NDArray[np.int64]
    free_gpus: NDArray[np.int32]
    """Devices that are free as a whole."""
    waiting: NDArray[np.uint32]
    """The next waiting jobs in the policy's order, this one left out; their places in the workload."""
    gpus: NDArray[np.int64]
    """GPUs in all, free or not."""
    pool: NDArray[np.int64]
    """The number of the GPUs' type; -1 where the node names none."""
    cores_milli: NDArray[np.int64]
    memory_mb: NDArray[np.int64]
    """Memory in all; -1 where it is not tracked, and never binds."""
    mix: bool
    """Whether one job may have GPUs of several types."""
    requests: Requests
    """What any job of the workload asks for."""

    @property
    def one_pool(self) -> bool:
        """Whether all nodes of the job must have GPUs of one type."""
        return self.request.gpu_milli > 0 and not self.mix


class Placer(ABC):
    """Decides which nodes a job gets. Derive from this class and write `place`."""

    name = "own"
    """What tables call the placement."""

    @abstractmethod
    def place(self, scene: Scene) -> Sequence[tuple[int, int]] | None:
        """Returns pairs of node and tasks that together hold all tasks; None if the job is not to start now.

        It is asked only where the job fits.
        """

    def begin(self, workload: Workload, cluster: Cluster) -> None:  # noqa: B027 - most have nothing to prepare
        """Prepares for a run; called once before it."""

    def ledger(self) -> list[tuple[str, int, str]]:
        """Returns what the result's ledger is to say of the run: rule, how often, and the first example."""
        return []


def check_answer(scene: Scene, answer: Sequence[tuple[int, int]], placer: str) -> Assignment:
    """Returns a placer's answer as plain numbers, or raises an error if it is not a placement of the scene's job.

    Args:
        scene: The decision.
        answer: What `Placer.place` has returned.
        placer: What errors call the placement.

    Raises:
        InputError: A node is named twice, does not exist or gets too much, or tasks are left over.
    """
    where = f"placement {placer!r}: job {scene.job} at {scene.now_s:g} s"
    pairs = _pairs(answer, where)
    seen: set[int] = set()
    for node, tasks in pairs:
        if not 0 <= node < len(scene.capacity):
            raise InputError(f"{where}: node {node} does not exist; expected 0 to {len(scene.capacity) - 1}")
        if node in seen:
            raise InputError(f"{where}: node {node} is named twice; name each node once")
        if not 1 <= tasks <= scene.capacity[node]:
            room = int(scene.capacity[node])
            raise InputError(f"{where}: node {node} gets {tasks} tasks; expected at least 1 and at most {room}")
        seen.add(node)
    placed = sum(tasks for _, tasks in pairs)
    if placed != scene.request.tasks:
        raise InputError(f"{where}: {placed} tasks are placed; expected all {scene.request.tasks}")
    # The core checks all this again; but only here the answer can be told in the words of the user.
    if scene.one_pool and len({int(scene.pool[node]) for node in seen}) > 1:
        raise InputError(f"{where}: its nodes have GPUs of several types; keep to one, or give the cluster mix = true")
    return pairs


def _pairs(answer: Any, where: str) -> Assignment:  # noqa: ANN401 - a user's code may return anything
    try:
        # index() takes whole numbers of any kind, those of NumPy too, and refuses floats and text.
        return [(index(node), index(tasks)) for node, tasks in answer]
    except (TypeError, ValueError):
        shown = repr(answer)[:60]
        raise InputError(f"{where}: the answer is {shown}; expected pairs of node and tasks, or None") from None


def python_path(text: str) -> Path | None:
    """Returns the Python file that a text names; None if it names none."""
    match = _FILE.fullmatch(text)
    return Path(match["path"]) if match else None


def failure(error: BaseException) -> str:
    """Returns what went wrong in code of the user's own, with the file and the line where it did."""
    frames = traceback.extract_tb(error.__traceback__)
    # The last line that is neither ours nor one of a library that was called is the user's own.
    own = [frame for frame in frames if not frame.filename.startswith(_NOT_THE_USERS)]
    place = f"{own[-1].filename}:{own[-1].lineno}: " if own else ""
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{error.filename}:{error.lineno}: "
    return f"{place}{type(error).__name__}: {error}"


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
    check_trusted(path, what)
    module = _run(path, what)
    classes = {
        found: value
        for found, value in vars(module).items()
        # What the file imports, the base class among it, is not defined by it.
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
    # Dataclasses and pickles in the file look their module up by its name while it is run.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    # A script may call sys.exit(); the command line must still say which file did.
    except (Exception, SystemExit) as error:
        raise InputError(f"{path}: fails when it is run: {failure(error)}") from error
    return module
