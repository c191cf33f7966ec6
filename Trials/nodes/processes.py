"""Processes of a trial: they end with it, however it ends."""

import asyncio
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from figures import Failure


def free_port():
    """A port of 127.0.0.1 on which no server listens, below those of outgoing connections."""
    while True:
        port = 20000 + int.from_bytes(os.urandom(2), "big") % 10000
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


async def until(what, probe, seconds=30.0, pause=0.05):
    """Calls `probe`, which may be asynchronous, until it returns something true, and returns that; Failure after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        found = probe()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        if time.monotonic() > end:
            raise Failure(f"not within {seconds:.0f} s: {what}")
        await asyncio.sleep(pause)


def cpu_seconds(pid):
    """The processor time of a process so far, its threads included."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


class Process:
    """A program with its output in a file. It gets a KILL when the trial ends."""

    def __init__(self, name, log):
        self.name, self.log, self.process = name, log, None

    def launch(self, command, environment=None, namespace=None):
        if namespace:
            command = ["ip", "netns", "exec", namespace, *command]
        # The last program of these takes the place of those before, and with it their process.
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={**os.environ, **(environment or {})}, start_new_session=True)

    @property
    def pid(self):
        return self.process.pid

    def lives(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        if self.lives():
            self.process.send_signal(number)

    async def ended(self, seconds=30.0):
        """Its exit code, when it has one."""
        await until(f"{self.name} ends", lambda: self.process.poll() is not None, seconds, pause=0.02)
        return self.process.returncode

    async def kill(self):
        """At once, with the processes that it started itself."""
        if self.lives():
            os.killpg(self.process.pid, signal.SIGKILL)
            await self.ended()

    def said(self, lines=8):
        text = pathlib.Path(self.log).read_text(encoding="utf-8", errors="replace") if os.path.exists(self.log) else ""
        return "\n".join(text.splitlines()[-lines:])


class Folder:
    """A temporary folder that other users may enter."""

    def __init__(self, keep=False):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="mvi-nodes-"))
        self.path.chmod(0o755)
        self.keep = keep

    def remove(self):
        if not self.keep:
            shutil.rmtree(self.path, ignore_errors=True)


STOP, CONTINUE, TERMINATE = signal.SIGSTOP, signal.SIGCONT, signal.SIGTERM
