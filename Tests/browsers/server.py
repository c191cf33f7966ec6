"""The server that a browser's checks run against."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.request

import identities
from deadline import NotYet, until


class Server:
    """One process of mvi-server on a loopback port, with a data folder that outlives it."""

    def __init__(self, binary, *options):
        self.binary, self.options = binary, options
        self.folder = tempfile.mkdtemp(prefix="mvi-browsers-")
        self.log_path = os.path.join(self.folder, "server.log")
        self.port = 0
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def start(self):
        """Starts the server, on the port that it had before if it had one, and waits until it is ready."""
        with open(self.log_path, "ab") as log:
            begin = log.tell()
            self.process = subprocess.Popen(
                [
                    self.binary, "--host", "127.0.0.1", "--port", str(self.port),
                    "--data", os.path.join(self.folder, "data"),
                    # Pings each second, so that a page notices a frozen connection soon. Services that answer soon.
                    "--heartbeat", "1s", "--demo-latency", "100ms", "--session-rate", "0",
                    "--admin-port", "0", "--inspector", "values", "--record-turns", "100", *self.options,
                ],
                env={**os.environ, "MVI_JWT_SECRET": identities.SECRET, "MVI_JWT_ISSUER": identities.ISSUER,
                     "MVI_JWT_AUDIENCE": identities.AUDIENCE},
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )
        self.port = self.port or until("the server says its port", lambda: self._said_port(begin))
        until("the server is ready", self._is_ready)

    @property
    def inspector(self):
        """A new link, in a file of its owner: the server's output is not a terminal. A link is opened once."""
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            page = re.findall(r"inspector=(http://\S+)", log.read())[-1]
        with urllib.request.urlopen(urllib.request.Request(f"{page}/link", method="POST"), timeout=5) as answer:
            path = json.load(answer)["file"]
        with open(path, encoding="utf-8") as link:
            return link.read().strip()

    def kill(self):
        """Ends the process as a crash does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def last_lines(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-10:])

    def _said_port(self, begin):
        self._check_alive()
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            log.seek(begin)
            said = re.search(r"Serving on http://127\.0\.0\.1:(\d+)", log.read())
        return said and int(said.group(1))

    def _is_ready(self):
        self._check_alive()
        try:
            with urllib.request.urlopen(f"{self.url}health/ready", timeout=2) as answer:
                return answer.status == 200
        except OSError as reason:
            raise NotYet(reason) from reason

    def _check_alive(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"the server ended with {self.process.returncode}; its last lines:\n{self.last_lines()}")
