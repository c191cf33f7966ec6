"""The course of the trial: short lives of the server first, then one long one, then what is left is compared."""

import asyncio
import shutil
import time

from abuse import Abuser, Leak, SlowReader
from bulk import Bulk
from client import judge
from figures import Failure, milliseconds, quantile
from followers import Crowd, SlowStream, live
from processes import until
from samples import Sampler, descriptors
from server import ROWS_LIFE, SESSION_LIFE, Server, in_thread
from verdict import SPARE_DESCRIPTORS, Verdict

FOLLOWERS, SLOW_FOLLOWERS, GUESTS, ABUSERS, SLOW_READERS = 16, 4, 16, 3, 2
# A mark in the plots, like those of the restarts.
LEFT = "all clients leave"


class Soak:
    def __init__(self, options, figures, notes, random):
        self.options, self.figures, self.notes = options, figures, notes
        self.server = Server(options.server, options.folder, figures)
        self.crowd = Crowd(notes, self.server, random)
        self.abusers = [Abuser(notes, self.server, random) for _ in range(ABUSERS)]
        self.slow_readers = [SlowReader(notes, self.server) for _ in range(SLOW_READERS)]
        self.leak = Leak(notes, self.server)
        # Half of the time without a restart, since restarts hide what grows.
        self.short_lives = max(2, min(10, int(options.seconds / 2 / 45)))
        self.short_life = options.seconds / 2 / self.short_lives
        self.bulk = Bulk(
            options.loadgen, options.folder, self.server, figures, options.rate, max(3, min(25, self.short_life / 3)))
        self.sampler = Sampler(
            self.server, self.crowd, self.bulk, notes, 5 if options.seconds >= 300 else 0.5, options.results)
        # What runs beside the course, and the clients.
        self.tasks, self.clients = [], []

    async def run(self):
        self.options.results.mkdir(parents=True, exist_ok=True)
        await self.server.start()
        await asyncio.sleep(0.5)
        baseline = descriptors(self.server.life.pid)
        self._begin()
        await self._live()
        number = self.server.life.number
        await self._end()
        await self._compare_descriptors(baseline)
        self.sampler.write()
        await self._compare_ledger()
        if self.options.seconds >= 300:
            await self._await_expiry()
        await self.server.stop(gracefully=True)
        self._show(number)

    def _begin(self):
        pace = 2.0
        works = [self.crowd.follow(index >= FOLLOWERS, pace) for index in range(FOLLOWERS + SLOW_FOLLOWERS)]
        works += [self.crowd.visit() for _ in range(GUESTS)]
        works += [each.run(0.7) for each in self.abusers]
        works += [each.run() for each in self.slow_readers]
        works += [self.crowd.look_after_expired(SESSION_LIFE), self.bulk.run()]
        self.clients = [asyncio.create_task(live(work, self.notes)) for work in works]
        self.tasks = [asyncio.create_task(self.sampler.run())]
        if self.options.leak:
            self.tasks.append(asyncio.create_task(self.leak.run(self.options.leak)))

    async def _live(self):
        """Restarts, in good order and not, in turn; then the long life."""
        for life in range(self.short_lives):
            await self._sleep(self.short_life)
            how = "SIGKILL" if life % 2 == 0 else "SIGTERM"
            self.figures.note(f"{how}; {self.notes.acknowledged} intents of the ledger acknowledged, "
                              f"{self.bulk.accepted} of the load tool, {self.figures.faults} faults so far")
            self.sampler.restarts.append((self.sampler.now(), how))
            await self.server.stop(how == "SIGTERM")
            self.bulk.cut_off()
            await self.server.start()
        self.figures.note("the long life begins")
        await self._sleep(self.options.seconds / 2)

    async def _sleep(self, seconds):
        """Unless a part of the trial failed meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            running = [*self.tasks, *(each for each in self.clients if not each.done())]
            done, _ = await asyncio.wait(running, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()

    async def _end(self):
        """All clients come to an end, and their connections with them."""
        self.figures.note("clients leave")
        self.sampler.left = self.sampler.now()
        self.sampler.restarts.append((self.sampler.left, LEFT))
        self.crowd.is_over = True
        for each in (*self.abusers, *self.slow_readers):
            each.is_over = True
        await self.bulk.stop()
        done, late = await asyncio.wait(self.clients, timeout=60)
        for each in late:
            each.cancel()
            self.figures.fault("a client did not come to its end within 60 s")
        for each in done:
            each.result()
        for each in self.crowd.followers:
            each.close()

    async def _compare_descriptors(self, baseline):
        """All clients have left: nothing of theirs may stay open."""
        def left():
            return descriptors(self.server.life.pid) - baseline
        began = time.monotonic()
        try:
            await until("descriptors", lambda: left() <= 0, 20, 0.1)
            took = f"after {time.monotonic() - began:.1f} s"
        except Failure:  # What is left is told below.
            took = "still after 20 s"
        count = left()
        self.figures.show("descriptors, all clients gone", f"{count + baseline} {took}, {baseline} at the start")
        if count > SPARE_DESCRIPTORS:
            self.figures.fault(f"{count} descriptors are left of clients that are gone")
        await asyncio.sleep(self.sampler.interval * 2)
        open_streams = self.sampler.samples[-1].server_streams
        if open_streams is not None:
            self.figures.none("streams open, as the server says", int(open_streams))
        for task in self.tasks:
            task.cancel()

    async def _compare_ledger(self):
        """After another kill: every acknowledged intent, every label, the whole database; and a graceful end."""
        await self.server.stop(gracefully=False)
        self._check_integrity()
        await self.server.start()
        SlowStream.pause = 0
        for each in self.crowd.followers:
            each.since = None
            each.open()
        await judge(self.crowd.followers, self.notes, resets_allowed=False)
        for each in self.crowd.followers:
            each.close()

    def _check_integrity(self):
        copy = self.options.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for name in ("journal.sqlite", "journal.sqlite-wal"):
            if (self.server.data / name).exists():
                shutil.copy(self.server.data / name, copy)
        found = Server.look_into(copy / "journal.sqlite", "PRAGMA integrity_check", "rw")
        self.figures.show("database after a kill", found)
        if found != "ok":
            self.figures.fault(f"the database is not whole: {found}")

    async def _await_expiry(self):
        """No client comes any more: all sessions have to end."""
        self.figures.note("waits until all sessions have expired")

        async def count():
            journal = self.server.data / "journal.sqlite"
            return await in_thread(Server.look_into, journal, "SELECT count(*) FROM sessions")
        began, before = time.monotonic(), await count()
        try:
            async def none_left():
                return await count() == 0
            await until("sessions expire", none_left, ROWS_LIFE, 2)
        except Exception:  # How many are left is told below.
            pass
        left = await count()
        took = time.monotonic() - began
        self.figures.show("sessions kept", f"{before}, and {left} after {took:.0f} s without a client")
        if left:
            self.figures.fault(f"{left} sessions are kept after {ROWS_LIFE:.0f} s, with a life of {SESSION_LIFE:.0f} s")

    def _show(self, long_life):
        figures, notes, bulk = self.figures, self.notes, self.bulk
        figures.show("sums compared after restarts", str(notes.compared))
        figures.show("the same intent again", f"{notes.repeats} after the answer, {notes.cut_requests} cut before it")
        figures.show("guests", f"{notes.guests}, {notes.deleted} deleted; "
                               f"{notes.expired} looked for after their life")
        figures.show("bad or large requests", str(notes.bad))
        figures.show("streams of abusers", f"{notes.vanished} gone without a packet, {notes.resets_by_clients} reset, "
                                           f"{notes.slow_bytes // 1024} KiB read slowly")
        figures.show("load tool", f"{bulk.accepted} intents in {bulk.runs} runs, {bulk.cut} of them cut off")
        p50, p99 = quantile(bulk.p50, 0.5), quantile(bulk.p99, 0.5)
        figures.show("  medians of its runs", f"p50 {p50:.1f} ms, p99 {p99:.1f} ms")
        figures.show("restarts", f"{len(self.server.lives) - 1}; ready after {max(self.server.starts):.2f} s at most, "
                                 f"graceful ends took {max(self.server.stops, default=0):.2f} s at most")
        figures.show("ledger's intents, at once", milliseconds(notes.first_tries))
        verdict = Verdict(self.sampler, figures)
        verdict.show_load(self.options.seconds)
        verdict.judge_lives(range(1, long_life))
        verdict.judge_long_life(long_life)
        verdict.judge_files()
        figures.show("results", str(self.options.results))

    def end(self):
        for task in (*self.tasks, *self.clients):
            task.cancel()
        if self.sampler.samples:
            self.sampler.write()
        self.server.end()
