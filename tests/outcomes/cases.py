"""The cases: what is run for each expected file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A command line of one of the commands, to be run in a folder with the files of ``inputs/``."""

    command: str
    name: str
    words: str
    """Behind the command. For ``serve`` a policy and a file with a snapshot, for ``queue`` the words of ``start``."""
    before: tuple[str, ...] = ()
    """Command lines that are run first. For ``queue`` its verbs, for ``operate`` lines of the configuration."""


def crowded(jobs: int) -> str:
    """Parallel jobs, more than the machine can do at once."""
    return f"'generate:lublin?seed=3&jobs={jobs}&cores=64&load=1.1&requests=factor'"


def uniform(jobs: int) -> str:
    """Jobs of all sizes, all as likely."""
    return f"'generate:uniform?seed=1&jobs={jobs}&cores=64&load=1.1&requests=factor'"


def bursts(jobs: int) -> str:
    """Bursts of jobs with GPUs."""
    return f"'generate:bursty-gpu?seed=5&jobs={jobs}&nodes=2&load=1.2&requests=factor'"


LONG = crowded(600)
EDGE = "edge.csv --cluster 8"
NODES = "nodes.csv --cluster nodes.toml"
GPUS = "gpus.csv --cluster gpus.toml"
SITE = "site.csv --cluster site.toml"
KINDS = "kinds.csv --cluster kinds.toml --placement fastest"

