"""HTTP/1.1 requests as the scripted server reads them, and the answers that it writes byte by byte."""

import asyncio
import json
import socket
import struct
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit


# A page that would show version 99 of the counter, if it were read as a stream.
PAGE = (b'<!DOCTYPE html><title>Proxy</title>\n\nevent: state\n'
        b'data: {"feature":"counter","version":99,"state":{"count":99}}\n\n')


class Request:
    """One request of a client. A scenario answers it with `respond`, `problem`, `raw`, `cut` or `close`."""

    def __init__(self, connection, method, target, headers, body):
        self.connection = connection
        self.server = connection.server
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.time = asyncio.get_running_loop().time()
        parts = urlsplit(target)
        self.path = parts.path
        self.query = parse_qs(parts.query, keep_blank_values=True)
        self.answered = asyncio.get_running_loop().create_future()
        self.keeps_connection = False
        # When the answer began, in seconds: before the client can know of it.
        self.answered_at = None

    def __str__(self):
        return f"{self.method} {self.target}"

    @property
    def kind(self):
        """Which queue of the server the request waits in."""
        steps = [step for step in self.path.split("/") if step]
        match (self.method, steps):
            case ("POST", ["sessions"]):
                return "session"
            case ("GET" | "HEAD", ["sessions", "current"]):
                return "status"
            case ("PUT", ["sessions", "current"]):
                return "settings"
            case ("DELETE", ["sessions", "current"]):
                return "delete"
            case ("PUT", ["sessions", "current", "identity"]):
                return "identity"
            case ("GET", ["events"]):
                return "stream"
            case ("HEAD", ["events"]):
                return "probe"
            case ("POST", ["features", _, "intents"]):
                return "intent"
        return "other"

    @property
    def credential(self):
        """The token or the cookie that the request carries; None without one."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token:
            return token.strip()
        for pair in self.headers.get("cookie", "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == "mvi_session" and value:
                return value
        return None

    @property
    def key(self):
        """The Idempotency-Key without its quotes."""
        return self.headers.get("idempotency-key", "").strip().strip('"')

    @property
    def last_event_id(self):
        """The cursor that a stream asks to go on after; None without one."""
        value = self.headers.get("last-event-id")
        if value is None:
            value = self.query.get("last_event_id", [None])[0]
        return value or None

    @property
    def features(self):
        """The features that a stream names."""
        return self.query.get("feature", [])

    def json(self):
        """The body as JSON; None where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def begin_answer(self):
        if self.answered_at is None:
            self.answered_at = asyncio.get_running_loop().time()

    def raw(self, data):
        """Writes bytes to the connection as they are."""
        self.begin_answer()
        if not self.connection.writer.is_closing():
            self.connection.writer.write(data)

    def head(self, status, headers):
        """Writes the status line and the header fields."""
        try:
            reason = HTTPStatus(status).phrase
        except ValueError:
            reason = "Unknown"
        lines = [f"HTTP/1.1 {status} {reason}"]
        lines += [f"{name}: {value}" for name, value in headers]
        self.raw(("\r\n".join(lines) + "\r\n\r\n").encode())

    def respond(self, status, body=None, headers=(), media="application/json"):
        """A whole answer; the connection stays open for the next request, unless a stream was asked for."""
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = [*headers, ("Cache-Control", "no-store")]
        if self.kind == "stream":
            fields.append(("Connection", "close"))
        if status != 204:
            fields.append(("Content-Length", str(len(data))))
            if data:
                fields.append(("Content-Type", media))
        self.head(status, fields)
        if status != 204 and self.method != "HEAD":
            self.raw(data)
        if self.kind == "stream":
            self.close()
        else:
            self.finish(keep=True)

    def problem(self, status, name, headers=(), detail="As the scenario says."):
        """A refusal as a problem document."""
        body = {
            "type": f"/problems/{name}", "title": name, "status": status, "detail": detail, "instance": self.path,
        }
        self.respond(status, body, headers, media="application/problem+json")

    def html(self, status, headers=()):
        """A page of a proxy or a captive portal."""
        self.respond(status, PAGE, headers, media="text/html")

    def finish(self, keep):
        """Ends the answer. With `keep` the connection takes another request."""
        self.keeps_connection = keep
        if not self.answered.done():
            self.answered.set_result(None)

    def close(self):
        """Closes the connection in good order (FIN), whether the answer is complete or not."""
        self.begin_answer()
        self.connection.writer.close()
        self.finish(keep=False)

    def cut(self):
        """Cuts the connection: the client gets a reset (RST)."""
        self.begin_answer()
        self.connection.reset()
        self.finish(keep=False)


class Connection:
    """One connection: reads requests and hands them to the server, one at a time."""

    def __init__(self, server, reader, writer):
        self.server = server
        self.reader = reader
        self.writer = writer
        self.gone = asyncio.Event()

    def reset(self):
        """Ends the connection with a reset."""
        peer = self.writer.get_extra_info("socket")
        if peer is not None and peer.fileno() >= 0:
            # Lingering for no time makes the system send RST in place of FIN.
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def serve(self):
        """Reads requests until the connection ends."""
        try:
            while (request := await self.read()) is not None:
                self.server.take(request)
                if request.kind == "stream":
                    # A stream's client sends nothing more: what comes is the end of the connection.
                    while await self.reader.read(4096):
                        pass
                    break
                await request.answered
                if not request.keeps_connection:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self.gone.set()
            if not self.writer.is_closing():
                self.writer.close()

    async def read(self):
        """The next request; None at the end of the connection."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if colon:
                headers[name.strip().lower()] = value.strip()
        return Request(self, method, target, headers, await self.read_body(headers))

    async def read_body(self, headers):
        if headers.get("expect", "").lower() == "100-continue":
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in headers.get("transfer-encoding", "").lower():
            body = b""
            while size := int((await self.reader.readline()).split(b";")[0], 16):
                body += await self.reader.readexactly(size)
                await self.reader.readline()
            while (await self.reader.readline()).strip():
                pass
            return body
        return await self.reader.readexactly(int(headers.get("content-length", "0")))
