"""Nodes: servers on one journal, and the proxy in front of them."""

import asyncio
import os
import pathlib
import re
import urllib.error
import urllib.request

from figures import Failure
from processes import Process, free_port, until

ROOT = pathlib.Path(__file__).parents[2]
# A load comes from one address: what keeps one client from the others would keep it from the server.
UNBOUNDED = {
    "MVI_INTENT_RATE": "0", "MVI_SESSION_RATE": "0", "MVI_MAX_CONNECTIONS_PER_ADDRESS": "1000000",
    "MVI_MAX_STREAMS_PER_ADDRESS": "1000000",
}


class Node(Process):
    """A server process. Each start is a new process with the same port."""

    def __init__(self, binary, folder, name, journal, host="127.0.0.1", namespace=None, arguments=(), **settings):
        super().__init__(name, folder / f"{name}.log")
        self.binary, self.journal, self.host, self.namespace = binary, journal, host, namespace
        self.port, self.admin, self.starts = free_port(), free_port(), 0
        self.folder = folder / name
        self.folder.mkdir()
        self.arguments = arguments
        # None takes a setting away.
        self.settings = {f"MVI_{key.upper()}": value for key, value in settings.items()}

    async def start(self, wait=True):
        self.starts += 1
        environment = {
            **UNBOUNDED, "MVI_HOST": self.host, "MVI_PORT": str(self.port), "MVI_ADMIN_HOST": self.host,
            "MVI_ADMIN_PORT": str(self.admin), "MVI_DATA": str(self.folder), "MVI_JOURNAL": self.journal,
            "MVI_NODE_ADDRESS": f"{self.host}:{self.port}", "MVI_TRUSTED_PROXY": "127.0.0.1,10.0.0.0/8",
            "MVI_LOG_LEVEL": "info", "MVI_DEMO_LATENCY": "100ms", **self.settings,
        }
        environment = {name: str(value) for name, value in environment.items() if value is not None}
        arguments = [each.format(start=self.starts) for each in self.arguments]
        self.launch([self.binary, *arguments], environment, self.namespace)
        if wait:
            await until(f"{self.name} is ready: {self.said()}", self.is_ready, 40)
        return self

    async def is_ready(self):
        if not self.lives():
            raise Failure(f"{self.name} ended at its start: {self.said()}")
        return await self.readiness() == 200

    async def readiness(self):
        """The status of its readiness on the admin port; 0 without an answer."""
        def ask():
            try:
                with urllib.request.urlopen(f"http://{self.host}:{self.admin}/health/ready", timeout=3) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code
            except OSError:
                return 0
        return await asyncio.to_thread(ask)

    def count(self, pattern):
        """How many lines of its log match."""
        return len(re.findall(pattern, pathlib.Path(self.log).read_text(encoding="utf-8", errors="replace")))


class Balancer(Process):
    """nginx with deploy/nginx.conf in front of nodes, one after the other: no client is kept at a node."""

    def __init__(self, folder, nodes, host="127.0.0.1"):
        super().__init__("nginx", folder / "nginx.log")
        self.port, self.folder = free_port(), folder / "nginx"
        self.folder.mkdir(mode=0o755)
        text = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")

        def servers(match):
            """A line for each node, with the settings of the file."""
            return "".join(f"        server {node.host}:{node.port} {match[2]};\n" for node in nodes)
        changes = [
            (r"(^        server node\d:8080 (.*);\n)+", servers),
            (r"listen 8000;", f"listen {host}:{self.port};"),
            # Which node answered, so that the trial can tell.
            (r"^    server \{", r"\g<0>\n        add_header X-Node $upstream_addr always;"),
            (r"/tmp/nginx.pid", f"{self.folder}/pid"), (r"/tmp/nginx-", f"{self.folder}/"),
            (r"/dev/stdout", "off"), (r"/dev/stderr", f"{self.folder}/error.log"),
            (r"worker_connections \d+;", "worker_connections 9000;"), (r"worker_rlimit_nofile \d+;", "worker_rlimit_nofile 20000;"),
        ]
        for pattern, replacement in changes:
            text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
            if not count:
                raise Failure(f"deploy/nginx.conf has nothing like {pattern!r}")
        (self.folder / "nginx.conf").write_text(text, encoding="utf-8")
        self.host = host

    async def start(self):
        user = ["-g", "user root; daemon off;"] if os.geteuid() == 0 else ["-g", "daemon off;"]
        self.launch(["nginx", "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"),
                     "-e", str(self.folder / "error.log"), *user], {"PATH": f"{os.environ['PATH']}:/usr/sbin"})

        async def listens():
            if not self.lives():
                raise Failure(f"nginx ended at its start: {self.said()}")
            try:
                _, writer = await asyncio.open_connection(self.host, self.port)
                writer.close()
                return True
            except OSError:
                return False
        await until(f"nginx listens: {self.said()}", listens)
        return self
