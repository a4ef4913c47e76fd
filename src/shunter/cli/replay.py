"""``shunter replay``: run a simulation again from its folder, and say whether it is the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shunter.cli.commands import EXIT_DIFFERENT
from shunter.cli.options import JsonOption, TrustOption, given_text
from shunter.cli.parsing import Argument, Exit, Option, echo
from shunter.cli.running import RunArguments
from shunter.errors import InputError, visible

if TYPE_CHECKING:
    import polars as pl

    from shunter.metrics.run import Run
    from shunter.model.log import Log

COMPARED = ("job_id", "start_s", "end_s", "nodes", "outcome")
"""The columns in which a job's row must be the same."""


def replay(
    folder: Annotated[Path, Argument(metavar="DIR", help="A folder that 'shunter simulate --out' has written.")],
    workload: Annotated[
        str | None,
        Option(parser=given_text, metavar="FILE", show_default="as recorded", help="Where the workload is now."),
    ] = None,
    cluster: Annotated[
        str | None, Option(metavar="FILE", show_default="as recorded", help="Where the cluster file is now.")
    ] = None,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Run a simulation again from its manifest and compare the schedules.

    The exit code is 0 if they are the same and 1 if they differ. A Python file that the manifest names is run only
    with --trust.

    For instance:

        shunter replay runs/pack

        shunter replay runs/pack moved/log.swf.gz
    """
    from shunter import __version__
    from shunter.metrics.run_folder import read_manifest, read_schedule, to_json_text

    manifest = read_manifest(folder)
    rows = read_schedule(folder)
    result = run_again(folder, manifest, workload, cluster, trust)
    difference = first_difference(rows, result.schedule.to_frame())
    sha256 = result.schedule.content_sha256
    report = {
        "same": difference is None and sha256 == manifest["schedule_sha256"],
        "jobs": len(result.schedule),
        "schedule_sha256": sha256,
        "recorded_sha256": manifest["schedule_sha256"],
        "first_difference": difference,
        "version": __version__,
        "recorded_version": manifest.get("shunter"),
    }
    echo(to_json_text(report) if json else visible(replay_text(folder, report)))
    if not report["same"]:
        raise Exit(EXIT_DIFFERENT)


def run_again(
    folder: Path, manifest: dict[str, Any], workload: str | None, cluster: str | None, trust: bool = False
) -> Run:
    """Simulates with the recorded settings, having checked that the inputs are unchanged."""
    from shunter.cli.running import run
    from shunter.metrics.run_folder import RECORDED
    from shunter.policies.trust import trusting, words_of_a_file

    with _naming(folder):
        recorded = RunArguments.from_json(manifest["arguments"]["resolved"])
    # Errors in what the user gave now must not be blamed on the manifest.
    by_user = [f"unknown cluster {cluster!r}"] * bool(cluster) + ["generate:"] * bool(workload or cluster)
    workload = workload or _recorded_input(folder, manifest["workload"].get("path"), recorded.workload, "workload")
    cluster = cluster or _recorded_input(folder, manifest["cluster"].get("path"), recorded.cluster, "cluster")
    files = {
        name: _recorded_file(folder, what, manifest.get(name), recorded.words[name]) for name, what in RECORDED.items()
    }

    def check_unchanged(log: Log) -> None:
        # With a load, the arrivals depend on the cluster: so the cluster comes first.
        _check_unchanged("cluster", cluster, log.cluster.content_sha256, manifest)
        _check_unchanged("workload", workload, log.workload.content_sha256, manifest)

    inputs = replace(recorded, workload=workload or recorded.workload, cluster=cluster).with_settings(**files)
    # What is wrong with a file is said under the file's own name.
    named = [file for file in (workload, cluster, *(_file_of(given) for given in files.values())) if file]
    with _naming(folder, *(f"{name}:" for file in named for name in (file, Path(file))), *by_user):
        with words_of_a_file(), trusting(trust):
            scheduler = inputs.scheduler()
        return run(inputs, scheduler, inspect=check_unchanged)


@contextmanager
def _naming(folder: Path, *others: str) -> Iterator[None]:
    """Lets errors name the manifest, whose content is at fault, unless they begin with one of the others."""
    from shunter.metrics.run_folder import MANIFEST

    try:
        yield
    except InputError as error:
        if str(error).startswith(others):
            raise
        raise InputError(f"{folder / MANIFEST}: {error}") from error


def _recorded_file(folder: Path, what: str, record: dict[str, str] | None, given: str | None) -> Any:  # noqa: ANN401
    """Returns a setting; if it comes from a file, that must be where it was, and unchanged."""
    from shunter.metrics.run_folder import file_record

    if record is None or given is None:
        return given
    path = Path(record["path"])
    if not path.is_file():
        raise InputError(f"{folder}: its {what} {path} is gone; put it back")
    if file_record(path) != record:
        raise InputError(f"{path}: the {what} has changed since the run; put the original back")
    # A Python file may be followed by the name of a class.
    name = given.rpartition(":")[2] if ".py:" in given else ""
    return f"{record['path']}:{name}" if name else record["path"]


def _file_of(given: str | None) -> str | None:
    """Returns the file that a setting comes from; a name that is not that of a file does no harm."""
    return given.partition(".py:")[0] + ".py" if given is not None and ".py:" in given else given


def _recorded_input(folder: Path, path: str | None, given: str | None, option: str) -> str | None:
    """Returns where an input is: at the recorded path, or as it was given; what is not a file stays as given."""
    # No path was recorded for a generator or a number of cores.
    if path is None or Path(path).is_file():
        return path or given
    if given is not None and Path(given).is_file():
        return given
    raise InputError(f"{folder}: its {option} {path} is gone; say where it is now with --{option}")


def _check_unchanged(what: str, spec: str | None, sha256: str, manifest: dict[str, Any]) -> None:
    recorded = manifest[what]["sha256"]
    if sha256 != recorded:
        raise InputError(
            f"{spec}: the {what} has changed since the run (sha256 {sha256[:12]}, recorded {recorded[:12]}); "
            f"give the original with --{what}"
        )


def first_difference(recorded: pl.DataFrame, replayed: pl.DataFrame) -> dict[str, Any] | None:
    """Returns the first job whose row differs, with both rows; None if all are the same."""
    import polars as pl

    # Another number of rows has no first difference that means anything.
    if recorded.height != replayed.height or any(name not in recorded.columns for name in COMPARED):
        return {"job_id": None, "recorded": f"{recorded.height} rows", "replayed": f"{replayed.height} rows"}
    for name in COMPARED:
        # Comparing a column of text with one of numbers would be an error of Polars' own.
        if recorded[name].dtype != replayed[name].dtype:
            types = {"recorded": recorded[name].dtype, "replayed": replayed[name].dtype}
            return {"job_id": None} | {which: f"{name} of type {dtype}" for which, dtype in types.items()}
    # Nulls are equal to nulls here: a rejected job has no times in either.
    different = pl.Series([False]).new_from_index(0, recorded.height)
    for name in COMPARED:
        different = different | recorded[name].ne_missing(replayed[name])
    if not different.any():
        return None
    row = different.arg_max() or 0
    return {
        "job_id": replayed["job_id"][row],
        "recorded": recorded.select(COMPARED).row(row, named=True),
        "replayed": replayed.select(COMPARED).row(row, named=True),
    }


def replay_text(folder: Path, report: dict[str, Any]) -> str:
    """Returns the report as lines for people."""
    lines = []
    if report["version"] != report["recorded_version"]:
        lines.append(f"recorded by shunter {report['recorded_version']}, replayed by {report['version']}")
    difference = report["first_difference"]
    if report["same"]:
        lines.append(f"same schedule: {report['jobs']:,} jobs of {folder}, sha256 {report['schedule_sha256']}")
    elif difference is None:
        changed = f"schedule.parquet or manifest.json was changed in {folder}"
        lines.append(f"different: the rows are equal, but not the hash: {changed}")
    else:
        lines.append(f"different: the first job that differs is {difference['job_id']}")
        lines += [f"  recorded {difference['recorded']}", f"  replayed {difference['replayed']}"]
    return "\n".join(lines)
