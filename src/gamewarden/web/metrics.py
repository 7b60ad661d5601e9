"""Numbers for Prometheus: what was asked for and how long it took, what was pushed, and how the workspace stands."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from gamewarden.core.meters import MEMORY
from gamewarden.desk.desk import Desk
from gamewarden.desk.health import Gauges, gauges
from gamewarden.workspace.metrics import LAST_RUN, SOURCE_LAG

MEDIA_TYPE = CONTENT_TYPE_LATEST
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})  # anybody may write any other word
_BORDERS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_PUSHED = {
    "rows": "Rows that are on the disk.",
    "batches": "Batches that were acknowledged.",
    "again": "Of them, batches that had come before under their key.",
    "refused": "Batches that were refused.",
    "refused_rows": "Rows of refused batches, and rows left out.",
    "too_much": "Batches that were sent away for now (429).",
}
_STANDS = {
    "backlog_bytes": "Bytes that wait for the next run.",
    "free_bytes": "Bytes of the disk that are free.",
    **LAST_RUN,
    "days_judged": "Days that were judged.",
    "watched": "Accounts at the watch point on the newest day.",
    "acted": "Accounts at the act point on the newest day.",
    "queue": "Accounts that wait for a rater.",
    "lag_seconds": SOURCE_LAG,
    "ledger_head": "The number of the audit's last line.",
    "memory_bytes": MEMORY.says,
}
_LABELS = {"backlog_bytes": "kind", "lag_seconds": "source"}


class Metrics:
    """The numbers of one server."""

    def __init__(self, desk: Desk) -> None:
        self._registry = CollectorRegistry()
        names = ("route", "method", "status")
        self._requests = Counter("gamewarden_requests", "Requests that were answered.", names, registry=self._registry)
        self._seconds = Histogram(
            "gamewarden_request_seconds",
            "How long it took until an answer began.",
            ("route", "method"),
            buckets=_BORDERS,
            registry=self._registry,
        )
        self._registry.register(_Standing(desk))

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        method = method if method in _METHODS else "other"
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route, method).observe(seconds)

    def text(self) -> bytes:
        """All numbers as Prometheus reads them."""
        return generate_latest(self._registry)


class _Standing(Collector):
    """What is looked up when somebody asks."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def describe(self) -> Iterable[Metric]:
        """Nothing: it would have to be looked up."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """What was pushed, and how the workspace stands."""
        yield from _pushed(self._desk.door.counts)
        yield from _stands(gauges(self._desk))


def _pushed(counts: Mapping[str, int]) -> Iterator[Metric]:
    for name, says in _PUSHED.items():
        family = CounterMetricFamily(f"gamewarden_pushed_{name}", says, labels=["kind"])
        for kind in ("events", "packets"):
            family.add_metric([kind], counts.get(f"{kind} {name}", 0))
        yield family


def _stands(found: Gauges) -> Iterator[Metric]:
    for one in fields(found):
        value = getattr(found, one.name)
        label = _LABELS.get(one.name)
        family = GaugeMetricFamily(f"gamewarden_{one.name}", _STANDS[one.name], labels=[label] if label else None)
        for name, number in value.items() if label else (() if value is None else [("", value)]):
            family.add_metric([name] if label else [], number)
        yield family
