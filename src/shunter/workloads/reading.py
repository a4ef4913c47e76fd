"""Texts to workloads and clusters: job logs in every format, generators, presets and cluster files.

The command line takes the names of formats from here for its help, which must not wait for Polars. So functions import
what they need.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import glob
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shunter.checks import check_name
from shunter.errors import InputError
from shunter.model.cluster import GENERATE
from shunter.model.kinds import KIND
from shunter.workloads.formats import FORMATS, SYNONYMS, TABLES, Reading, detect_format, reader_of

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.model.workload import Workload
    from shunter.workloads.text.source import Source

Spec = str | Path | Sequence[str | Path]
"""A file, a pattern such as ``part-*.csv.gz``, several files of one log, or a generator."""
ONLY = "--only"
"""The option that keeps jobs by their statuses."""
SEED_STEP = 1_000_003
"""Between the seeds of one draw and the next: so far from each other that nobody gives both by chance."""


def read_workload(
    spec: Spec,
    *,
    format: str | None = None,
    strict: bool = False,
    only: str | None = None,
    columns: str | Mapping[str, str] | None = None,
) -> Workload:
    """Reads a job log, or generates a workload.

    Args:
        spec: A file, a pattern, several files of one log, or a generator's spec that starts with ``generate:``.
        format: One of `FORMATS`; by default what the file's content says.
        strict: Whether a repair is an error instead.
        only: Statuses to keep, with commas between them: ``completed`` or ``completed,failed``.
        columns: For a table with names of its own, what gives each of our columns: ``submit_s=came,run_s=end-begin``.

    Raises:
        InputError: The file or the spec has a mistake, named with its place and a remedy.
    """
    if isinstance(spec, str) and spec.startswith(GENERATE):
        from shunter.workloads.generators import generate

        for name, value in (("--format (format)", format), ("--map (columns)", columns)):
            if value is not None:
                raise InputError(f"{name} is {value!r}, but {spec} is a generator; leave it out")
        workload = generate(spec.removeprefix(GENERATE))
    else:
        workload = _read(spec, format, Reading(strict, _parsed(columns)))
    if only is not None:
        from shunter.workloads.variants import keep_statuses

        workload = keep_statuses(workload, only)
    return replace(workload, words=_words(spec, format, only, columns))


def drawn_again(workload: Workload, number: int) -> Workload | None:
    """Returns what the same generator draws with another seed; None: the workload was not generated.

    Args:
        workload: As `read_workload` returned it.
        number: Which of the other draws, from 1 on.
    """
    if len(workload.words) != 1 or not workload.words[0].startswith(GENERATE):
        return None
    from shunter.checks import MOST_SEED, read_query

    name, _, query = workload.words[0].partition("?")
    given = read_query(query, name, "seed=42&jobs=1000")
    given["seed"] = str((int(given.get("seed", "0")) + number * SEED_STEP) % (MOST_SEED + 1))
    return read_workload(f"{name}?{'&'.join(f'{key}={value}' for key, value in given.items())}")


def _words(
    spec: Spec, format: str | None, only: str | None, columns: str | Mapping[str, str] | None
) -> tuple[str, ...]:
    """Returns what reads the same log on a command line."""
    files = [str(spec)] if isinstance(spec, str | Path) else [str(one) for one in spec]
    mapped = columns
    if isinstance(columns, Mapping):
        mapped = ",".join(f"{ours}={theirs}" for ours, theirs in columns.items())
    options = {"--format": format, "--map": mapped, ONLY: only}
    return (*files, *(word for name, value in options.items() if value for word in (name, str(value))))


def read_log(
    workload: str | Path | Workload | Log,
    cluster: str | int | Cluster | None = None,
    *,
    load: float | None = None,
    **reading: Any,  # noqa: ANN401 - what read_workload takes
) -> Log:
    """Returns a log on a cluster.

    Args:
        workload: A file, a generator, or a workload; a log is returned as it is.
        cluster: A number of cores, a preset, a file, a generator, or a cluster; None: the one that the workload tells
            of.
        load: Scale the arrivals, so that this part of the cluster's cores is asked for on average.
        reading: What `shunter.read_workload` takes besides: ``format``, ``strict``, ``only``, ``columns``.

    Raises:
        InputError: A file cannot be read, or nothing tells the cluster.
    """
    from shunter.model.cluster import Cluster
    from shunter.model.log import FROM_WORKLOAD, Log
    from shunter.model.workload import Workload

    if isinstance(workload, Log):
        return workload
    if load is not None:
        from shunter.workloads.load import check_load, scale_to_load

        # Before the log is read, which may take long.
        check_load(load)
    found = cluster if isinstance(cluster, Cluster) else None if cluster is None else read_cluster(cluster)
    jobs = workload if isinstance(workload, Workload) else read_workload(workload, **reading)
    if found is None:
        log = Log(jobs, cluster_of(jobs), FROM_WORKLOAD)
    else:
        log = Log(jobs, found, cluster_word=None if isinstance(cluster, Cluster) else str(cluster))
    return log if load is None else replace(log, workload=scale_to_load(jobs, log.cluster, load), load=load)


def read_cluster(text: str | int) -> Cluster:
    """Returns the cluster that a text describes.

    Args:
        text: A number of cores (``256``), a preset's name (``helios-venus``), the path of a TOML file, or a generator
            with its parameters (``generate:eda?hosts=20&seed=42``).

    Raises:
        InputError: It is none of these, or the file or a parameter has a mistake.
    """
    text = str(text)
    if text.startswith(GENERATE):
        from shunter.workloads.generators import generate_cluster

        return generate_cluster(text.removeprefix(GENERATE))
    from shunter.model.cluster import Cluster

    return Cluster.parse(text)


def cluster_of(workload: Workload, option: str = "--cluster") -> Cluster:
    """Returns the cluster that a workload tells of.

    Args:
        workload: What was read or generated.
        option: What errors tell the user to give instead.

    Raises:
        InputError: The workload tells of none.
    """
    if workload.cluster_spec is None:
        why = workload.cluster_note or "does not tell how many cores its machine had"
        # The machine is that of all jobs: 'trace cluster' has no --only, which comes last.
        read = shlex.join(takewhile(lambda word: word != ONLY, workload.words or ["LOG"]))
        make = f"to make one: shunter trace cluster {read} --infer -o cluster.toml"
        raise InputError(
            f"{workload.name}: {why}; give {option} with a number of cores, a preset or a TOML file; {make}"
        )
    return read_cluster(workload.cluster_spec)


def one_cluster_each(workloads: Sequence[str], clusters: Sequence[str]) -> list[str | None]:
    """Returns a cluster for each of several logs; None for all where each log tells of its own.

    Raises:
        InputError: There are clusters, but not one for each log.
    """
    if clusters and len(clusters) != len(workloads):
        raise InputError(
            f"--cluster is given {len(clusters)} times for {len(workloads)} logs; give one for each, in the same "
            "order, or none"
        )
    return [*clusters] or [None] * len(workloads)


def files_of(spec: Spec) -> list[Path]:
    """Returns the files that a spec means; a pattern's are sorted by name.

    Raises:
        InputError: A pattern means no file.
    """
    if not isinstance(spec, str | Path):
        return [path for one in spec for path in files_of(one)]
    text = str(spec)
    # A file whose name holds such a sign is meant itself.
    if not any(sign in text for sign in "*?[") or Path(spec).exists():
        return [Path(spec)]
    found = sorted(Path(name) for name in glob(text))
    if not found:
        raise InputError(f"{text}: no file has such a name; check the pattern")
    return found


def _parsed(columns: str | Mapping[str, str] | None) -> dict[str, str]:
    """Returns what gives each of our columns, where the user says so."""
    if columns is None:
        return {}
    from shunter.workloads.text.mapping import parse_mapping

    return parse_mapping(columns)


def _read(spec: Spec, format: str | None, reading: Reading) -> Workload:
    if format is not None:
        check_name("format", format, FORMATS, synonyms=SYNONYMS)
    if not isinstance(spec, str | Path | Sequence):
        raise InputError(f"workload is {spec!r}; expected a file, several files, or a generator")
    files = files_of(spec)
    if not files:
        raise InputError("no file is given; name a job log")
    for number, file in enumerate(files):
        # Patterns that overlap, or a slip; jobs that count twice would go unseen.
        if file in files[:number]:
            raise InputError(f"{file}: is given twice; its jobs would count twice")
    from shunter.workloads.text.source import open_source

    sources = list(map(open_source, files))
    # A kind may come from what any format tells, so that it says nothing of what the file is.
    names_kinds = list(reading.columns) == [KIND]
    format = format or _detect(sources, replace(reading, columns={}) if names_kinds else reading)
    if reading.columns and format not in TABLES and not names_kinds:
        raise InputError(
            f"--map (columns) is for tables, but {sources[0].where} is {format}; leave it out, or force --format csv"
        )
    if names_kinds and format not in TABLES:
        workload = reader_of(format).read(sources, replace(reading, columns={}))
        return replace(_with_kinds(workload, reading.columns[KIND]), format=format)
    return replace(reader_of(format).read(sources, reading), format=format)


def _with_kinds(workload: Workload, column: str) -> Workload:
    """Returns a log whose jobs are of the kinds that one of its columns tells, such as ``name`` or ``executable``."""
    import polars as pl

    texts = [name for name, dtype in workload.jobs.schema.items() if dtype == pl.String]
    check_name("column", column, texts, where=f"--map (columns): {KIND}={column}: ")
    return replace(workload, jobs=workload.jobs.with_columns(workload.jobs[column].alias(KIND)))


def _detect(sources: Sequence[Source], reading: Reading) -> str:
    """Returns the format of a log; all of its files must have the same."""
    if reading.columns and not reader_of("parquet").recognizes(sources[0]):
        from shunter.workloads.text.mapping import counts_columns

        first = sources[0].columns
        named = [cell for cell in first if any(cell in theirs.lower() for theirs in reading.columns.values())]
        # Columns by their numbers are those of a table, and a table has several.
        if counts_columns(reading.columns) and len(first) > 1:
            return "csv"
        # What has a column of the mapping is a table, whatever else it looks like.
        # Where none of them is there, another format may be; otherwise the reader of tables says what is missing.
        return "csv" if any(named) else detect_format(sources[0]) or "csv"
    formats: dict[str, Source] = {}
    for source in sources:
        name = detect_format(source)
        if name is None:
            name = _told_by_name(source)
        formats.setdefault(name, source)
    if len(formats) > 1:
        found = ", ".join(f"{source.where} is {name}" for name, source in formats.items())
        raise InputError(f"the files are not of one log: {found}; read them apart, or name one --format")
    return next(iter(formats))


def _told_by_name(source: Source) -> str:
    """Returns the format that a file's name claims; its reader then tells what is wrong with the content."""
    from shunter.workloads.machines import detect_machines

    machines = detect_machines(source)
    if machines is not None:
        what = f"is a list of machines ({machines}), not of jobs"
        make = f"shunter trace cluster {shlex.quote(str(source.path))} -o cluster.toml"
        raise InputError(f"{source.where}: {what}; make a cluster of it with: {make}")
    # The content did not say; then the name may, as for an empty table or a broken first line.
    endings = [suffix.lower().removeprefix(".") for suffix in source.path.suffixes if suffix.lower() != ".gz"]
    if endings and endings[-1] in ("swf", *TABLES):
        return endings[-1]
    first = source.head_lines[0][:60] if source.head_lines else ""
    raise InputError(
        f"{source.where}: the content is of no known format (it begins with {first!r}); name its --format "
        f"({', '.join(FORMATS)}), or for a table the columns with --map"
    )
