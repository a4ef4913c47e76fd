"""One comparison: read the log, choose windows, run every combination on them."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shunter.cli.arguments import RunArguments
from shunter.cli.options import listed_names
from shunter.cli.progress import step
from shunter.cli.running import read_inputs
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.cli.running import Inputs
    from shunter.comparison.combinations import Combination, Combinations
    from shunter.comparison.compare import Comparison
    from shunter.model.windows import Windows

MANIFEST = "manifest.json"
LISTS = ("policy", "dispatch", "placement", "estimate")
"""The options that take lists."""
COMPARISON, WINDOWS = "comparison", "windows"
FILES = (*(f"{name}.{kind}" for name in (COMPARISON, WINDOWS) for kind in ("parquet", "csv")), MANIFEST)
"""What the folder of a comparison holds."""


MOST_THREADS = 1024


@dataclass(frozen=True)
class WindowArguments:
    """The options of verbs that compare ways to schedule on windows of a log."""

    shared: RunArguments
    """What all combinations share: the log, the cluster, and settings."""
    metric: str
    baseline: str | None
    """None: the first combination."""
    windows: int
    length: int
    blocks: int | None
    warmup: int
    part: str
    threads: int | None

    def combinations(self) -> Combinations:
        """Returns what is compared, or raises an error for the first name or number that is wrong."""
        raise NotImplementedError

    def checked(self) -> Combinations:
        """Returns what is compared, having checked all that can be checked without the log."""
        from shunter.checks import check_name
        from shunter.comparison.combinations import find_baseline
        from shunter.metrics.table import window_metrics
        from shunter.model.windows import check_numbers

        combinations = self.combinations()
        find_baseline(combinations.possible, self.baseline)
        check_name("metric", self.metric, window_metrics())
        check_numbers(**self._window_numbers())
        if self.threads is not None and not 1 <= self.threads <= MOST_THREADS:
            raise InputError(f"--threads is {self.threads}; expected 1 to {MOST_THREADS}")
        return combinations

    def choose_windows(self, jobs: int) -> Windows:
        """Returns the windows of a log of so many jobs."""
        from shunter.model.windows import choose_windows

        return choose_windows(jobs, seed=self.shared.seed, **self._window_numbers())

    def common(self) -> dict[str, Any]:
        """Returns the settings that all combinations share."""
        return {name: value for name, value in self.shared.words.items() if name not in LISTS}

    def _window_numbers(self) -> dict[str, Any]:
        from shunter.model.windows import parse_part

        return {
            "count": self.windows,
            "length": self.length,
            "blocks": self.blocks,
            "part": parse_part(self.part),
            "warmup": self.warmup,
        }

    def to_json(self) -> dict[str, Any]:
        """Returns the arguments as a plain object."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "shared"}
        return self.shared.to_json() | own


@dataclass(frozen=True)
class CompareArguments(WindowArguments):
    """The options of ``shunter compare`` that decide its result."""

    policy: str
    """Names with commas between them, as are the next three."""
    dispatch: str | None
    """None: each policy's default."""
    placement: str
    estimate: str | None
    """None: each policy's default."""

    def combinations(self) -> Combinations:
        """Returns every combination of the four lists."""
        from shunter.comparison.combinations import combine

        return combine(
            listed_names("policy", self.policy),
            [None] if self.dispatch is None else listed_names("dispatch", self.dispatch),
            listed_names("placement", self.placement),
            [None] if self.estimate is None else listed_names("estimate", self.estimate),
            **self.common(),
        )


@dataclass(frozen=True)
class Compared:
    """What was compared, and what came out."""

    arguments: WindowArguments
    inputs: Inputs
    skipped: tuple[str, ...]
    """Why some combinations cannot be."""
    comparison: Comparison
    seconds: float
    """How long the simulations and their statistics took."""

    def rows(self) -> list[dict[str, Any]]:
        """Returns one row a combination, the best first."""
        from shunter.comparison.rows import combination_rows

        return combination_rows(self.comparison)

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        from shunter import __version__
        from shunter.comparison.rows import comparison_object

        return comparison_object(self.comparison) | {
            "skipped": list(self.skipped),
            "workload": self.inputs.workload.name,
            "cluster": self.inputs.cluster.name,
            "cluster_from": self.inputs.cluster_from,
            "load": self.inputs.arguments.load,
            "part": self.arguments.part,
            "seed": self.arguments.shared.seed,
            "version": __version__,
            "seconds": round(self.seconds, 6),
        }


def run_comparison(arguments: WindowArguments, combinations: Combinations) -> Compared:
    """Reads, chooses windows, simulates and compares what `WindowArguments.checked` gave."""
    inputs = read_inputs(arguments.shared)
    windows = arguments.choose_windows(len(inputs.workload))
    began = time.perf_counter()
    comparison = _compare(arguments, inputs, combinations.possible, windows)
    _check_rejections(arguments, comparison)
    return Compared(arguments, inputs, combinations.skipped, comparison, time.perf_counter() - began)


def _compare(
    arguments: WindowArguments, inputs: Inputs, combinations: tuple[Combination, ...], windows: Windows
) -> Comparison:
    from shunter.comparison.bench import available_threads
    from shunter.comparison.compare import compare

    with step(f"comparing {len(combinations)} combinations") as progress:
        return compare(
            inputs.workload,
            inputs.cluster,
            combinations,
            windows,
            metric=arguments.metric,
            baseline=arguments.baseline,
            seed=arguments.shared.seed,
            threads=arguments.threads or available_threads(),
            progress=progress,
        )


def _check_rejections(arguments: WindowArguments, comparison: Comparison) -> None:
    rejected = max(one.rejected for one in comparison.scored)
    if rejected and arguments.shared.strict:
        raise InputError(
            f"{comparison.workload.name}: {rejected} jobs of the windows can never fit on {comparison.cluster.name}; "
            "give a larger cluster, or leave --strict out to have such jobs rejected and counted"
        )


def write_comparison(folder: Path, compared: Compared, given: dict[str, Any]) -> None:
    """Writes the five files of a comparison."""
    import polars as pl

    from shunter.comparison.rows import window_frame
    from shunter.files import Writer
    from shunter.metrics.run_folder import file_record, provenance, write_folder

    comparison = compared.comparison
    frames = {
        COMPARISON: pl.DataFrame(compared.rows(), infer_schema_length=None),
        WINDOWS: window_frame(comparison),
    }
    writers: dict[str, Writer] = {}
    for name, frame in frames.items():
        writers |= {f"{name}.parquet": frame.write_parquet, f"{name}.csv": frame.write_csv}
    resolved = compared.arguments.to_json() | {"cluster": compared.inputs.arguments.cluster}
    files = {name: path for one in comparison.scored for name, path in one.combination.files.items()}
    manifest = provenance(comparison.workload, comparison.cluster, given, resolved) | {
        "files": {name: file_record(path) for name, path in sorted(files.items())},
        "jobs": comparison.windows.length * len(comparison.windows),
    }
    write_folder(folder, writers, manifest)
