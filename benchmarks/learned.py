"""What learning adds on public logs, judged on days that nothing has seen: `docs/results.md` holds what this printed.

    PYTHONPATH=. python benchmarks/learned.py TRACES reserve [--seeds 0,1,2] [--logs KTH-SP2,...] [--steps 1500000]
    PYTHONPATH=. python benchmarks/learned.py TRACES committed [--seeds 0,1,2]
    PYTHONPATH=. python benchmarks/learned.py TRACES hosts [--seeds 42,43,44]
    PYTHONPATH=. python benchmarks/learned.py TRACES fifty [--seeds 42] [--steps 60000000] [--threads 2]

TRACES is a folder with the SWF logs that `benchmarks/headroom.py` names. For each log and seed the commands that a user
would give are run and printed: `shunter tune` on the first 60 % of the log, and `shunter train --init tuned.toml` on
the first half, whose best checkpoint is chosen on the next fifth. Then everything is measured on twenty windows of
1,024 jobs from the last 30 %, from an empty cluster (cold) and with 512 jobs before (warm), beside every classic under
every dispatch rule. Runs are kept in --runs, and used again if they are there. `hosts` and `fifty` draw their jobs and
need no logs: any folder will do.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.headroom import (
    LOGS,
    METRICS,
    TRAIN,
    Measured,
    Row,
    classic_rows,
    hindsight,
    over_seeds,
    pooled,
    read_log,
    report_case,
    seeds_of,
    select,
    to_json,
)
from shunter.agents.training.trials import Trials
from shunter.comparison.bench import Bench
from shunter.comparison.combinations import combine
from shunter.envs.episodes import EpisodeOptions
from shunter.envs.pick_host import PickHostOptions, host_scheduler
from shunter.envs.sources import Use
from shunter.files import read_toml
from shunter.model.log import Log
from shunter.policies.catalog import PLACEMENTS
from shunter.policies.prior import fit_prior, save_prior
from shunter.policies.scheduler import resolve_scheduler

STARTS = {"cold": 0, "warm": 512}
BOUND = "mean-wait=1.1"
OWN = "own"
"""The estimate of a tuned or learned policy: the one that its training days chose."""
DRAWN_SEEDS = (42, 43, 44)
"""Of the episodes on which a policy for fifty hosts is judged."""
USUAL_SEEDS = {"reserve": "0,1,2", "committed": "0,1,2", "hosts": "42,43,44", "fifty": "42"}
USUAL_STEPS = {"reserve": 1_500_000, "committed": 1_500_000, "hosts": 1_500_000, "fifty": 60_000_000}
HOST_METRICS = ("mean_wait_s", "p95_wait_s", "mean_bounded_slowdown", "makespan_s", "core_utilization")
DRAWN = "generate:lublin?jobs=200000&cores=256&load=1.02&seed={seed}"


@dataclass(frozen=True)
class Study:
    """What to run, and where."""

    traces: Path
    runs: Path
    seeds: tuple[int, ...]
    steps: int
    threads: int
    workers: int
    report_seed: int
    max_jobs_per_step: int

    def workload(self, name: str, log: Log) -> Path:
        """Returns a file for the command line; a log in several files is written as one."""
        files = LOGS[name]
        if len(files) == 1:
            return self.traces / files[0]
        path = self.runs / f"{name}.parquet"
        if not path.exists():
            log.workload.jobs.write_parquet(path)
        return path

    def run(self, words: list[str], out: Path) -> None:
        """Runs a command of Shunter's, unless what it writes is there."""
        print("$ " + shlex.join(words), file=sys.stderr, flush=True)
        if out.is_file() or (self.runs / f"{out.name}.txt").exists():
            return
        done = subprocess.run([sys.executable, "-c", "from shunter.cli import main; main()", *words[1:]], check=False,
                              capture_output=True, text=True)  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{shlex.join(words)} failed: {done.stderr}")
        # Written last: a run that was cut short has none, and is begun again.
        (self.runs / f"{out.name}.txt").write_text(done.stdout)


