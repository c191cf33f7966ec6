"""The server, the proxies, and the certificate between them and their clients."""

import os
import re
import signal
import socket
import subprocess
import time

from settings import settings


class Failure(Exception):
    """The trial cannot go on."""


def await_(what, probe, seconds=20):
    """Calls `probe` until it returns something true, and returns that; Failure after `seconds`."""
    end = time.monotonic() + seconds
    while not (found := probe()):
        if time.monotonic() > end:
            raise Failure(f"after {seconds} s: {what}")
        time.sleep(0.02)
    return found


def free_port():
    """A port on which nothing listens, below those of outgoing connections."""
    while True:
        port = 20000 + int.from_bytes(os.urandom(2), "big") % 10000
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def make_certificate(folder):
    """A certificate that only the trial's clients trust: NAME.pem, NAME.key, and both in NAME.both."""
    name = folder / "certificate"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{name}.key", "-out", f"{name}.pem"],
        check=True, stderr=subprocess.DEVNULL)
    with open(f"{name}.both", "w", encoding="utf-8") as both:
        for part in ("pem", "key"):
            with open(f"{name}.{part}", encoding="utf-8") as file:
                both.write(file.read())
    return name


class Server:
    """mvi-server on a port of its own. What is measured is the way to it, so it keeps nothing on the disk."""

    def __init__(self, binary, folder, *flags):
        self.folder = folder
        self.log = folder / f"server-{os.urandom(3).hex()}.log"
        self.command = [binary, "--host", "127.0.0.1", "--data", ":memory:", "--log-level", "info",
                        "--trusted-proxy", "127.0.0.1", "--intent-rate", "0", *flags]
        self.port = 0
        self.start()

    def start(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*self.command, "--port", str(self.port)], stdout=log, stderr=log)
        found = await_("the server says its port", self._said_port)
        self.port = int(found.group(1))
        await_("the server listens", lambda: listens(self.port))

    def _said_port(self):
        if self.process.poll() is not None:
            raise Failure(f"the server ended at its start: {self.log.read_text(encoding='utf-8')}")
        return re.search(r"Serving on http://127\.0\.0\.1:(\d+)", self.log.read_text(encoding="utf-8"))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()


class Proxy:
    """nginx, HAProxy or Apache with the page's settings, in front of a server, with TLS and HTTP/2 on `port`."""

    def __init__(self, kind, server, folder, certificate, timeout=None, port=None, changes=()):
        self.kind, self.port = kind, port or free_port()
        self.folder = folder / f"{kind}-{self.port}"
        self.folder.mkdir(mode=0o711)
        self.file = self.folder / "settings"
        self.file.write_text(settings(
            kind, server=server.port, port=self.port, away=free_port(), folder=self.folder, certificate=certificate,
            timeout=timeout, changes=changes), encoding="utf-8")
        self.start()

    def start(self):
        self.log = open(self.folder / "out", "ab")
        environment = {
            **os.environ, "APACHE_RUN_DIR": str(self.folder), "APACHE_LOG_DIR": str(self.folder),
            "APACHE_LOCK_DIR": str(self.folder), "PATH": f"{os.environ['PATH']}:/usr/sbin",
        }
        self.environment = environment
        self.process = subprocess.Popen(
            self._command(), stdout=self.log, stderr=self.log, env=environment, start_new_session=True)
        await_(f"{self.kind} listens: {self.said()}", self._is_there)

    def _is_there(self):
        if self.process.poll() is not None:
            raise Failure(f"{self.kind} ended at its start: {self.said()}")
        return listens(self.port)

    def _command(self):
        if self.kind == "nginx":
            return ["nginx", "-p", str(self.folder), "-c", str(self.file), "-e", str(self.folder / "error.log"),
                    "-g", "daemon off;"]
        if self.kind == "haproxy":
            # A master, so that a reload is one signal.
            return ["haproxy", "-W", "-f", str(self.file)]
        return ["apache2", "-d", str(self.folder), "-f", str(self.file), "-D", "FOREGROUND"]

    def reload(self):
        """Settings are read again, as an operator does it: old processes keep their streams."""
        self.process.send_signal({"nginx": signal.SIGHUP, "haproxy": signal.SIGUSR2, "apache": signal.SIGUSR1}[self.kind])

    def stop(self):
        """At once: streams are cut."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            # Old processes of a reload belong to the same group.
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()

    def said(self):
        """Its last words."""
        words = ""
        for name in ("out", "error.log"):
            if (self.folder / name).exists():
                words += (self.folder / name).read_text(encoding="utf-8", errors="replace")[-1500:]
        return words

    def close(self):
        if self.process.poll() is None:
            self.stop()
