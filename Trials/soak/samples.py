"""What the server's process holds, sampled as it goes, and written as CSV."""

import asyncio
import csv
import dataclasses
import json
import os
import pathlib
import time

import metrics
from figures import quantile
from processes import cpu_seconds
from server import in_thread

MIB = 1024 * 1024


@dataclasses.dataclass
class Sample:
    """One line of the CSV. Times in seconds, sizes in MiB; None where the server does not say."""

    at: float
    life: int
    age: float
    rss: float
    rss_anon: float
    descriptors: int
    threads: int
    database: float
    wal: float
    # Processor time since the sample before, of one core.
    cpu: float
    # Streams that the followers and guests hold, and intents of theirs answered at once since the sample before.
    client_streams: int
    intents: float
    p50_ms: float
    p99_ms: float
    # Intents a second of the load tool's run at that time, if it came to its end.
    load_intents: float | None = None
    server_streams: float | None = None
    server_requests: float | None = None
    server_sessions: float | None = None
    server_stores: float | None = None
    # A second, since the sample before.
    server_intents: float | None = None


def memory(pid):
    """Resident memory, its part that is no file's, in MiB, and threads."""
    found = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        found[name] = value.split()[0] if value.split() else ""
    return int(found["VmRSS"]) / 1024, int(found["RssAnon"]) / 1024, int(found["Threads"])


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Sampler:
    def __init__(self, server, crowd, bulk, notes, interval, folder):
        self.server, self.crowd, self.bulk, self.notes = server, crowd, bulk, notes
        self.interval, self.folder = interval, folder
        self.samples, self.restarts = [], []
        self.began = time.monotonic()
        # When the clients left: what is sampled afterwards is not judged. Seconds.
        self.left = float("inf")

    def now(self):
        return time.monotonic() - self.began

    async def run(self):
        last = None
        while True:
            await asyncio.sleep(self.interval)
            self.server.check_alive()
            life = self.server.life
            if self.server.is_stopping:
                continue
            seen = metrics.read(await in_thread(self.server.ask, "/metrics"))
            try:
                last = self._take(life, seen, last)
                if len(self.samples) % 12 == 0:
                    self.write()
            except (OSError, KeyError, IndexError):
                # The process ended meanwhile; the next round says whether that was meant.
                continue

    def _take(self, life, seen, last):
        """`last`: life, times of it and of the process, number of intents and of the server's of the sample before."""
        now, used = time.monotonic(), cpu_seconds(life.pid)
        rss, anonymous, threads = memory(life.pid)
        database, wal = self.server.sizes()
        if last is None or last[0] != life.number:
            # A process begins with nothing; the clients go on.
            count, since = (0, self.began) if last is None else (last[3], last[5])
            last = (life.number, life.began, 0.0, count, 0.0, since)
        took, waited = max(now - last[1], 1e-6), max(now - last[5], 1e-6)
        waits, total = self.notes.first_tries[last[3]:], seen.pop("server_intents", None)
        sample = Sample(
            self.now(), life.number, now - life.began, rss, anonymous, descriptors(life.pid), threads,
            database / MIB, wal / MIB, (used - last[2]) / took, self.crowd.open_streams(), len(waits) / waited,
            quantile(waits, 0.5) * 1000, quantile(waits, 0.99) * 1000, **seen)
        if total is not None:
            sample.server_intents = (total - last[4]) / took
        self.samples.append(sample)
        return life.number, now, used, last[3] + len(waits), total or 0.0, now

    def of(self, life):
        """The samples of a life under load."""
        return [sample for sample in self.samples if sample.life == life and sample.at <= self.left]

    def write(self):
        """What there is so far."""
        for begin, end, rate in self.bulk.finished:
            for sample in self.samples:
                if begin <= sample.at + self.began <= end:
                    sample.load_intents = rate
        (self.folder / "restarts.json").write_text(json.dumps(self.restarts), encoding="ascii")
        with open(self.folder / "samples.csv", "w", newline="", encoding="ascii") as file:
            writer = csv.writer(file)
            writer.writerow(field.name for field in dataclasses.fields(Sample))
            for sample in self.samples:
                writer.writerow(f"{value:.4g}" if isinstance(value, float) and abs(value) < 1000 else
                                ("" if value is None else round(value, 1)) for value in dataclasses.astuple(sample))