SIMULATED = {
    # Dispatch rules on one pool, where a job that ends at the shadow time itself may pass, and one that ends later not.
    "strict": f"{EDGE} --dispatch strict",
    "greedy": f"{EDGE} --dispatch greedy --policy sjf",
    "easy": f"{EDGE} --dispatch easy",
    "conservative": f"{EDGE} --dispatch conservative",
    "three-reservations": f"{EDGE} --dispatch 3 --policy saf",
    "committed": f"{EDGE} --dispatch committed --policy sjf",
    "committed-backfill": f"{EDGE} --dispatch committed-backfill --policy f1",
    "easy-many": f"{crowded(70)} --dispatch easy --policy sjf",
    "easy-on-nodes": "edge.csv --cluster pair.toml --dispatch easy",
    "conservative-on-nodes": "edge.csv --cluster pair.toml --dispatch conservative --policy sjf --placement pack",
    "conservative-many": f"{uniform(70)} --dispatch conservative --policy saf",
    "window": f"{LONG} --start 250 --length 40 --policy f2 --estimate posterior",
    # Orders.
    "sjf-ties": f"{EDGE} --policy sjf --dispatch strict",
    "priority": f"{EDGE} --policy priority",
    "priority-missing-request": f"{EDGE} --policy ljf --missing-request 10m",
    "smallest": f"{EDGE} --policy smallest",
    "wfp3": f"{uniform(50)} --policy wfp3",
    "unicef-greedy": f"{uniform(50)} --policy unicef --dispatch greedy",
    "hybrid": f"{uniform(50)} --policy 'hybrid?aging=0.5'",
    "fair-share": f"{EDGE} --policy 'fair-share?half_life_s=200'",
    "multifactor": f"{EDGE} --policy multifactor.toml",
    "linear": f"{uniform(50)} --policy cautious.toml",
    "linear-holding": f"{uniform(50)} --policy 'linear?hold_share=0.2&hold_from_s=600&reserve_below=-3'",
    "random": f"{uniform(40)} --policy random --seed 7",
    "own-policy": f"{uniform(50)} --policy my_policy.py",
    "checkpoint": f"{crowded(70)} --policy runs/jobs",
    "checkpoint-feasible": f"{uniform(50)} --policy runs/sjf",
    "checkpoint-on-nodes": "edge.csv --cluster pair.toml --policy runs/jobs",
    "checkpoint-and-gpus": f"{GPUS} --policy runs/jobs",
    # Limits on waits, limits on run times.
    "max-wait": f"{uniform(60)} --policy sjf --max-wait 2h",
    "max-wait-own-policy": f"{uniform(40)} --policy my_policy.py --max-wait 1h --dispatch conservative",
    "kill-at-request": f"{EDGE} --policy sjf --kill-at-request",
    # Estimates.
    "perfect": f"{uniform(50)} --policy sjf --estimate perfect",
    "noisy": f"{uniform(40)} --policy sjf --estimate 'noisy?sigma=1.5' --seed 4",
    "last-two": f"{EDGE} --policy sjf --estimate last-two --reserve-by estimate",
    "history": f"{GPUS} --policy qssf --reserve-by estimate",
    "posterior": f"{NODES} --policy sjf --estimate posterior",
    # Nodes, memory, features, whole nodes.
    "nodes": NODES,
    "nodes-conservative-best-fit": f"{NODES} --policy saf --dispatch conservative --placement best-fit",
    "nodes-spread": f"{NODES} --policy sjf --placement spread",
    "nodes-worst-fit": f"{NODES} --placement worst-fit --dispatch greedy",
    "nodes-random": f"{NODES} --placement random --seed 3",
    "hosts-of-a-farm": "'generate:eda?seed=2&jobs=60&hosts=2&max_jobs_per_step=4' --policy saf --placement best-fit",
    "checkpoint-hosts": "'generate:eda?seed=2&jobs=60&hosts=3&max_jobs_per_step=6' --placement runs/hosts",
    # GPUs.
    "gpus": GPUS,
    "gpus-pack": f"{GPUS} --policy priority --placement pack",
    "gpus-fastest": f"{GPUS} --policy sjf --placement fastest --dispatch greedy",
    "gpus-slowest": f"{GPUS} --placement slowest-that-fits --dispatch conservative",
    "gpus-topology": f"{GPUS} --placement topology",
    "gpus-fgd": f"{GPUS} --placement fgd",
    "gpus-tiered-defrag": f"{GPUS} --placement tiered-defrag --policy sjf",
    "gpus-tiered-balance": f"{GPUS} --placement tiered-balance",
    "gpus-own-placement": f"{GPUS} --placement last_nodes_first.py",
    "gpus-wait-for-locality": f"{GPUS} --wait-for-locality always --policy fcfs --dispatch greedy",
    "gpus-wait-for-locality-a-while": f"{GPUS} --wait-for-locality 10m --placement spread",
    "gpu-bursts": f"{bursts(60)} --policy priority --placement pack",
    "gpus-sized-by-cores": f"{GPUS} --policy smallest --size-by cores",
    "kinds": f"{KINDS} --policy sjf",
    "kinds-prices": f"{KINDS} --policy sjf --pairs prices.toml",
    "kinds-earliest-finish": f"{KINDS} --policy fcfs --pairs eft --dispatch greedy",
    "kinds-scored": f"{KINDS} --policy 'pairs?lost_slower=1&accept=0.05&size=1&slower=2' --dispatch greedy",
    # Policies that stop jobs.
    "srtf": f"{EDGE} --policy srtf --preemption-overhead 5s",
    "srsf": f"{bursts(50)} --policy srsf --min-run 5m --preemption-overhead 30s",
    "las": f"{GPUS} --policy las --min-run 150s --preempted-progress lost",
    "las-levels": f"{bursts(50)} --policy 'las?first_s=3600&second_s=36000' --preemption-overhead-per-gb 1s",
    "gittins": f"{bursts(60)} --policy gittins --min-run 2m --preemption-overhead 10s --max-wait 6h",
    # The rules of a site, and failures.
    "site": SITE,
    "site-conservative": f"{SITE} --policy sjf --dispatch conservative",
    "site-multifactor": f"{SITE} --policy multifactor.toml --dispatch greedy",
    "failures": f"{NODES} --failures failures.csv",
    "failures-progress-kept": f"{NODES} --failures failures.csv --failed-progress kept --policy sjf",
    "failures-drawn": f"{NODES} --mtbf 5m --mttr 20s --seed 11",
}

