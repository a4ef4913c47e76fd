"""``shunter run``: runs jobs in the foreground under a policy and measures them; or learns a policy on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from shunter.cli.commands import EXIT_DIFFERENT, EXIT_INTERRUPTED
from shunter.cli.options import JsonOption, path
from shunter.cli.outputs import print_json, step
from shunter.cli.parsing import Argument, Exit, Option, echo
from shunter.cli.queue_daemon import DispatchOption, EstimateOption, MaxWaitOption, policy_words
from shunter.cli.queue_options import times_text
from shunter.errors import InputError, visible
from shunter.execution.local.folder import queue_folder
from shunter.extras import LEARN, need

if TYPE_CHECKING:
    from shunter.agents.training.trainer import Progress
    from shunter.execution.local.learning import LearnOptions
    from shunter.execution.local.run import RunResult
    from shunter.execution.local.spec import JobSpec

USUAL_CORES: Final = "1:4"
USUAL_SECONDS: Final = "5:20"
MODEL: Final = "runs/local-queue"
"""Where a policy is learned that nobody has given a place."""

JobsArgument = Annotated[
    str | None,
    Argument(
        metavar="FILE", show_default="none",
        help="Jobs: a .toml, .csv or .jsonl file; any other, or - for standard input, has a command in each line.",
    ),
]  # fmt: skip
GenerateOption = Annotated[
    int | None, Option(metavar="N", show_default="off", help="Make up so many jobs, in the place of a file.")
]
CoresOption = Annotated[
    str | None,
    Option(metavar="A:B", show_default=USUAL_CORES, help="With --generate: the cores of a job, drawn evenly."),
]
SecondsOption = Annotated[
    str | None,
    Option(metavar="A:B", show_default=USUAL_SECONDS, help="With --generate: how long a job runs, drawn evenly."),
]
SimulateOption = Annotated[
    bool,
    Option("--simulate", help="With --generate: jobs sleep; otherwise stress-ng keeps their cores busy."),
]
PolicyOption = Annotated[
    str | None,
    Option(
        metavar="NAME", show_default="fcfs",
        help="Who goes first: a name (fifo, sjf ...), a TOML or Python file, or the folder of a run.",
    ),
]  # fmt: skip
CapacityOption = Annotated[
    int | None,
    Option(metavar="N", show_default="those of this machine, or of the largest job", help="How many cores jobs share."),
]
TrainOption = Annotated[
    int | None,
    Option(
        "--train", metavar="EPISODES", show_default="off",
        help="Learn a policy: run the jobs so many times, each time with other ones if they are made up. The run in "
        "--out goes on if there is one.",
    ),
]  # fmt: skip
WindowOption = Annotated[
    int | None, Option(metavar="N", show_default="7", help="With --train: how many waiting jobs the policy sees.")
]
GammaOption = Annotated[
    float | None, Option(metavar="X", show_default="0.99", help="With --train: the discount of later rewards.")
]
RateOption = Annotated[
    float | None, Option("--lr", metavar="X", show_default="0.01", help="With --train: the learning rate.")
]
OutOption = Annotated[
    Path | None,
    Option(
        "--out", "-o", parser=path, metavar="DIR", show_default=f"this folder; with --train {MODEL}",
        help="Where metrics_<time>.jsonl and metrics_<time>.csv go; with --train, the model too.",
    ),
]  # fmt: skip
KeepOption = Annotated[
    str | None,
    Option(
        "--queue", "-q", metavar="NAME|PATH", show_default="one that is removed at the end",
        help="Run them in this queue and keep it: estimates learn from its history, and 'shunter explain' and "
        "'shunter queue' tell of its jobs.",
    ),
]  # fmt: skip


def run(
    jobs_file: JobsArgument = None,
    generate: GenerateOption = None,
    cores: CoresOption = None,
    seconds: SecondsOption = None,
    seed: Annotated[int, Option(metavar="N", help="For the jobs that are made up, and for learning.")] = 0,
    simulate: SimulateOption = False,
    policy: PolicyOption = None,
    dispatch: DispatchOption = None,
    estimate: EstimateOption = None,
    max_wait: MaxWaitOption = None,
    capacity: CapacityOption = None,
    episodes: TrainOption = None,
    window: WindowOption = None,
    gamma: GammaOption = None,
    lr: RateOption = None,
    out: OutOption = None,
    queue: KeepOption = None,
    json: JsonOption = False,
) -> None:
    """Run jobs here and now under a policy, and measure how long each waited and ran. Ctrl-C ends them all.

    The exit code is 0 if all jobs succeeded, and 1 otherwise.

    For instance:

        shunter run jobs.toml --policy sjf --estimate posterior

        shunter run --generate 50 --cores 1:4 --seconds 5:20 --policy fifo

        shunter run --generate 20 --seconds 1:4 --simulate --train 10 --out runs/mine

        shunter run --generate 50 --policy runs/mine
    """
    from shunter.execution.local.run import RunRequest, learn_on_jobs, run_jobs

    learning = _learning(episodes, window, gamma, lr, seed)
    if learning is not None and policy is not None:
        raise InputError("--train learns a policy; leave --policy out, or run with it later")
    settings = _policy_settings(policy, dispatch, estimate, max_wait)
    notes: list[str] = []
    jobs = _jobs(jobs_file, generate, cores, seconds, seed, simulate, notes)
    settings["cores"] = _capacity(capacity, jobs(1), notes)
    where = out or Path(MODEL if learning else ".")
    request = RunRequest(jobs, settings, where, None if queue is None else queue_folder(queue))
    if learning is None:
        with step("running jobs") as tell:
            result = run_jobs(request, _with_notes(tell, notes))
    else:
        with step(f"learning in {learning.episodes} episodes") as tell:
            result = learn_on_jobs(request, learning, _telling(_with_notes(tell, notes), learning.episodes))
    _print(result, None if learning is None else where, json)
    if result.is_interrupted:
        raise Exit(EXIT_INTERRUPTED)
    if not all(row["success"] for row in result.rows):
        raise Exit(EXIT_DIFFERENT)


def _learning(
    episodes: int | None, window: int | None, gamma: float | None, rate: float | None, seed: int
) -> LearnOptions | None:
    """Returns how to learn; None: nothing is learned."""
    given = {"window": window, "gamma": gamma, "learning_rate": rate}
    words: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if episodes is None:
        if words:
            raise InputError("--window, --gamma and --lr go with --train; give the number of episodes")
        return None
    need(LEARN, "--train")
    from shunter.execution.local.learning import LearnOptions

    return LearnOptions(episodes, seed=seed, **words)


def _jobs(
    file: str | None,
    generate: int | None,
    cores: str | None,
    seconds: str | None,
    seed: int,
    simulate: bool,
    notes: list[str],
) -> Callable[[int], Sequence[JobSpec]]:
    """Returns what gives the jobs of an episode; those of a file are always the same."""
    if (file is None) == (generate is None):
        raise InputError("give a file of jobs, or --generate N to make some up: shunter run --generate 50")
    if file is not None:
        if cores or seconds or simulate:
            raise InputError(
                "--cores, --seconds and --simulate go with --generate; a file says itself what its jobs do"
            )
        from shunter.execution.local.job_file import read_jobs

        listed = read_jobs(file, {"folder": os.getcwd()})
        return lambda episode: listed
    from shunter.execution.local.synthetic import STRESS, Synthetic, Uniform

    assert generate is not None
    works = not simulate and Synthetic.can_work()
    if not works and not simulate:
        notes.append(f"{STRESS} is not installed (Debian: apt install {STRESS}): jobs sleep, as with --simulate")
    drawn = Synthetic(
        generate,
        Uniform.parse("--cores", cores or USUAL_CORES, 1, 1024),
        Uniform.parse("--seconds", seconds or USUAL_SECONDS, 0.001, 1e6),
        works,
        os.getcwd(),
    )
    # Far apart, so that the jobs of one seed are not those of the next one a little later.
    return lambda episode: drawn.jobs(seed * 1_000_003 + episode)


def _capacity(given: int | None, jobs: Sequence[JobSpec], notes: list[str]) -> int:
    """Returns how many cores jobs share."""
    here = len(os.sched_getaffinity(0))
    largest = max(job.cores for job in jobs)
    if given is not None:
        return given
    if largest > here:
        what = f"a job asks for {largest} cores, and this machine has {here}"
        notes.append(f"{what}: {largest} are counted, and jobs share the machine's (--capacity)")
    return max(here, largest)


def _policy_settings(
    policy: str | None, dispatch: str | None, estimate: str | None, max_wait: str | None
) -> dict[str, Any]:
    """Returns the setting of a queue that says who decides, checked; nothing if no policy is named."""
    # The file of a policy is named by its suffix, and its errors are told where it is read.
    if policy is not None and "/" in policy and not Path(policy).suffix and not Path(policy).exists():
        how = f"shunter run --generate 50 --train 20 --out {policy}"
        raise InputError(f"policy {policy!r}: there is no model here; learn one first, as in: {how}")
    words = policy_words(policy, dispatch, estimate, max_wait)
    if not words:
        return {}
    from shunter.execution.deciding import queue_scheduler

    queue_scheduler(words)
    return {"policy": words}


def _with_notes(tell: Callable[[int, int], None], notes: list[str]) -> Callable[[int, int], None]:
    """Prints notes with the first progress, when nothing can be refused any more: an error is one line."""

    def print_once(done: int, total: int) -> None:
        while notes:
            echo(notes.pop(0), err=True)
        tell(done, total)

    return print_once


def _telling(tell: Callable[[int, int], None], episodes: int) -> Callable[[Progress], None]:
    """Returns what prints a line after each episode."""
    done = 0

    def told(progress: Progress) -> None:
        nonlocal done
        done += 1
        tell(done, episodes)
        figures = progress.figures
        waits = f"mean wait {figures['episode/wait']:.2f} s, longest {figures['episode/max_wait_s']:.2f} s"
        echo(f"episode {done} of {episodes}: {waits}, {figures['episode/steps']:.0f} decisions", err=True)

    return told


def _print(result: RunResult, model: Path | None, json: bool) -> None:
    """Prints what has run."""
    from shunter.execution.local.run_metrics import summary

    told = summary(result.rows)
    if result.policy_failures:
        what = f"the policy failed {times_text(result.policy_failures)}, and fcfs decided instead"
        echo(visible(f"{what}; last: {result.last_failure}"), err=True)
    if json:
        told |= {"interrupted": result.is_interrupted, "policy_failures": result.policy_failures}
        print_json({**told, "files": [str(file) for file in result.files], "model": model and str(model)})
        return
    from shunter.report.queue import print_ran

    print_ran(result.jobs, told, result.said)
    if result.is_interrupted:
        echo("Interrupted: the jobs that were left were ended.")
    for file in result.files:
        echo(visible(f"Wrote {file}"))
    if model is not None and result.files:
        echo(visible(f"The policy is in {model}; next: shunter run --generate 50 --policy {model}"))
