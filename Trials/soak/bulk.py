"""Most of the load: runs of the load tool, one after the other, each with new sessions that it leaves behind."""

import asyncio
import json
import time

from processes import until

# Runs of `load` and of `vanish`, whose clients go in the middle, in turn.
STREAMS, CLIENTS = 60, 64


class Bulk:
    def __init__(self, loadgen, folder, server, figures, rate, seconds):
        self.loadgen, self.folder, self.server, self.figures = loadgen, folder, server, figures
        self.rate, self.seconds = rate, seconds
        self.process, self.kind = None, "load"
        self.runs = self.cut = self.accepted = 0
        self.p50, self.p99 = [], []
        # Begin and end of each run by the monotonic clock, and its intents a second.
        self.finished = []
        self.is_over = False

    async def run(self):
        while not self.is_over:
            life, began = self.server.life, time.monotonic()
            if self.server.is_stopping:
                await asyncio.sleep(0.1)
                continue
            self.kind = "vanish" if self.runs % 4 == 3 else "load"
            code, output = await self._once()
            # A server that is stopped cuts its load off; then its words mean nothing.
            if self.is_over or self.server.is_stopping or self.server.life is not life or code < 0:
                self.cut += 1
                self.runs += 1
                await asyncio.sleep(0.1)
                continue
            self._judge(code, output, began)
            self.runs += 1

    async def _once(self):
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        common = ["--port", self.server.port, "--rate", self.rate, "--pid", self.server.life.pid, "--json", report]
        if self.kind == "load":
            own = ["--streams", STREAMS, "--seconds", self.seconds, "--warmup", 0, "--connections", 16,
                   "--may-conflate"]
        else:
            own = ["--clients", CLIENTS, "--rounds", max(2, int(self.seconds * 3)), "--sessions", CLIENTS // 2,
                   "--connections", 8]
        began = time.monotonic()
        self.process = await asyncio.create_subprocess_exec(
            "setpriv", "--pdeathsig", "KILL", self.loadgen, self.kind, *map(str, (*common, *own)),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
        output, _ = await self.process.communicate()
        if time.monotonic() - began < 0.5:
            await asyncio.sleep(0.5)
        return self.process.returncode, output.decode(errors="replace")

    def _judge(self, code, output, began):
        if code != 0:
            self.figures.fault(f"loadgen {self.kind} ended with {code}: {' / '.join(output.splitlines()[-12:])}")
            return
        report = json.loads((self.folder / "report.json").read_text(encoding="ascii"))
        accepted, now = int(report.get("accepted", 0)), time.monotonic()
        self.accepted += accepted
        self.finished.append((began, now, accepted / max(0.001, now - began)))
        if isinstance(latency := report.get("answerMs"), dict):
            self.p50.append(latency["p50"])
            self.p99.append(latency["p99"])

    def cut_off(self):
        """The present run, whose server was stopped."""
        if self.process and self.process.returncode is None:
            self.process.kill()

    async def stop(self):
        """In the middle of its run: its connections end as the system ends them."""
        self.is_over = True
        self.cut_off()
        if self.process:
            await until("the load tool ends", lambda: self.process.returncode is not None)