WINDOWS = "--windows 10 --length 40"
COMPARED = {
    "classics": f"{LONG} --policy fcfs,sjf,saf,wfp3 --dispatch easy,conservative {WINDOWS}",
    "estimates": f"{LONG} --policy sjf,f1 --dispatch greedy --estimate requested,posterior,perfect {WINDOWS} "
    "--warmup 60 --metric mean_wait_s",
    "few-blocks": f"{LONG} --policy fcfs,sjf --part 0.5:1 --windows 8 --length 50 --blocks 5 --seed 3 "
    "--baseline sjf/easy",
    "limit-on-waits": f"{uniform(600)} --policy fcfs,sjf,ljf {WINDOWS} --max-wait 12h --metric max_wait_s",
    "placements": f"{bursts(300)} --policy sjf --placement first-fit,pack,spread --windows 6 --length 40 "
    "--metric nodes_per_job",
    "stopping": f"{bursts(300)} --policy fcfs,las,srtf --dispatch greedy --windows 6 --length 40",
    "own-and-checkpoint": f"{LONG} --policy fcfs,my_policy.py,runs/jobs --windows 5 --length 25",
}
CHANGED = {
    "cluster": f"{LONG} --length 300 --policy sjf --change cores=+50% --change cores=48 --change load=80% "
    "--change max-wait=4h",
    "rules": f"{uniform(300)} --change dispatch=conservative --change dispatch=strict --change policy=saf "
    "--change estimate=perfect --change request=2x",
    "nodes": f"{NODES} --change placement=spread --change failures=failures.csv --change seed=5",
    "site": f"{SITE} --change policy=sjf --change dispatch=greedy",
    "types": f"{KINDS} --policy sjf --dispatch greedy --change pairs=prices.toml --change pairs=eft",
}
SEARCH = "--windows 6 --length 40 --generations 3 --population 6 --report-windows 6 --out tuned.toml"
TUNED = {
    "linear": f"{LONG} --dispatch easy {SEARCH}",
    "linear-bounded": f"{LONG} --dispatch conservative --estimate requested --objective mean-wait --bound max-wait=1.5 "
    f"{SEARCH} --seed 2",
    "multifactor": f"{uniform(500)} --kind multifactor --dispatch easy --max-wait 2d {SEARCH}",
    "several-logs": f"--workload {LONG} --workload {uniform(400)} --dispatch greedy --estimate requested {SEARCH}",
    "limits-on-waits": f"{uniform(500)} --dispatch easy --max-wait off,1d,6h {SEARCH}",
}
CLASSICS = "--against fcfs/easy,sjf/easy,f2/greedy"
EVALUATED = {
    "jobs": f"runs/jobs {LONG} --windows 8 --length 25 {CLASSICS}",
    "two": f"runs/jobs runs/sjf {LONG} --windows 6 --length 25 --part 0.4:0.9 --seed 2 {CLASSICS}",
    "warm": f"runs/sjf {uniform(500)} --windows 6 --length 30 --warmup 30 --metric mean_wait_s {CLASSICS}",
}
EXPLAINED = {
    "order": (f"{EDGE} --policy sjf", 2),
    "passed": (f"{EDGE} --dispatch conservative", 11),
    "started-at-once": (EDGE, 1),
    "rejected": (EDGE, 18),
    "many": (f"{crowded(120)} --policy saf", 46),
    "memory": (NODES, 6),
    "down": (f"{NODES} --failures failures.csv", 10),
    "gpus": (f"{GPUS} --policy sjf", 14),
    "locality": (f"{GPUS} --wait-for-locality always", 9),
    "limit": (SITE, 4),
    "reserved": (SITE, 23),
    "held": (SITE, 14),
    "stopped": (f"{EDGE} --policy srtf", 11),
}
PREDICTED = {
    "log": f"{LONG} --job 200 --futures 20 --top 100",
    "log-sjf": f"{LONG} --at 30h --policy sjf --futures 15 --seed 5 --top 100",
    "new-job": f"{LONG} --at 15h --cores 40 --time 2h --futures 20",
    "new-job-killed-late": f"{uniform(300)} --at 2d --cores 30 --time 3h --kill-at-request --dispatch "
    "conservative --futures 12",
    "state": "--snapshot pool-state.json --futures 25",
    "state-new-job": "--snapshot gpu-state.json --policy sjf --cores 4 --gpus 1 --time 20m --futures 10",
    "site": "--snapshot site-state.json --futures 10",
}
ADVISED = {
    "crowded": "'generate:uniform?seed=1&jobs=900&load=1.0&requests=factor' --quick",
    "crowded-loosely-bound": "'generate:uniform?seed=1&jobs=900&load=1.0&requests=factor' --quick --bound max-wait=5",
    "quiet": "'generate:lublin?seed=3&jobs=900&cores=4096&load=0.01&requests=factor' --quick",
    "keep": "'generate:lublin?seed=4&jobs=900&cores=64&load=0.6&requests=factor' --quick",
    "too-short": "'generate:uniform?seed=1&jobs=300&load=1.0&requests=factor' --quick",
}

