"""What an operation tells of itself: status.json for people, metrics.prom for Prometheus. No user is named."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from shunter.execution.operating.folder import OperationFolder, write_private
from shunter.execution.operating.site import Site, State

BUCKETS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""The bounds of the histogram of latencies."""
_DETAILS: Final = re.compile(r"\s*[:(].*", re.DOTALL)
COUNTERS: Final = {
    "cycles": "Cycles that read the scheduler.",
    "failed_reads": "Readings that failed.",
    "failed_cycles": "Cycles that failed for another reason.",
    "fallbacks": "Decisions in which somebody stood in for the policy.",
    "guard_hits": "Jobs that the guard against starvation put first.",
    "changes": "Changes that were made.",
    "failed_changes": "Changes that failed.",
    "undone": "Changes that were undone.",
    "policy_breaker_opened": "How often the breaker of the policy opened.",
    "scheduler_breaker_opened": "How often the breaker of the scheduler opened.",
    "counterfactuals": "How often it was simulated what the policy would have done.",
    "counterfactuals_gained": "Of these, those in which it saved more waiting than the simulation is wrong by.",
    "failed_counterfactuals": "Those that failed or were given up.",
    "etas": "Start times that were predicted.",
    "failed_etas": "Predictions that failed.",
    "side_work_seconds": "Processor time of counterfactuals and predictions.",
}
GAUGES: Final = {
    "up": "1 while the latest reading succeeded.",
    "mode": "0 off, 1 observe, 2 nudge, 3 enforce.",
    "held": "Jobs that are changed now.",
    "candidates": "Jobs that only wait for room or for their turn.",
    "running": "Jobs that run.",
    "disagreement": "The share of pairs that the policy orders unlike the scheduler.",
    "oldest_wait_s": "How long the oldest candidate has waited.",
    "read_seconds": "How long the latest reading took.",
    "period_seconds": "From one reading to the next, as it is now.",
}
COUNTERFACTUAL: Final = {"real": "real", "site": "site simulated", "other": "policy simulated"}
"""The three ways in which the jobs of the latest counterfactual have waited, with their labels."""
ETA: Final = {
    "open": ("eta_open", "Predictions whose jobs still wait."),
    "scored": ("eta_scored", "Predictions whose jobs have started."),
    "left": ("eta_left", "Predictions whose jobs have left the queue without starting."),
    "inside": ("eta_inside_ratio", "The share of the latest starts inside their 80 % intervals."),
    "median_error_s": ("eta_median_error_seconds", "How far the latest starts were from the medians, in the median."),
    "median_width_s": ("eta_median_width_seconds", "How wide the latest 80 % intervals were, in the median."),
}
"""The gauges of predicted start times, by what the status calls them."""


class Histogram:
    """Counts latencies."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_S) + 1)
        self.total_s = 0.0

    def see(self, seconds: float) -> None:
        """Counts one."""
        self.counts[bisect_left(BUCKETS_S, seconds)] += 1
        self.total_s += seconds


def site_numbers(site: Site) -> dict[str, Any]:
    """Returns the numbers that a reading tells."""
    candidates = site.candidates
    return {
        "candidates": len(candidates),
        "running": sum(job.state == State.RUNNING for job in site.jobs),
        "waiting_for": dict(Counter(_kind(job.barrier or job.reason) for job in site.pending)),
        "oldest_wait_s": max((site.now_s - job.submit_s for job in candidates), default=0.0),
        "read_seconds": round(site.seconds, 4),
    }


def _kind(reason: str) -> str:
    """Returns a reason without what stands behind a colon or in brackets: numbers of hosts, names of limits."""
    return _DETAILS.sub("", reason).strip(" ;") or "None"


def write_status(folder: OperationFolder, status: Mapping[str, Any], latency: Histogram) -> None:
    """Writes both files."""
    write_private(folder.status, json.dumps(status, indent=2).encode() + b"\n")
    write_private(folder.metrics, metrics_text(status, latency).encode())


def amend_status(folder: OperationFolder, changed: Mapping[str, Any]) -> None:
    """Changes some numbers in both files of an operation that has ended; what else they tell stays."""
    told = json.loads(folder.status.read_text(encoding="utf-8")) | changed
    write_private(folder.status, json.dumps(told, indent=2).encode() + b"\n")
    names = {f"shunter_operate_{name}" + ("_total" if name in COUNTERS else ""): name for name in changed}
    lines = folder.metrics.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        name, _, _ = line.partition(" ")
        if name in names:
            lines[number] = f"{name} {float(changed[names[name]]):g}"
    write_private(folder.metrics, "\n".join([*lines, ""]).encode())


def metrics_text(status: Mapping[str, Any], latency: Histogram) -> str:
    """Returns the numbers of an operation in the text format of Prometheus."""
    lines = []
    for kind, names in (("counter", COUNTERS), ("gauge", GAUGES)):
        for name, help in names.items():
            full = f"shunter_operate_{name}" + ("_total" if kind == "counter" else "")
            lines += [f"# HELP {full} {help}", f"# TYPE {full} {kind}", f"{full} {float(status.get(name) or 0):g}"]
    lines += _histogram("shunter_operate_decision_seconds", latency)
    lines += _looks(status)
    for reason, count in sorted(status.get("waiting_for", {}).items()):
        lines.append(f'shunter_operate_waiting{{reason="{_label(reason)}"}} {count}')
    for program, spent in status.get("commands", {}).items():
        for name in ("runs", "failures", "seconds"):
            lines.append(f'shunter_operate_command_{name}_total{{program="{_label(program)}"}} {spent[name]:g}')
    version = f'policy="{_label(status.get("policy", ""))}",sha256="{status.get("policy_sha256", "")[:12]}"'
    lines.append(f"shunter_operate_policy_info{{{version}}} 1")
    return "\n".join(lines) + "\n"


def _looks(status: Mapping[str, Any]) -> list[str]:
    """Returns the gauges of counterfactuals and of predicted start times, as far as there are any."""
    lines = []
    found = status.get("counterfactual")
    if found and found["jobs"]:
        for field, unit in (("mean_wait_s", "mean_wait_seconds"), ("mean_bounded_slowdown", "mean_bounded_slowdown")):
            name = f"shunter_operate_counterfactual_{unit}"
            lines += [f"# HELP {name} Of the jobs of the latest counterfactual, so far.", f"# TYPE {name} gauge"]
            lines += [f'{name}{{way="{way}"}} {found[key][field]:g}' for key, way in COUNTERFACTUAL.items()]
    for key, (name, help) in ETA.items():
        value = (status.get("eta") or {}).get(key)
        if value is not None:
            full = f"shunter_operate_{name}"
            lines += [f"# HELP {full} {help}", f"# TYPE {full} gauge", f"{full} {value:g}"]
    return lines


def _histogram(name: str, latency: Histogram) -> list[str]:
    lines, below = [f"# TYPE {name} histogram"], 0
    for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), latency.counts, strict=True):
        below += count
        lines.append(f'{name}_bucket{{le="{bound}"}} {below}')
    return [*lines, f"{name}_sum {latency.total_s:g}", f"{name}_count {below}"]


def _label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", " ")