def main() -> None:
    """Runs one of the studies and prints it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path)
    parser.add_argument("study", choices=list(USUAL_SEEDS))
    parser.add_argument("--seeds")
    parser.add_argument("--logs", default=",".join(LOGS))
    parser.add_argument("--steps", type=int, help="of each training (default: 60,000,000 for fifty, else 1,500,000)")
    parser.add_argument("--threads", type=int, default=1, help="of each training")
    parser.add_argument(
        "--max-jobs-per-step", type=int, default=30, help="fifty: how many jobs arrive in a second at most"
    )
    parser.add_argument("--report-seed", type=int, default=1, help="for the windows on which all is judged")
    parser.add_argument("--workers", type=int, default=2, help="how many trainings at a time")
    parser.add_argument("--runs", type=Path, default=Path("runs/results"))
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    given = parser.parse_args()
    seeds = tuple(int(seed) for seed in (given.seeds or USUAL_SEEDS[given.study]).split(","))
    given.runs.mkdir(parents=True, exist_ok=True)
    steps = given.steps or USUAL_STEPS[given.study]
    study = Study(
        given.traces, given.runs, seeds, steps, given.threads, given.workers, given.report_seed, given.max_jobs_per_step
    )
    studies = {"reserve": reserve, "committed": committed, "hosts": hosts, "fifty": fifty}
    rows = studies[given.study](study, given.logs.split(","))
    if given.out:
        given.out.write_text(json.dumps([to_json(row) for row in rows], indent=1))


def reserve(study: Study, names: list[str]) -> list[Row]:
    """A policy that starts from the tuned score, against all classics under all dispatch rules."""
    logs = {name: read_log(study.traces, name) for name in names}

    def learn(job: tuple[str, int]) -> tuple[Path, Path]:
        name, seed = job
        return tuned_and_trained(study, name, logs[name], seed)

    jobs = [(name, seed) for name in names for seed in study.seeds]
    with ThreadPoolExecutor(study.workers) as executor:
        found = dict(zip(jobs, executor.map(learn, jobs), strict=True))
    rows: list[Row] = []
    for name, log in logs.items():
        cases = {start: report_case(log, warmup, study.report_seed, 2) for start, warmup in STARTS.items()}
        # Fitted on the same days as the tuned files; those may have chosen another estimate.
        prior = study.runs / f"{name}-prior.toml"
        save_prior(fit_prior(log.workload, part=TRAIN), prior)
        estimates = {"requested": "requested", "posterior": str(prior)}
        for estimate, spec in estimates.items():
            rows += classic_rows(name, cases, estimate, spec)
        for seed in study.seeds:
            for start, case in cases.items():
                toml, run = found[name, seed]
                # The file brings its dispatch rule: what was tuned may be a classic under another one.
                settings = resolve_scheduler(policy=str(toml), estimate=str(toml))
                add = {"tuned": case.measure(settings, METRICS), "learned": measured_by(case, run)}
                for method, values in add.items():
                    rows.append(Row(name, start, method, OWN, seed, method, values, case.block))
        print(f"{name}: done", file=sys.stderr, flush=True)
    chosen = {name: chosen_classic(found[name, study.seeds[0]][0]) for name in names}
    for start in STARTS:
        print_reserve([row for row in rows if row.start == start], start, chosen)
    return rows


def tuned_and_trained(study: Study, name: str, log: Log, seed: int) -> tuple[Path, Path]:
    """Returns the file of the tuned score and the folder of the run that starts from it."""
    workload = str(study.workload(name, log))
    cluster = ["--cluster", str(log.workload.cluster_spec)]
    toml, run = study.runs / f"{name}-{seed}.toml", study.runs / f"{name}-{seed}"
    shared = ["--workload", workload, *cluster, "--bound", BOUND, "--seed", str(seed)]
    shared += ["--threads", str(study.threads)]
    study.run(["shunter", "tune", *shared, "--out", str(toml)], toml)
    train = [
        "shunter",
        "train",
        *shared,
        "--init",
        str(toml),
        "--train",
        "0:0.5",
        "--validation",
        "0.5:0.7",
        "--steps",
        str(study.steps),
        "--out",
        str(run),
        "--force",
    ]
    study.run(train, run)
    return toml, run


def chosen_classic(toml: Path) -> str:
    """Returns the classic that was the best on the training days of a tuned score."""
    return str(read_toml(toml)["tuned"]["logs"][0]["chosen"])


def measured_by(case: Bench, run: Path) -> Measured:
    """Returns what a checkpoint does on the windows of a bench."""
    return case.measure(resolve_scheduler(policy=str(run)), METRICS)


def print_reserve(rows: list[Row], start: str, chosen: dict[str, str]) -> None:
    """Prints what each method did, on each log and pooled, against the best classic in hindsight.

    Args:
        rows: What was measured from one kind of start.
        start: Its name.
        chosen: For each log, the classic that was the best on training days.
    """
    logs = list(dict.fromkeys(row.log for row in rows))
    best = {log: hindsight(rows, log, "requested") for log in logs}
    informed = {log: hindsight(rows, log, "posterior") for log in logs}
    foreseen = {
        log: next(row for row in select(rows, log, "classic", "requested") if row.policy == chosen[log]) for log in logs
    }
    print(f"\n### {start.capitalize()} start: ratio of geometric means for each seed; mean waits\n")
    columns = ["log", "best classic in hindsight", "chosen on training days", "the best with the posterior", "tuned"]
    print("| " + " | ".join([*columns, "learned", "learned against tuned"]) + " |")
    print("|---" * (len(columns) + 2) + "|")
    for log in logs:
        tuned, learned = (select(rows, log, method, OWN) for method in ("tuned", "learned"))
        against = ", ".join(
            f"{np.exp((one.log_metric - other.log_metric).mean()):.3f}"
            for one, other in zip(learned, tuned, strict=True)
        )
        cells = [
            f"{best[log].policy} {np.exp(best[log].log_metric.mean()):.2f}",
            f"{chosen[log]} {over_seeds([foreseen[log]], best[log])}",
            f"{informed[log].policy} {over_seeds([informed[log]], best[log])}",
            over_seeds(tuned, best[log]),
            over_seeds(learned, best[log]),
            against,
        ]
        print(f"| {log} | " + " | ".join(cells) + " |")
    columns = ["the best classic in hindsight", "the one chosen on training days", "the best with the posterior"]
    print("\n| pooled over logs and seeds | " + " | ".join(f"against {column}" for column in columns) + " |")
    print("|---|---|---|---|")
    for method in ("tuned", "learned"):
        found = [row for row in rows if row.method == method]
        by_seed = [[row for row in found if row.seed == seed] for seed in seeds_of(found)]
        print(f"| {method} | {pooled(by_seed, best)} | {pooled(by_seed, foreseen)} | {pooled(by_seed, informed)} |")
    print(f"| learned against tuned | {pooled_pairs(rows)} | | |")


def pooled_pairs(rows: list[Row]) -> str:
    """Returns the ratio of learned to tuned with the same seed, pooled over logs and seeds."""
    tuned = {(row.log, row.seed): row for row in rows if row.method == "tuned"}
    pairs = []
    for row in rows:
        if row.method == "learned":
            base = tuned[row.log, row.seed]
            slowdown = row.measured["mean_bounded_slowdown"] / base.measured["mean_bounded_slowdown"]
            wait = row.measured["mean_wait_s"].mean() / base.measured["mean_wait_s"].mean()
            ratio = {"mean_bounded_slowdown": slowdown, "mean_wait_s": np.full_like(slowdown, wait)}
            pairs.append(replace(row, measured=ratio))
    ones = {row.log: replace(row, measured={name: np.ones_like(row.block, float) for name in METRICS}) for row in pairs}
    return pooled([[row for row in pairs if row.seed == seed] for seed in seeds_of(pairs)], ones)


def committed(study: Study, _: list[str]) -> list[Row]:
    """RLScheduler's rule on lublin_256: the learned order against every classic under the same rule.

    The log was drawn from Lublin and Feitelson's model, and is short. What is trained and chosen on is drawn from the
    same model, with other seeds and the load of the log's first 60 %.
    """
    name = "lublin_256"
    log = read_log(study.traces, name)
    case = report_case(log, 0, study.report_seed, 2)

    def learn(seed: int) -> Path:
        run = study.runs / f"committed-{seed}"
        words = ["shunter", "train", "--workload", DRAWN.format(seed=100 + seed), "--preset", "pick-job-committed"]
        study.run(
            [
                *words,
                "--seed",
                str(seed),
                "--steps",
                str(study.steps),
                "--threads",
                str(study.threads),
                "--out",
                str(run),
                "--force",
            ],
            run,
        )
        return run

    with ThreadPoolExecutor(study.workers) as executor:
        runs = list(executor.map(learn, study.seeds))
    rows = [
        Row(name, "cold", "classic", "requested", None, one.settings.policy, case.measure(one.scheduler, METRICS),
            case.block)
        for one in combine(["all"], ["committed"]).possible
    ]  # fmt: skip
    for seed, run in zip(study.seeds, runs, strict=True):
        measured = measured_by(case, run)
        rows.append(Row(name, "cold", "learned", "requested", seed, f"learned, seed {seed}", measured, case.block))
    print("\n| under committed | geometric mean | mean | mean wait, h |\n|---|---|---|---|")
    rows.sort(key=lambda row: float(row.log_metric.mean()))
    for row in rows[:10]:
        values = row.measured
        print(
            f"| {row.policy} | {np.exp(row.log_metric.mean()):.1f} | {values['mean_bounded_slowdown'].mean():.1f} | "
            f"{values['mean_wait_s'].mean() / 3600:.2f} |"
        )
    best = next(row for row in rows if row.method == "classic")
    learned = [[row] for row in rows if row.method == "learned"]
    print(f"\nlearned, pooled over seeds, against {best.policy}: {pooled(learned, {name: best})}")
    return rows


def hosts(study: Study, _: list[str]) -> list[Row]:
    """PickHost: the learned choice of hosts against every placement, one policy for each seed."""
    with ThreadPoolExecutor(study.workers) as executor:
        runs = list(executor.map(lambda seed: host_run(study, "hosts", seed), study.seeds))
    judge_hosts(list(zip(study.seeds, runs, strict=True)))
    return []


def fifty(study: Study, _: list[str]) -> list[Row]:
    """PickHost with fifty hosts: one policy, on episodes drawn from three seeds.

    Up to 30 jobs arrive in a second, as many for a host as the 12 for twenty hosts of `hosts`. With 12, nobody ever
    waits on fifty hosts, and all placements are the same.
    """
    if len(study.seeds) != 1:
        raise SystemExit(f"fifty trains one policy: give --seeds one seed, not {len(study.seeds)}")
    run = host_run(
        study, "fifty", study.seeds[0], ["--num-hosts", "50", "--max-jobs-per-step", str(study.max_jobs_per_step)]
    )
    judge_hosts([(seed, run) for seed in DRAWN_SEEDS])
    return []


def host_run(study: Study, name: str, seed: int, options: Sequence[str] = ()) -> Path:
    """Returns the folder of a policy that was trained in PickHost."""
    run = study.runs / f"{name}-{seed}"
    words = ["shunter", "train", "--env", "pick-host", *options, "--seed", str(seed), "--steps", str(study.steps)]
    study.run([*words, "--threads", str(study.threads), "--out", str(run), "--force"], run)
    return run


def judge_hosts(judged: list[tuple[int, Path]]) -> None:
    """Prints what learned policies and every placement do on the same 100 episodes of each seed, and their differences.

    Args:
        judged: The seeds that episodes are drawn from, each with the folder of the policy to judge on them.
    """
    from shunter import load_policy

    print("\n| seed | policy | " + " | ".join(HOST_METRICS) + " | learned less it, mean wait, s |")
    print("|---" * (3 + len(HOST_METRICS)) + "|")
    gained: dict[str, list[NDArray[np.float64]]] = {name: [] for name in PLACEMENTS}
    for seed, run in judged:
        policy = load_policy(run)
        options = policy.options
        assert isinstance(options, PickHostOptions)
        trials = Trials.of(
            replace(options, seed=seed).open_source(), EpisodeOptions(windows=100), Use.TRAINING, threads=2
        )
        (learned,) = trials.of_policy(policy, HOST_METRICS)
        for name in PLACEMENTS:
            (measured,) = trials.of_schedulers([host_scheduler(name)], HOST_METRICS)
            gained[name].append(learned["mean_wait_s"] - measured["mean_wait_s"])
            print_hosts(seed, name, measured, paired(gained[name][-1]))
        print_hosts(seed, "learned", learned)
    for name, differences in gained.items():
        print(f"all seeds: learned less {name}, mean wait, s: {paired(np.concatenate(differences))}")


def paired(differences: NDArray[np.float64]) -> str:
    """Returns the mean of differences on the same episodes, and its standard error."""
    return f"{differences.mean():+.4f} ± {differences.std(ddof=1) / np.sqrt(len(differences)):.4f}"


def print_hosts(seed: int, name: str, measured: Measured, difference: str = "") -> None:
    """Prints the means over episodes."""
    means = " | ".join(f"{np.nanmean(values):.4g}" for values in measured.values())
    print(f"| {seed} | {name} | {means} | {difference} |")


if __name__ == "__main__":
    main()
