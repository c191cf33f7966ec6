"""As much of HTTP/1.1 as a client needs: one request a connection."""

import asyncio
import json
from dataclasses import dataclass
from urllib.parse import urlsplit

# What a network does to a request. The answer may be lost though the server has acted.
NETWORK_ERRORS = (OSError, EOFError, asyncio.TimeoutError, ValueError)


@dataclass
class Answer:
    """A status, header fields by their lower-case names, and the body."""

    status: int
    headers: dict
    body: bytes = b""

    @property
    def media(self):
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def json(self):
        """The body as a JSON object; {} where it is none."""
        try:
            value = json.loads(self.body) if self.media.endswith("json") else None
        except ValueError:
            value = None
        return value if isinstance(value, dict) else {}

    @property
    def problem(self):
        """The `type` of a problem document; None without one."""
        return self.json.get("type") if self.media == "application/problem+json" else None


class Connection:
    """One connection for one request. Redirects are answers like others: nobody follows them."""

    def __init__(self, url):
        parts = urlsplit(url)
        self.host, self.port = parts.hostname, parts.port or 80
        self.reader = self.writer = None

    async def ask(self, method, path, headers, body=None):
        """Sends a request and reads the head of its answer."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port, limit=1 << 20)
        fields = {"Host": f"{self.host}:{self.port}", "Connection": "close", **headers}
        if body is not None:
            fields["Content-Length"] = str(len(body))
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.writer.write(head.encode() + b"\r\n" + (body or b""))
        while True:
            status, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
            answer = Answer(int(status.split(" ")[1]), {})
            for line in lines:
                name, _, value = line.partition(":")
                answer.headers[name.lower()] = value.strip()
            if answer.status >= 200:
                return answer

    async def pieces(self, answer):
        """The body as it arrives. Raises EOFError when it ends before its framing says so."""
        if "chunked" in answer.headers.get("transfer-encoding", "").lower():
            while size := int((await self.reader.readuntil(b"\n")).split(b";")[0], 16):
                while size:
                    if not (piece := await self.reader.read(min(size, 65536))):
                        raise EOFError("the connection ended inside a chunk")
                    size -= len(piece)
                    yield piece
                await self.reader.readuntil(b"\n")
        elif "content-length" in answer.headers:
            yield await self.reader.readexactly(int(answer.headers["content-length"]))
        elif answer.status not in (204, 304):
            while piece := await self.reader.read(65536):
                yield piece

    def close(self):
        if self.writer is not None:
            self.writer.transport.abort()


async def request(url, method, path, headers, body=None, seconds=30):
    """One request with its whole answer."""
    connection = Connection(url)
    try:
        async with asyncio.timeout(seconds):
            answer = await connection.ask(method, path, headers, body)
            answer.body = b"".join([piece async for piece in connection.pieces(answer)])
            return answer
    finally:
        connection.close()
