"""Fixed labels of what each command answers, one function a command.

Whoever changes what a command prints changes its function here, and no expected file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.outcomes.cases import Case

Labels = dict[str, Any]

FIGURES: Final = (
    "mean_wait_s", "median_wait_s", "p95_wait_s", "max_wait_s", "mean_turnaround_s", "mean_slowdown",
    "mean_bounded_slowdown", "makespan_s", "core_utilization", "memory_utilization", "gpu_utilization",
    "flops_weighted_utilization", "mean_fragmentation", "mean_partly_used_nodes", "nodes_per_job", "load_imbalance",
    "completion_rate", "cancelled_jobs", "mean_queue_length", "throughput_jobs_per_hour", "jain_fairness_users",
    "preemptions", "failures", "migrations", "lost_gpu_hours",
)  # fmt: skip
"""Of one simulation."""
OVER_WINDOWS: Final = (
    "geometric_mean", "mean", "median", "p95", "win_rate", "ratio", "ratio_low", "ratio_high", "means_ratio",
    "difference", "difference_low", "difference_high", "worst_block", "worst_block_mean", "mean_wait_s", "p95_wait_s",
    "max_wait_s", "core_utilization", "gpu_utilization", "lost_gpu_hours",
)  # fmt: skip
"""Of one policy in the windows of a comparison."""
PREDICTED: Final = {
    "low_s": "low_s",
    "median_s": "median_s",
    "high_s": "high_s",
    "starts_within_an_hour": "within_hour",
    "starts_within_a_day": "within_day",
    "starts_later": "beyond_horizon",
}
REASONS: Final = {
    "no_room": "no room",
    "it does not fit beside those that run": "no room",
    "delays": "would delay a reservation",
    "it fits, but would delay a reservation": "would delay a reservation",
    "behind": "behind another job",
    "it fits, but stands behind a job": "behind another job",
    "held_back": "held back by the policy",
    "nodes_down": "nodes are down",
    "limit": "at a limit",
    "reserved": "nodes are reserved",
    "its group": "at a limit",
    "it is held": "held",
    "waits for a place under a limit": "at a limit",
    "waits for job": "waits for another job",
    "its user is not on the list": "user not allowed",
    "JobHeldUser": "held",
    "it would not fit though": "can never fit",
    "it fits on no nodes": "can never fit",
}
"""Why jobs wait, by the beginnings of what commands say."""


def labels_of(case: Case, answer: Any) -> Labels:  # noqa: ANN401 - JSON values
    """The labels of a case, without those that have no value."""
    return {label: value for label, value in EXTRACTORS[case.command](answer).items() if value is not None}


def of_simulation(answer: Mapping[str, Any]) -> Labels:
    """Figures, what estimates rested on, rejected jobs, and the schedule."""
    return {
        **figures_of(answer),
        "schedule": [
            without_blanks(
                job=row["job_id"],
                start_s=row["start_s"],
                end_s=row["end_s"],
                outcome=None if row["outcome"] == "completed" else row["outcome"],
                nodes=nodes_of(row["nodes"]),
                preemptions=row["preemptions"] or None,
                failures=row["failures"] or None,
            )
            for row in answer["schedule"]
        ],
    }


def figures_of(answer: Mapping[str, Any]) -> Labels:
    """The figures of one simulation."""
    return {
        "jobs": answer["jobs"],
        **without_blanks(**{figure: answer["metrics"][figure] for figure in FIGURES}),
        "killed": answer["killed"],
        "unfinished": answer["unfinished"],
        "rejected": [f"{row['jobs']} {row['reason']}" for row in answer["rejections"]],
        "sizes_in": answer["size_by"],
        "estimates_rest_on": answer["estimated_from"],
    }


def nodes_of(placed: list[Mapping[str, Any]] | None) -> str | None:
    """Nodes and tasks as one text; None in a pool, which has one node, and for a job that did not start."""
    text = " ".join(f"{row['node']}:{row['tasks']}" for row in placed or [])
    return None if text.startswith("pool:") else text or None


def of_comparison(answer: Mapping[str, Any]) -> Labels:
    """The policies from the best to the worst, and the verdict."""
    return {
        "metric": answer["metric"],
        "first_jobs_of_windows": answer["windows"]["first"],
        "baseline": answer["baseline"],
        "policies": [compared(row) for row in answer["combinations"]],
        "verdicts": [verdict(row) for row in answer["verdict"]],
        "longer_waits_with_a_warmup_s": answer["cold_start"] and answer["cold_start"]["warm_s"],
    }


def compared(row: Mapping[str, Any]) -> Labels:
    """One policy in the windows of a comparison."""
    return without_blanks(
        policy="/".join(row[part] for part in ("policy", "dispatch", "placement", "estimate")),
        role=row.get("role"),
        **{figure: row[figure] for figure in OVER_WINDOWS},
        waits_by_cores_s=row["wait_by_size_s"],
        caveats=row["marks"] or None,
    )


def verdict(row: Mapping[str, Any]) -> Labels:
    """Whether a policy is better than another."""
    return {"policy": row["label"], "against": row["against"], "is": row["result"]}


def of_changes(answer: Mapping[str, Any]) -> Labels:
    """The figures of the log as it is, and of each change."""
    return {
        "as_it_is": figures_of(answer["base"]),
        "changes": [
            {"change": case["change"], "cluster": case["cluster"], **figures_of(case)} for case in answer["cases"]
        ],
    }


def of_tuning(answer: Mapping[str, Any]) -> Labels:
    """The tuned policy, and how it does on later days."""
    training = answer["training"]
    return {
        "kind": answer["kind"],
        "weights": answer["parameters"],
        "estimate": answer["estimate"],
        "max_wait_s": answer["max_wait_s"],
        "keeps_the_classic": answer["keeps_classic"],
        "chosen_classic": training.get("classic") or training.get("classics"),
        "costs_of_generations": training["costs"],
        "cost_in_held_back_windows": training["held_back"]["cost"],
        "simulations": training["simulations"],
        "logs": [{"log": place, **of_tuned_log(log)} for place, log in enumerate(answer["logs"])],
        "verdicts": [verdict(row) for row in answer["verdict"]],
    }


def of_tuned_log(log: Mapping[str, Any]) -> Labels:
    """The later days of a log."""
    return {
        "first_jobs_of_windows": log["first"],
        "policies": [judged(row) for row in log["rows"]],
        "limits_on_waits": [
            without_blanks(max_wait_s=row["max_wait_s"], mean=row["mean"], longest_wait_s=row["longest_wait_s"])
            for row in log["max_wait"] or []
        ],
    }


def judged(row: Mapping[str, Any]) -> Labels:
    """One policy that others are held against, and the ratios to them."""
    return without_blanks(
        policy=row["label"],
        role=row["role"],
        **{
            figure: row[figure]
            for figure in ("geometric_mean", "mean", "mean_wait_s", "max_wait_s", "core_utilization")
        },
        ratios={rival: [one["ratio"], one["ratio_low"], one["ratio_high"]] for rival, one in row["against"].items()},
    )


def of_evaluation(answer: Mapping[str, Any]) -> Labels:
    """Checkpoints and classics on later days."""
    return {
        **of_comparison(answer),
        "part": answer["part"],
        "best_classic": answer["best_classic"],
        "judged": [
            {"checkpoint": one["label"], "policies": [judged(row) for row in one["rows"]]} for one in answer["judged"]
        ],
    }


def of_explanation(answer: Mapping[str, Any]) -> Labels:
    """Why a job waited."""
    return {
        "outcome": answer["outcome"],
        "waited_s": answer["waited_s"],
        "held": [
            {"from_s": row["from_s"], "until_s": row["until_s"], "for": few_words(row["reason"])}
            for row in answer["held"]
        ],
        "waited": [
            {"from_s": row["from_s"], "until_s": row["until_s"], "for": row["reason"], "share": row["share"]}
            for row in answer["phases"]
        ],
        "ran": [
            {"from_s": row["start_s"], "until_s": row["end_s"], "nodes": row["nodes"], "ended": row["ended"]}
            for row in answer["ran"]
        ],
        "kept_waiting_by": [
            {"job": row["job_id"], "how": row["how"], "share": row["share"]} for row in answer["blockers"]
        ],
        "passed_by": answer["passed_by"]["count"],
    }


def of_prediction(answer: Mapping[str, Any]) -> Labels:
    """When jobs will start."""
    new = answer.get("new")
    return {
        "now_s": answer["now_s"],
        "jobs": [predicted(row["job_id"], row) for row in answer["jobs"]],
        "new_job": new and [predicted("as asked", new), *(predicted(row["change"], row) for row in answer["instead"])],
    }


def predicted(job: object, row: Mapping[str, Any]) -> Labels:
    """The interval in which a job starts."""
    return without_blanks(job=job, **{label: row[name] for label, name in PREDICTED.items()})


def of_advice(answer: Mapping[str, Any]) -> Labels:
    """What is recommended, and what it brings on the days that were held back."""
    later = answer["stages"].get("later")
    labels: Labels = {"recommendation": answer["kind"]}
    if later is None:
        return labels
    today, chosen = later["today"], later["advised"]
    # Where nothing was chosen, what would have been best says why.
    judged_policy = later["best"]["label"] if chosen == today and later["best"] else chosen
    row = next(row for row in later["rows"] if row["label"] == judged_policy)
    ratio = row["against"][today]
    return labels | {
        "today": today,
        "policy": chosen if later["is_better"] else today,
        "judged_policy": judged_policy,
        "max_wait_s": later["max_wait_s"],
        "metric": later["metric"],
        "ratio": ratio["ratio"],
        "ratio_low": ratio["ratio_low"],
        "ratio_high": ratio["ratio_high"],
        "mean_wait_ratio": row["mean_wait_ratio"],
        "longest_wait_ratio": next(one["ratio"] for one in row["bounds"] if one["metric"] == "max_wait_s"),
    }


def of_queue(answer: Mapping[str, Any]) -> Labels:
    """The latest decision of a queue."""
    latest = max((job["chosen_by"] for job in answer.values() if job["chosen_by"]), key=lambda one: int(one["id"]))
    others = {job: row["waits_because"] for job, row in answer.items() if row["waits_because"]}
    return {
        "failed": latest["failure"] or None,
        "order": [*latest["starts"], *latest["line"]],
        "starts": latest["starts"],
        "waiting": reasons_of(dict(sorted({**others, **latest["reasons"]}.items()))),
    }


def of_operation(answer: Mapping[str, Any]) -> Labels:
    """One decision beside a scheduler, and the commands that it would run."""
    commands = [line for line in answer["printed"].splitlines() if re.match(r"(scontrol|bmod|btop|bbot) ", line)]
    return {
        "decided_by": answer["decided_by"],
        "candidates": answer["candidates"],
        "order": answer["order"],
        "starts": answer["chosen"],
        "waiting": reasons_of(answer["reasons"]),
        "left_to_the_scheduler": reasons_of(answer["masked"]),
        "starving": answer["guarded"],
        "disagreement": answer["disagreement"],
        "commands": commands,
    }


def of_decision(answer: Mapping[str, Any]) -> Labels:
    """One decision over HTTP."""
    return {
        "decided_by": answer["by"],
        "order": answer["order"],
        "starts": [
            without_blanks(
                job=row["job_id"],
                nodes=row["nodes"],
                tasks=row["tasks"],
                devices=row.get("devices"),
                thousandths=row.get("thousandths"),
            )
            for row in answer["starts"]
        ],
        "reservations": [
            {"job": row["job_id"], "start_s": row["start_s"], "nodes": row["nodes"]} for row in answer["reservations"]
        ],
        "waiting": reasons_of({row["job_id"]: row["reason"] for row in answer["waiting"]}),
        "waiting_behind": {str(row["job_id"]): row["behind"] for row in answer["waiting"] if row["behind"] is not None},
        "not_decided_on": reasons_of({row["job_id"]: row["reason"] for row in answer["masked"]}),
        "starving": answer["guarded"],
    }


def of_run(answer: list[Mapping[str, Any]]) -> Labels:
    """The order in which jobs started."""
    return {
        "order": [row["job_id"] for row in sorted(answer, key=lambda row: float(row["start_s"]))],
        "jobs": [
            {"job": row["job_id"], "cores": row["cores"], "requested_s": row["requested_s"], "state": row["state"]}
            for row in answer
        ],
    }


def reasons_of(said: Mapping[Any, str]) -> dict[str, str]:
    """Why each job waits, in few words; what no beginning fits stays as it was said."""
    return {str(job): few_words(text) for job, text in said.items()}


def few_words(text: str) -> str:
    behind = re.search(r"\(job (\d+)\)$", text)
    words = next((words for beginning, words in REASONS.items() if text.startswith(beginning)), text)
    return f"{words} ({behind[1]})" if behind else words


def without_blanks(**labels: Any) -> Labels:  # noqa: ANN401 - JSON values
    """The labels that have a value."""
    return {label: value for label, value in labels.items() if value is not None}


EXTRACTORS: Final[dict[str, Callable[[Any], Labels]]] = {
    "simulate": of_simulation,
    "compare": of_comparison,
    "what-if": of_changes,
    "tune": of_tuning,
    "evaluate": of_evaluation,
    "explain": of_explanation,
    "eta": of_prediction,
    "advise": of_advice,
    "queue": of_queue,
    "operate": of_operation,
    "serve": of_decision,
    "run": of_run,
}
