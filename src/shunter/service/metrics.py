"""What a service tells Prometheus. Nothing in it names a user or a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from shunter.execution.operating.status import BUCKETS_S

if TYPE_CHECKING:
    from shunter.service.policies import LoadedPolicy

_PREFIX: Final = "shunter_serve_"
_SHORTEST_S: Final = (0.0001, 0.0002, 0.0005)


class Metrics:
    """The numbers of one service, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)

        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(f"{_PREFIX}{name}", help, labels, registry=registry)

        def gauge(name: str, help: str, *labels: str) -> Gauge:
            return Gauge(f"{_PREFIX}{name}", help, labels, registry=registry)

        self._seconds = Histogram(
            f"{_PREFIX}decision_seconds", "How long decisions took, with standing in and telling.", ("policy",),
            buckets=(*_SHORTEST_S, *BUCKETS_S), registry=registry,
        )  # fmt: skip
        self._fallbacks = counter("fallbacks", "Decisions in which somebody stood in.", "policy")
        self._guarded = counter("guard_hits", "Jobs that the guard against starvation put first.", "policy")
        what = "Share of pairs that a policy orders unlike the scheduler, or fcfs, of the latest new snapshot."
        self._disagreement = gauge("disagreement", what, "policy")
        self._waiting = gauge("waiting", "Jobs that wait, of the latest new snapshot.", "policy", "reason")
        self._info = gauge("policy_info", "The policies at work.", "policy", "sha256")
        self._reloads = counter("reloads", "How often changed files were read.", "policy", "result")
        self._requests = counter("requests", "Requests that were answered or refused.", "route", "status")

    def watch(self, name: str, help: str, value: Callable[[], float]) -> None:
        """Has a number asked for whenever Prometheus asks."""
        Gauge(f"{_PREFIX}{name}", help, registry=self.registry).set_function(value)

    def loaded(self, policy: LoadedPolicy, before: LoadedPolicy | None = None) -> None:
        """Tells which version of a policy decides from now on."""
        if before is not None:
            self._info.remove(before.name, before.sha256[:12])
        self._info.labels(policy.name, policy.sha256[:12]).set(1)

    def reloaded(self, policy: str, *, is_good: bool) -> None:
        """Counts a look at changed files."""
        self._reloads.labels(policy, "good" if is_good else "bad").inc()

    def decided(self, policy: str, seconds: float, is_fallback: bool, guarded: int) -> None:
        """Counts a decision."""
        self._seconds.labels(policy).observe(seconds)
        if is_fallback:
            self._fallbacks.labels(policy).inc()
        if guarded:
            self._guarded.labels(policy).inc(guarded)

    def queue(self, policy: str, reasons: Mapping[str, int] | None = None, disagreement: float = 0.0) -> None:
        """Tells why jobs wait; reasons of an earlier snapshot that nobody has now count 0."""
        for metric in self._waiting.collect():
            for sample in metric.samples:
                if sample.labels["policy"] == policy and sample.labels["reason"] not in (reasons or {}):
                    self._waiting.labels(policy, sample.labels["reason"]).set(0)
        for reason, count in (reasons or {}).items():
            self._waiting.labels(policy, reason).set(count)
        self._disagreement.labels(policy).set(disagreement)

    def request(self, route: str, status: int) -> None:
        """Counts a request."""
        self._requests.labels(route, str(status)).inc()

    def text(self) -> bytes:
        """Returns all of it in Prometheus' text format."""
        return generate_latest(self.registry)
