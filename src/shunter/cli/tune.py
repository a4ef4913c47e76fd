"""``shunter tune``: a policy's weights, searched on training days and judged on later ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shunter.cli.options import (
    LOAD,
    POLICY,
    SETTINGS,
    JsonOption,
    ObjectiveOption,
    OnOption,
    ThreadsOption,
    WindowCountOption,
    WindowLengthOption,
    duration,
    given_text,
    listed_names,
    path,
    setting_help,
    takes,
    takes_fields,
)
from shunter.cli.outputs import check_plot, check_toml, print_json, save_figure, step
from shunter.cli.parsing import Option, number, whole_number
from shunter.cli.running import RunArguments, read_inputs
from shunter.engines.choice import LOCAL, check_on

if TYPE_CHECKING:
    from shunter.tuning.request import TuneRequest

WorkloadsOption = Annotated[
    list[str],
    Option(
        "--workload",
        parser=given_text,
        metavar="FILE",
        help="A job log (SWF, CSV or Parquet, also .gz) or a generator; give it several times for one policy for "
        "several logs.",
    ),
]
ClustersOption = Annotated[
    list[str] | None,
    Option(
        "--cluster",
        parser=given_text,
        metavar="CLUSTER",
        show_default="what each log's header tells",
        help="A number of cores, a preset or a TOML file; one for each log, in the same order.",
    ),
]
OutOption = Annotated[
    Path,
    Option(
        "--out", "-o", parser=path, metavar="FILE", help="Write the policy: a .toml file, for --policy and --estimate."
    ),
]
ForceOption = Annotated[bool, Option("--force", help="Let --out overwrite a file.")]
PlotOption = Annotated[
    Path | None,
    Option(
        parser=path, metavar="FILE", help="Draw the search and the result on later days: a .png, .svg or .pdf file."
    ),
]

OTHER_SETTINGS = {name: option for name, option in SETTINGS.items() if name != "max_wait_s"}
"""All but the guard, of which there may be several here."""


def guards(text: str) -> list[float | None]:
    """Returns the starvation guards that an option was given, such as ``off,3d,12h``, in seconds; None for off."""
    return [None if name == "off" else duration(name) for name in listed_names("max-wait", text)]


@dataclass(frozen=True)
class SearchArguments:
    """What is searched, on which days, and by what it is judged."""

    kind: Annotated[
        str,
        Option(
            metavar="NAME",
            help="What is searched: linear, a weighted score with two gates; multifactor, Slurm's weights; pairs, a "
            "score over jobs and types of GPUs that may refuse a type.",
        ),
    ] = "linear"
    objective: ObjectiveOption = "bounded-slowdown"
    bounds: Annotated[
        list[str] | None,
        Option(
            "--bound",
            metavar="NAME=X",
            show_default="none",
            help="What must not become worse: a metric, and how many times that of the classic chosen on training days "
            "it may be, as in mean-wait=1.1. Give it several times for several bounds.",
        ),
    ] = None
    site: Annotated[
        str,
        Option(
            "--baseline",
            "--site",
            metavar="A/B",
            help="What the site has now: a policy and a dispatch rule, or a file.",
        ),
    ] = "fcfs/easy"
    train: Annotated[
        float,
        Option(
            parser=number, metavar="X", help="The part of each log's jobs, from the first on, that tuning may look at."
        ),
    ] = 0.6
    report: Annotated[
        str, Option(metavar="A:B", help="The part of each log on which the result is judged, behind --train.")
    ] = "0.7:1"
    windows: WindowCountOption = 40
    report_windows: Annotated[
        int, Option(parser=whole_number, metavar="K", help="How many windows of each log it is judged on.")
    ] = 20
    length: WindowLengthOption = 1024
    warmup: Annotated[
        int | None,
        Option(
            parser=whole_number,
            metavar="N",
            show_default="half of --length",
            help="How many jobs before each window are simulated too, so that it does not begin on an empty cluster. "
            "0: begin on an empty cluster.",
        ),
    ] = None
    generations: Annotated[
        int, Option(parser=whole_number, metavar="N", help="How often candidates are drawn around the best.")
    ] = 30
    population: Annotated[int, Option(parser=whole_number, metavar="N", help="How many are drawn each time.")] = 32
    threads: ThreadsOption = None
    estimate: Annotated[
        str | None,
        Option(
            metavar="NAME",
            show_default="the best of requested, last-two and posterior on training days",
            help=f"{setting_help('estimate')} Training days choose among three; name one to have that.",
        ),
    ] = None
    max_wait_s: Annotated[
        str | None,
        Option(
            parser=guards,
            metavar="TIME,...",
            show_default="off; the table has off, 7d, 3d, 1d and 12h",
            help="Starvation guard: a job that has waited this long goes before all others: 1d. One value holds for "
            "everybody, and the file carries it. Several, as in off,3d,12h, are tried on the result: a table shows "
            "what each costs.",
        ),
    ] = None

    def request(self, shared: RunArguments) -> TuneRequest:
        """Returns the tuning that these options describe, checked as far as that is possible without the logs."""
        from shunter.tuning.request import TuneRequest

        return TuneRequest.of(**shared.words | vars(self) | {"train": (0.0, self.train)})


@takes(LOAD | {name: POLICY[name] for name in ("dispatch", "placement")} | OTHER_SETTINGS)
@takes_fields(SearchArguments)
def tune(
    *,
    workload: WorkloadsOption,
    out: OutOption,
    cluster: ClustersOption = None,
    searched: SearchArguments,
    shared: RunArguments,
    force: ForceOption = False,
    plot: PlotOption = None,
    on: OnOption = LOCAL,
    json: JsonOption = False,
) -> None:
    """Tune a policy to a log: search its weights on the first days, write them to a file, and judge them on later days.

    For instance:

        shunter tune log.swf.gz --out tuned.toml --bound mean-wait=1.1

        shunter tune log.swf.gz --baseline slurm.toml --kind multifactor --out tuned.toml --plot tuned.png

        shunter simulate log.swf.gz --policy tuned.toml --estimate tuned.toml
    """
    from shunter.tuning.tune import run_tuning
    from shunter.workloads.reading import one_cluster_each

    runs = [
        replace(shared, workload=log, cluster=machine)
        for log, machine in zip(workload, one_cluster_each(workload, cluster or []), strict=True)
    ]
    request = searched.request(shared)
    inputs: dict[str, str | Path | None] = dict(request.files)
    for place, run in enumerate(runs, start=1):
        # Of all logs, before the first is read.
        run.check_numbers()
        inputs |= {f"workload ({place})": run.workload, f"cluster ({place})": run.cluster}
    check_toml("--out", out, force, "--policy", inputs)
    check_plot(plot, None, inputs)
    check_on(on)
    tuning = run_tuning(request, [read_inputs(run).log for run in runs], out, strict=shared.strict, on=on, stage=step)
    if plot is not None:
        from shunter.report.tuning import draw_tuning

        with step(f"drawing {plot}"):
            save_figure(plot, draw_tuning(tuning.found.tuned, tuning.report))
    if json:
        print_json(tuning.to_json())
        return
    from shunter.report.tuning import print_tuning

    print_tuning(tuning, [written for written in (out, plot) if written is not None])
