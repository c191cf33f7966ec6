"""HTTP/1.1 over asyncio: kept connections for requests, and streams of events."""

import asyncio
import json
import socket
import time

# How long a request may take before the client gives it up and asks again. Seconds.
PATIENCE = 20.0


class Lost(Exception):
    """The connection was refused or ended, or no answer came in time."""


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def json(self):
        return json.loads(self.body)

    def problem(self):
        """The name of the problem, or nothing."""
        if "problem+json" not in self.fields.get("content-type", ""):
            return None
        return self.json().get("type", "").rpartition("/")[2]


def request_bytes(method, path, body, token, fields):
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    for name, value in fields.items():
        if value is not None:
            lines.append(f"{name.replace('_', '-')}: {value}")
    data = b""
    if body is not None:
        data = json.dumps(body, separators=(",", ":")).encode()
        lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


async def _head(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = {}
    for line in head[1:]:
        name, colon, value = line.partition(":")
        if colon:
            fields[name.lower()] = value.strip()
    return int(head[0].split(" ")[1]), fields


async def _chunk(reader):
    """The next chunk's bytes; none at the end."""
    size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
    data = await reader.readexactly(size + 2)
    return data[:-2]


_TROUBLE = (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, ValueError, IndexError, asyncio.LimitOverrunError)


class Link:
    """A kept connection with one request at a time."""

    def __init__(self, port, host="127.0.0.1"):
        self.host, self.port, self.reader, self.writer = host, port, None, None

    async def ask(self, method, path, body=None, token=None, patience=PATIENCE, **fields):
        """The answer; `Lost` if there is none. What was sent may have been done."""
        try:
            async with asyncio.timeout(patience):
                return await self._ask(method, path, body, token, fields)
        except _TROUBLE as reason:
            self.close()
            raise Lost(f"{type(reason).__name__}: {reason}") from reason
        except asyncio.CancelledError:
            self.close()
            raise

    async def _ask(self, method, path, body, token, fields):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port, limit=2 ** 20)
        self.writer.write(request_bytes(method, path, body, token, fields))
        status, answered = await _head(self.reader)
        data = b""
        if "chunked" in answered.get("transfer-encoding", ""):
            while part := await _chunk(self.reader):
                data += part
        elif status not in (204, 304) and method != "HEAD":
            data = await self.reader.readexactly(int(answered.get("content-length", "0")))
        if answered.get("connection", "").lower() == "close":
            self.close()
        return Answer(status, answered, data)

    def close(self):
        if self.writer is not None:
            self.writer.transport.abort()
        self.reader = self.writer = None


class Event:
    __slots__ = ("name", "id", "data", "time")

    def __init__(self, name, id_, data):
        self.name, self.id, self.data, self.time = name, id_, data, time.monotonic()


class Stream:
    """A stream of events on a connection of its own."""

    def __init__(self, port, host="127.0.0.1"):
        self.port, self.host, self.writer, self.retry = port, host, None, 3.0
        # The receive buffer of its socket; none for the system's. Bytes.
        self.room = None
        # How long nothing may come. Seconds.
        self.silence = 50.0
        self.node = None

    async def events(self, path, token, last_id=None):
        """Events until the stream ends in good order. `Lost` if it is cut, refused or silent for too long."""
        try:
            async with asyncio.timeout(PATIENCE):
                reader, self.writer = await self.connect()
                self.writer.write(request_bytes(
                    "GET", path, None, token, {"Accept": "text/event-stream", "Last-Event-ID": last_id}))
                status, fields = await _head(reader)
            self.node = fields.get("x-node")
            if status != 200 or "event-stream" not in fields.get("content-type", ""):
                raise Lost(f"status {status}")
            text, is_chunked = b"", "chunked" in fields.get("transfer-encoding", "")
            # The proxy's own answer while no node answers has a length; only it has.
            left = int(fields.get("content-length", 2 ** 62))
            while True:
                async with asyncio.timeout(self.silence):
                    part = await (_chunk(reader) if is_chunked else reader.read(min(left, 65536)))
                left -= len(part)
                if not part:
                    return
                *blocks, text = (text + part).split(b"\n\n")
                for block in blocks:
                    if event := self._event(block.decode()):
                        yield event
        except _TROUBLE as reason:
            raise Lost(f"{type(reason).__name__}: {reason}") from reason
        finally:
            self.close()

    async def connect(self):
        if self.room is None:
            return await asyncio.open_connection(self.host, self.port, limit=2 ** 22)
        connection = socket.socket()
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.room)
        try:
            await asyncio.get_running_loop().sock_connect(connection, (self.host, self.port))
            return await asyncio.open_connection(sock=connection, limit=self.room)
        except BaseException:
            connection.close()
            raise

    def _event(self, block):
        name, id_, data = None, None, []
        for line in block.split("\n"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                name = value
            elif field == "id":
                id_ = value
            elif field == "data":
                data.append(value)
            elif field == "retry" and value.isdigit():
                self.retry = int(value) / 1000
        return Event(name, id_, json.loads("\n".join(data))) if data else None

    def close(self):
        if self.writer is not None:
            self.writer.transport.abort()
        self.writer = None
