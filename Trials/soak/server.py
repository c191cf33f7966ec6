"""The server under trial: one data folder, one life after the other."""

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request

from figures import Failure
from processes import free_port, until

# Short lives, so that sessions expire, stores leave memory, streams rotate and vanished peers show within the trial.
SETTINGS = {
    "session-ttl": "60s", "passivate-after": "20s", "heartbeat": "5s", "max-stream-age": "2m", "grace": "5s",
    "demo-latency": "50ms", "demo-failures": "5", "log-level": "warning",
}
SESSION_LIFE = 60.0
# When its rows are deleted at the latest: its last use may be noted late, and a sweep takes a minute to come round.
ROWS_LIFE = SESSION_LIFE + 240


class Life:
    """One process, from its start to its end. Times by the monotonic clock."""

    def __init__(self, number, process):
        self.number, self.process = number, process
        self.began, self.ended, self.end = time.monotonic(), None, "runs"

    @property
    def pid(self):
        return self.process.pid

    def lives(self):
        return self.process.poll() is None


class Server:
    def __init__(self, binary, folder, figures):
        self.binary, self.folder, self.figures = binary, folder, figures
        self.data, self.log = folder / "data", folder / "server.log"
        self.port, self.admin_port = free_port(), free_port()
        self.lives = []
        # While the trial stops it, clients get no answer; that is no crash.
        self.is_stopping = False
        self.starts, self.stops = [], []

    @property
    def life(self):
        return self.lives[-1]

    async def start(self):
        flags = {"host": "127.0.0.1", "port": self.port, "admin-port": self.admin_port, "data": self.data, **SETTINGS}
        command = [self.binary, *(text for name, value in flags.items() for text in (f"--{name}", str(value)))]
        began = time.monotonic()
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                start_new_session=True)
        self.lives.append(Life(len(self.lives) + 1, process))
        await until(f"the server is ready; its last lines: {self.said()}", self._is_ready, 20, 0.02)
        self.starts.append(time.monotonic() - began)
        self.is_stopping = False

    def _is_ready(self):
        if not self.life.lives():
            raise Failure(f"the server ended at its start: {self.said()}")
        return self.ask("/health/ready") is not None

    def ask(self, path):
        """The admin port's answer; nothing where there is none. From a thread where the server may be slow."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin_port}{path}", timeout=2) as answer:
                return answer.read().decode()
        except (OSError, urllib.error.URLError, ValueError):
            return None

    async def stop(self, gracefully):
        """By SIGTERM, after which it must end by itself with 0 within its grace, or by SIGKILL."""
        self.is_stopping, life = True, self.life
        life.process.send_signal(signal.SIGTERM if gracefully else signal.SIGKILL)
        life.end = "SIGTERM" if gracefully else "SIGKILL"
        began = time.monotonic()
        try:
            await until("the server ends after SIGTERM", lambda: not life.lives(), 15, 0.02)
        except Failure:
            self.figures.fault("the server did not end within 15 s after SIGTERM, with --grace 5s")
            life.process.kill()
            await until("the server ends", lambda: not life.lives())
        life.ended = time.monotonic()
        if gracefully:
            self.stops.append(life.ended - began)
            if life.process.returncode != 0:
                self.figures.fault(f"the server ended with {life.process.returncode} after SIGTERM: {self.said()}")

    def check_alive(self):
        if not self.is_stopping and not self.life.lives():
            raise Failure(f"the server ended by itself with {self.life.process.returncode}: {self.said()}")

    def said(self):
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return " / ".join(text.splitlines()[-6:])[-1500:]

    def sizes(self):
        """Bytes of the journal's database and of its write-ahead log."""
        return [size_of(self.data / name) for name in ("journal.sqlite", "journal.sqlite-wal")]

    @staticmethod
    def look_into(path, statement, mode="ro"):
        """The first value of a statement's answer; a server may run on the database."""
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode={mode}", uri=True, timeout=10)) as journal:
            return journal.execute(statement).fetchone()[0]

    def end(self):
        if self.lives and self.life.lives():
            self.life.process.kill()
            self.life.process.wait()


def size_of(path):
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


async def in_thread(work, *arguments):
    return await asyncio.get_running_loop().run_in_executor(None, work, *arguments)
