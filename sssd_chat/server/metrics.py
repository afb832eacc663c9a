"""Figures for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sssd_chat.generation.batching import Figures
from sssd_chat.generation.statistics import AnswerStatistics

_PATHS = frozenset(("/v1/chat/completions", "/v1/completions", "/v1/models", "/metrics", "/health"))
_GONE = 499
_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


class Metrics:
    """Counts what was asked and what drafts gained; asks the engine for the rest."""

    MEDIA_TYPE = "text/plain; version=0.0.4"

    def __init__(self, figures: Callable[[], Figures]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # It has no annotations.
        self._registry = CollectorRegistry()
        self._registry.register(_EngineFigures(figures))
        self._requests = Counter(
            "sssd_requests", "Requests.", ("path", "status"), registry=self._registry
        )
        self.running = Gauge(
            "sssd_requests_running",
            "Requests that are being replied to, this one included.",
            registry=self._registry,
        )
        self._seconds = Histogram(
            "sssd_request_seconds",
            "From a request to the end of its reply.",
            ("path",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._by_source = {
            what: Counter(
                f"sssd_draft_{what}",
                f"Tokens of drafts, {what}, by source, of finished answers.",
                ("source",),
                registry=self._registry,
            )
            for what in ("drafted", "tested", "accepted")
        }
        self._emitted = Counter(
            "sssd_answer_tokens", "Tokens of finished answers.", registry=self._registry
        )
        self._steps = Counter(
            "sssd_answer_steps",
            "Steps of finished answers, each counted for itself: tokens over steps is tau.",
            registry=self._registry,
        )
        self._spent = Counter(
            "sssd_answer_seconds",
            "Time of finished answers, by what it was spent on.",
            ("phase",),
            registry=self._registry,
        )

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """Notes a request that is over."""
        known = path if path in _PATHS else "other"
        self._requests.labels(known, str(status)).inc()
        self._seconds.labels(known).observe(seconds)

    def count_answer(self, answer: AnswerStatistics) -> None:
        """Notes what an answer took."""
        self._emitted.inc(answer.emitted)
        self._steps.inc(answer.steps)
        for source, count in answer.by_source.items():
            self._by_source["drafted"].labels(source).inc(count.drafted)
            self._by_source["tested"].labels(source).inc(count.tested)
            self._by_source["accepted"].labels(source).inc(count.accepted)
        phases = {
            "reading": answer.prefill_seconds,
            "drafting": answer.draft_seconds,
            "decoding": answer.decode_seconds,
            "sampling": answer.sampling_seconds,
            "other": answer.other_seconds,
        }
        for phase, seconds in phases.items():
            self._spent.labels(phase).inc(seconds)

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)


class _EngineFigures(Collector):
    """The engine's own figures, asked for at each look."""

    def __init__(self, figures: Callable[[], Figures]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """See Collector."""
        now = self._figures()
        requests = GaugeMetricFamily("sssd_answers", "Answers on their way.", labels=("phase",))
        for phase, count in (
            ("queued", now.queued),
            ("reading", now.reading),
            ("writing", now.writing),
        ):
            requests.add_metric((phase,), count)
        yield requests
        cells = GaugeMetricFamily("sssd_kv_cells_used", "KV cells in use.", labels=("by",))
        cells.add_metric(("live",), now.cells_used)
        cells.add_metric(("kept",), now.cells_kept)
        yield cells
        yield GaugeMetricFamily("sssd_kv_cells", "KV cells there are.", now.cells)
        yield GaugeMetricFamily("sssd_slots", "Answers written at once, at most.", now.slots)
        for name, help_text, value in (
            ("sssd_finished_answers", "Answers that ended, in whatever way.", now.finished),
            ("sssd_failed_answers", "Answers that failed.", now.failed),
            ("sssd_preemptions", "Answers that gave way to older ones.", now.preemptions),
            ("sssd_steps", "Decodes.", now.steps),
            ("sssd_tokens_read", "Tokens of prompts that were decoded.", now.read),
            ("sssd_tokens_reused", "Tokens of prompts found in the KV cache.", now.reused),
            ("sssd_tokens_emitted", "Tokens of answers.", now.emitted),
            ("sssd_tokens_drafted", "Tokens of drafts.", now.drafted),
            ("sssd_tokens_accepted", "Tokens of drafts that were accepted.", now.accepted),
        ):
            yield CounterMetricFamily(name, help_text, value)


class CountingMiddleware:
    """Counts every request, its status and its time."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = _GONE
        started = time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.running.inc()
        try:
            await self._app(scope, receive, watched)
        finally:
            self._metrics.running.dec()
            seconds = time.perf_counter() - started
            self._metrics.count_request(scope["path"], status, seconds)
