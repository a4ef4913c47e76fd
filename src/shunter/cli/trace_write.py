"""The verbs of ``shunter trace`` that write one log from another: convert, slice, scale, anonymize, generate, split."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shunter.cli.options import ClusterOption, LengthOption, LoadOption, path
from shunter.cli.outputs import check_apart, step
from shunter.cli.parsing import Argument, Option, echo, number, whole_number
from shunter.cli.trace_log import LogArguments, reads_log
from shunter.cli.trace_output import ForceOption, OutputOption, check_file, check_output, write_workload
from shunter.errors import InputError


@reads_log
def convert(log: LogArguments, output: OutputOption, force: ForceOption = False) -> None:
    """Write a log in another format, and print what that format cannot hold.

    For instance:

        shunter trace convert sacct.txt -o jobs.parquet

        shunter trace convert 'task_events-*.csv.gz' -o google.parquet

        shunter trace convert jobs.csv --map submit_s=arrival,run_s=end-begin -o jobs.swf
    """
    check_output(output, force, log.inputs)
    workload = log.read()
    write_workload(workload, output, log.clock(workload))


StartOption = Annotated[
    int | None,
    Option(parser=whole_number, metavar="I", show_default="the first", help="The first job, counted from 0."),
]
FromOption = Annotated[
    str | None,
    Option(
        "--from",
        metavar="TIME",
        show_default="the first job's",
        help="The first submit time: seconds (86400), since the first job (+3d, +12h), or a date (2017-10-03).",
    ),
]
ToOption = Annotated[
    str | None,
    Option(
        "--to",
        metavar="TIME",
        show_default="the end",
        help="Take only jobs submitted before this time, written as for --from.",
    ),
]


@reads_log
def slice_(
    log: LogArguments,
    output: OutputOption,
    start: StartOption = None,
    length: LengthOption = None,
    begin: FromOption = None,
    end: ToOption = None,
    force: ForceOption = False,
) -> None:
    """Write a part of a log, by the numbers of its jobs or by time.

    For instance:

        shunter trace slice log.swf.gz --start 1000 --length 5000 -o part.swf

        shunter trace slice log.swf.gz --from +7d --to +14d -o second-week.parquet

        shunter trace slice philly.csv.gz --from 2017-10-03 --to 2017-11-15 -o october.parquet
    """
    # Not by truth values: 0 is a start like any other.
    by_index, by_time = (start, length) != (None, None), (begin, end) != (None, None)
    if by_index == by_time:
        raise InputError("say which part: either --start and --length, or --from and --to")
    for option, value, least in (("--start", start, 0), ("--length", length, 1)):
        if value is not None and value < least:
            raise InputError(f"{option} is {value}; expected {least} or more")
    check_output(output, force, log.inputs)
    workload = log.read()
    if by_index:
        write_workload(workload.window(start or 0, length), output, log.clock(workload))
        return
    from shunter.workloads.variants import slice_time

    clock = log.clock(workload)
    write_workload(slice_time(workload, begin, end, clock), output, clock)


FactorOption = Annotated[
    float | None,
    Option(
        parser=number,
        metavar="X",
        show_default="none",
        help="Multiply the log's own load by X: the gaps between arrivals become X times shorter.",
    ),
]


@reads_log
def scale(
    log: LogArguments,
    output: OutputOption,
    cluster: ClusterOption = None,
    load: LoadOption = None,
    factor: FactorOption = None,
    force: ForceOption = False,
) -> None:
    """Write a log in which jobs arrive faster or slower; run times and sizes stay the same.

    For instance:

        shunter trace scale log.swf.gz --factor 1.5 -o busy.swf

        shunter trace scale log.csv --cluster 256 --load 0.9 -o at90.csv
    """
    if (load is None) == (factor is None):
        raise InputError("say how much: either --load (of the cluster) or --factor (of the log's own load)")
    if factor is not None and not 0 < factor < float("inf"):
        raise InputError(f"--factor is {factor:g}; expected a number above 0")
    check_output(output, force, log.inputs)
    from shunter.workloads import cluster_of, read_cluster
    from shunter.workloads.load import scale_arrivals, scale_to_load

    machine = None if cluster is None else read_cluster(cluster)
    workload = log.read()
    with step("scaling"):
        if load is None:
            scaled = scale_arrivals(workload, 1 / (factor or 1))
        else:
            scaled = scale_to_load(workload, machine or cluster_of(workload), load)
    write_workload(scaled, output, log.clock(workload))


PlacesOption = Annotated[
    bool, Option("--places", help="Replace the names of queues, partitions, qualities of service and kinds too.")
]
SecretSeedOption = Annotated[
    int | None,
    Option(
        "--seed",
        parser=whole_number,
        metavar="N",
        show_default="a secret that is kept nowhere",
        help="Draw the names from this number, so that they can be drawn again; keep it secret.",
    ),
]
ShiftOption = Annotated[bool, Option("--shift", help="Move the log in time so that it begins at 0.")]


@reads_log
def anonymize(
    log: LogArguments,
    output: OutputOption,
    places: PlacesOption = False,
    shift: ShiftOption = False,
    seed: SecretSeedOption = None,
    force: ForceOption = False,
) -> None:
    """Write a log without the names of users, groups, accounts, programs, jobs and hosts, and with new job ids.

    Each name gets one new name throughout: user7 is always the same person. Which name becomes which is drawn from a
    secret that is kept nowhere. With --seed it can be drawn again, by everybody who knows the seed: keep it secret.

    For instance:

        shunter trace anonymize sacct.txt --shift -o public.parquet

        shunter trace anonymize sacct.txt --seed 8134 --places -o public.parquet
    """
    check_output(output, force, log.inputs)
    from shunter.workloads.variants import anonymize as without_names

    write_workload(without_names(log.read(), seed=seed, places=places, shift=shift), output)
    if seed is None:
        echo("names were drawn from a secret that is kept nowhere: nobody can draw them again (--seed N could)")


SpecArgument = Annotated[
    str, Argument(metavar="GENERATOR", help="A generator and its parameters: 'lublin?jobs=10000&cores=256'.")
]


def generate(spec: SpecArgument, output: OutputOption, force: ForceOption = False) -> None:
    """Generate a workload and write it; docs/workloads.md lists the generators with their parameters.

    For instance:

        shunter trace generate 'lublin?jobs=10000&cores=256&load=0.9&seed=1' -o lublin.swf.gz

        shunter trace generate 'helios-like?jobs=50000&arrival=diurnal' -o helios.parquet
    """
    check_output(output, force, {})
    from shunter.model.cluster import GENERATE
    from shunter.workloads import read_workload

    with step(f"generating {spec}"):
        workload = read_workload(f"{GENERATE}{spec.removeprefix(GENERATE)}")
    write_workload(workload, output)


FolderOption = Annotated[
    Path,
    Option(
        "--output",
        "--out",
        "-o",
        parser=path,
        metavar="DIR",
        help="The folder for the files train, validation and report.",
    ),
]
SharesOption = Annotated[
    str, Option(metavar="A,B,C", help="The shares of train, validation and report; 0 leaves a part out.")
]
ByOption = Annotated[
    str,
    Option(metavar="jobs|time", help="What is divided by these shares: the number of jobs, or the span of time."),
]
EndingOption = Annotated[
    str, Option("--as", metavar="ENDING", help="What to write: parquet, csv, csv.gz, swf or swf.gz.")
]


@reads_log
def split(
    log: LogArguments,
    output: FolderOption,
    shares: SharesOption = "0.6,0.1,0.3",
    by: ByOption = "jobs",
    ending: EndingOption = "parquet",
    force: ForceOption = False,
) -> None:
    """Cut a log into three parts, one after another in time: to train on, to validate on, and to report on.

    'shunter train' and 'shunter tune' make the same cuts by themselves; this is for other tools.

    For instance:

        shunter trace split log.swf.gz -o parts

        shunter trace split log.swf.gz --shares 0.7,0.1,0.2 --by time --as swf -o parts
    """
    from shunter.workloads.variants import PARTS
    from shunter.workloads.variants import split as cut
    from shunter.workloads.write import check_ending

    if by not in ("jobs", "time"):
        raise InputError(f"--by is {by!r}; expected jobs or time")
    numbers = _numbers(shares)
    files = {part: output / f"{part}.{ending}" for part in PARTS}
    inputs = log.inputs
    for file in files.values():
        check_ending(file)
        check_apart("--output", [file], inputs)
    workload = log.read()
    # Cut before the folder is made: shares that leave a part without jobs are an error.
    parts = cut(workload, numbers, by)
    _make_folder(output)
    # All files are checked before the first is written: no half of a split is left behind.
    for part in parts:
        check_file(files[part], force, inputs)
    for part, jobs in parts.items():
        write_workload(jobs, files[part])


def _numbers(shares: str) -> list[float]:
    try:
        return [float(share) for share in shares.split(",")]
    except ValueError:
        raise InputError(
            f"--shares is {shares!r}; expected three numbers with commas between them: 0.6,0.1,0.3"
        ) from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output {folder}: cannot be made ({error.strerror}); give another folder") from None
