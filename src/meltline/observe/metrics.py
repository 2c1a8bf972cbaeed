"""Prometheus metrics. docs/operations.md lists them; a test compares the two."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from meltline.engine.lane import EpochResult
from meltline.errors import UserError


class Metrics:
    """One set per process. Every series is labelled with the pipeline."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        table = ["pipeline", "table"]
        self.files_closed = self._counter(
            "files_closed", "Files written and reported by workers", [*table, "kind"])
        self.epoch_files = Gauge(
            "meltline_epoch_files_total", "Files in the last published epoch", table,
            registry=self.registry)
        self.commit_latency = Histogram(
            "meltline_commit_latency_seconds", "Time to publish an epoch to a table", table,
            registry=self.registry)
        self.commit_conflicts = self._counter(
            "commit_conflicts", "Commits tried again because the table had changed", table)
        self.duplicates = self._counter(
            "duplicate_epochs_skipped", "Epochs found to be published already", table)
        self.manifest_bytes = Gauge(
            "meltline_manifest_entries_bytes", "Size of the last epoch's file reports", table,
            registry=self.registry)
        self.rows = self._counter("rows_published", "Rows published", table)
        self.keys = self._counter(
            "keys_changed", "Keys whose earlier rows were to leave the table", table)
        self.dead_letters = self._counter(
            "dead_letters", "Events refused, by the sink that refused them", ["pipeline", "sink"])
        self.shared_keys = self._counter(
            "rows_of_shared_keys", "Rows left out: another one of the same key stands for them",
            ["pipeline", "lane"])
        self.events = self._counter("events_read", "Events read", ["pipeline"])
        self.bytes = self._counter("bytes_read", "Bytes of events read", ["pipeline"])
        self.unrouted = self._counter("events_unrouted", "Events no route took", ["pipeline"])
        self.epochs = self._counter("epochs_done", "Epochs done", ["pipeline"])
        self.failures = self._counter("epoch_failures", "Epochs that failed", ["pipeline"])
        self.lag = Gauge("meltline_lag", "Waiting at the source (files, offsets, ...)",
                         ["pipeline", "lane"], registry=self.registry)
        self.last_commit_age = Gauge(
            "meltline_last_commit_age_seconds", "Seconds since the last epoch was done",
            ["pipeline", "lane"], registry=self.registry)

    def serve(self, port: int, address: str = "127.0.0.1") -> None:
        try:
            start_http_server(port, address, registry=self.registry)
        except OSError as error:
            raise UserError(f"metrics cannot be served on {address}:{port}: {error.strerror}",
                            hint="choose another port with --metrics-port") from None

    def epoch_done(self, result: EpochResult) -> None:
        pipeline, lane = result.epoch.pipeline, result.epoch.lane
        report = result.report
        self.epochs.labels(pipeline).inc()
        self.events.labels(pipeline).inc(report.read)
        self.bytes.labels(pipeline).inc(report.size)
        self.unrouted.labels(pipeline).inc(report.unrouted)
        self.shared_keys.labels(pipeline, lane).inc(report.duplicates)
        self.lag.labels(pipeline, lane).set(result.waiting)
        for sink, count in {"source": report.undecodable, **result.rejected}.items():
            self.dead_letters.labels(pipeline, sink).inc(count)
        done_at = time.time()
        self.last_commit_age.labels(pipeline, lane).set_function(lambda: time.time() - done_at)
        for published in result.published:
            labels = (pipeline, published.table)
            if published.repeated:
                self.duplicates.labels(*labels).inc()
                continue
            self.files_closed.labels(*labels, "data").inc(published.files)
            self.files_closed.labels(*labels, "keys").inc(published.key_files)
            self.epoch_files.labels(*labels).set(published.files + published.key_files)
            self.commit_latency.labels(*labels).observe(published.seconds)
            self.commit_conflicts.labels(*labels).inc(published.conflicts)
            self.manifest_bytes.labels(*labels).set(published.manifest_bytes)
            self.rows.labels(*labels).inc(published.rows)
            self.keys.labels(*labels).inc(published.keys)

    def _counter(self, name: str, text: str, labels: list[str]) -> Counter:
        return Counter(f"meltline_{name}_total", text, labels, registry=self.registry)