WAITING = ("pause", "submit --file queue.csv")
EQUAL = ("edit 5 --priority 0", "edit 7 --priority 0")
BEHIND = ("submit --cores 3 --time 15m -- sleep 600", *WAITING, "edit 6 --priority 0", "edit 8 --priority 0", "hold 5")
"""A job runs that leaves too little room for the first; one behind it may pass, and one would delay it."""
QUEUED = {
    "fcfs": ("--cores 4", WAITING),
    "sjf-greedy": ("--cores 4 --policy sjf --dispatch greedy", WAITING),
    "saf-strict": ("--cores 6 --policy saf --dispatch strict", WAITING),
    "behind-a-running-job": ("--cores 5 --policy fcfs --dispatch easy", BEHIND),
    "conservative": ("--cores 5 --policy largest --dispatch conservative", BEHIND),
    "limited-group": ("--cores 8 --policy sjf", (*WAITING, "limit 1 --group narrow", "hold 2")),
    "own-policy": ("--cores 5 --policy my_policy.py", (*WAITING, *EQUAL)),
}
OPERATED = {
    "slurm-sjf": ("slurm --policy sjf", ()),
    "slurm-nudge": ("slurm --policy sjf --mode nudge --dry-run", ("most_nudge = 5000", "step = 10")),
    "slurm-limit-on-waits": ("slurm --policy sjf", ('max_wait_s = "55m"',)),
    "slurm-strict": ("slurm --policy saf --mode nudge --dry-run", ('dispatch = "strict"', 'users = ["cat", "dan"]')),
    "lsf-sjf": ("lsf --policy sjf", ()),
    "lsf-nudge": ("lsf --policy sjf --mode nudge --dry-run", ()),
}
SERVED = {
    "pool": "sjf pool-state.json",
    "pool-wfp3": "wfp3 pool-state.json",
    "pool-own-policy": "own pool-state.json",
    "pool-tuned": "tuned pool-state.json",
    "pool-checkpoint": "learned pool-state.json",
    "gpus": "sjf gpu-state.json",
    "site": "sjf site-state.json",
    "slurm": "sjf slurm-snapshot.json",
}
RAN = {
    "file-fcfs": "short.csv --capacity 3",
    "file-sjf": "short.csv --capacity 3 --policy sjf",
    "file-saf-strict": "short.csv --capacity 3 --policy saf --dispatch strict",
    "made-up-ljf": "--generate 7 --cores 2:3 --capacity 3 --seconds 0.01:0.05 --simulate --policy ljf --seed 1",
    "own-policy": "--generate 7 --cores 2:3 --capacity 3 --seconds 0.01:0.05 --simulate --policy my_policy.py --seed 2",
}

CASES = (
    *(Case("simulate", name, words) for name, words in SIMULATED.items()),
    *(Case("compare", name, words) for name, words in COMPARED.items()),
    *(Case("what-if", name, words) for name, words in CHANGED.items()),
    *(Case("tune", name, words) for name, words in TUNED.items()),
    *(Case("evaluate", name, words) for name, words in EVALUATED.items()),
    *(
        Case("explain", name, f"run {job}", (f"simulate {words} --out run",))
        for name, (words, job) in EXPLAINED.items()
    ),
    *(Case("eta", name, words) for name, words in PREDICTED.items()),
    *(Case("advise", name, words) for name, words in ADVISED.items()),
    *(Case("queue", name, words, before) for name, (words, before) in QUEUED.items()),
    *(Case("operate", name, words, before) for name, (words, before) in OPERATED.items()),
    *(Case("serve", name, words) for name, words in SERVED.items()),
    *(Case("run", name, words) for name, words in RAN.items()),
)  # fmt: skip
