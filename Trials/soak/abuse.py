"""Clients that misbehave: requests that must be refused, large ones, and connections that end in the middle."""

import asyncio
import os
import socket
import struct

from client import Client
from followers import SlowStream
from link import Lost, request_bytes

TCP_REPAIR = 19
MIB = 1024 * 1024
# Each leads to a label.
INTENT = {"type": "add", "amount": 10}


def bad_requests(token):
    """Name, request, the statuses that are right. The server must answer each, and go on."""
    def post(body, fields=None, path="/features/counter/intents", with_token=token):
        lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in (fields or {"Content-Type": "application/json"}).items()]
        if with_token:
            lines.append(f"Authorization: Bearer {with_token}")
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
    head = f"GET /features HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Filler: {'x' * 40000}\r\n\r\n".encode()
    return [
        ("not JSON", post(b'{"type":'), {400}),
        ("a doubled member", post(b'{"type":"increment","type":"increment"}'), {400}),
        ("an unknown type", post(b'{"type":"explode"}'), {422}),
        ("a missing member", post(b'{"type":"add"}'), {422}),
        ("deep nesting", post(b"[" * 5000 + b"]" * 5000), {400}),
        ("another media type", post(b"type=increment", {"Content-Type": "text/plain"}), {415}),
        ("a body over the limit", post(b'{"type":"increment","filler":"' + b"x" * 2 * MIB + b'"}'), {413}),
        ("a head over the limit", head, {431}),
        ("no credential", post(b'{"type":"increment"}', with_token=None), {401}),
        ("a wrong credential", post(b'{"type":"increment"}', with_token="x" * 43), {401, 404}),
        ("no such feature", post(b'{"type":"increment"}', path="/features/nothing/intents"), {404}),
        ("a key too many", post(b'{"type":"increment"}', path="/features/counter:7/intents"), {404}),
        ("two lengths", b"POST /sessions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
         {400}),
        ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(64) + b"\r\n\r\n", {400, None}),
        ("a large body within the limit", post(b'{"type":"increment","filler":"' + b"x" * 900_000 + b'"}'), {202}),
    ]


class Abuser:
    """Has a session of its own, of which no ledger is kept."""

    def __init__(self, notes, server, random):
        self.notes, self.server, self.random = notes, server, random
        self.client = Client(notes, server.port, 0)
        self.is_over = False

    async def run(self, pace):
        """One bad deed after the other; `pace` is the wait between, in seconds, on average."""
        await self.client.begin()
        deeds = (self.ask_badly, self.cut_head, self.cut_body, self.vanish_from_stream, self.wait)
        while not self.is_over:
            try:
                await self.random.choice(deeds)()
            except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
                # Not while it is stopped, and then it is the sampler's to say so.
                pass
            await self._renew()
            await asyncio.sleep(pace * (0.5 + self.random.random()))
        self.client.close()

    async def _renew(self):
        """Its session may have expired."""
        answer, _ = await self.client.ask_until("GET", "/sessions/current", accept=(200, 404))
        if answer.status == 404:
            await self.client.begin()

    async def ask_badly(self):
        name, data, statuses = self.random.choice(bad_requests(self.client.token))
        life = self.server.life.number
        status = await self._ask(data)
        is_same_life = life == self.server.life.number and not self.server.is_stopping
        self.notes.bad += 1
        if is_same_life and status not in statuses:
            self.notes.say(f"a request with {name} got {status}, not {sorted(statuses, key=str)}")

    async def _ask(self, data):
        """The status of the answer, or nothing."""
        async with asyncio.timeout(20):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
            try:
                writer.write(data)
                line = await reader.readline()
                return int(line.split()[1]) if line.startswith(b"HTTP/1.") else None
            finally:
                writer.transport.abort()

    async def cut_head(self):
        await self._cut(b"POST /features/counter/intents HTTP/1.1\r\nHost: 127.0.0.1\r\nConte")

    async def cut_body(self):
        data = request_bytes("POST", "/features/counter/intents", {"type": "add", "amount": 1}, self.client.token, {})
        await self._cut(data[:-self.random.randrange(1, 20)])

    async def _cut(self, data):
        _, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        writer.write(data)
        await asyncio.sleep(self.random.random() * 0.2)
        if self.random.random() < 0.5:
            option = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
        writer.transport.abort()
        self.notes.cut_requests += 1

    async def vanish_from_stream(self):
        """Opens a stream, reads a little, and is gone: with RST, or without a packet where the system allows that."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port, limit=2048)
        writer.write(request_bytes(
            "GET", "/events?feature=counter", None, self.client.token, {"Accept": "text/event-stream"}))
        try:
            async with asyncio.timeout(5):
                await reader.read(self.random.randrange(1, 600))
            end = writer.get_extra_info("socket")
            try:
                # A socket under repair closes without telling the other end.
                end.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
                self.notes.vanished += 1
            except OSError:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.notes.resets_by_clients += 1
        finally:
            writer.transport.abort()

    async def wait(self):
        """Requests that wait: for launched work, and for a state to change. Some are given up."""
        fields = {"Prefer": "wait=2, return=representation"}
        try:
            patience = self.random.choice((0.05, 5))
            await self.client.link.ask(
                "POST", "/features/user-info/intents", {"type": "reload"}, self.client.token, patience, **fields)
        except Lost:
            pass


class SlowReader:
    """A stream that takes a few hundred bytes a second of a session in which much happens.

    Most of its states are passed over, and its outbox overflows.
    """

    def __init__(self, notes, server):
        self.notes, self.server = notes, server
        self.client = Client(notes, server.port, 0)
        self.is_over = False

    async def run(self):
        while not self.is_over:
            reading = None
            try:
                await self.client.begin()
                reading = asyncio.create_task(self._read())
                for _ in range(1500):
                    if self.is_over:
                        break
                    await self.client.link.ask("POST", "/features/counter/intents", INTENT, self.client.token)
                    await asyncio.sleep(0.05)
            except Lost:
                await asyncio.sleep(0.5)
            finally:
                if reading:
                    reading.cancel()
        self.client.close()

    async def _read(self):
        writer = None
        try:
            reader, writer = await SlowStream(self.server.port).connect()
            writer.write(request_bytes("GET", "/events", None, self.client.token, {"Accept": "text/event-stream"}))
            while data := await reader.read(300):
                self.notes.slow_bytes += len(data)
                await asyncio.sleep(0.5)
        except OSError:
            # The server was stopped; the next session gets another stream.
            pass
        finally:
            if writer:
                writer.transport.abort()


class Leak:
    """What must not go unnoticed: sessions with streams and stores that are made and never left."""

    def __init__(self, notes, server):
        self.notes, self.server = notes, server
        self.streams = []

    async def run(self, rate):
        while True:
            await asyncio.sleep(1 / rate)
            try:
                client = Client(self.notes, self.server.port, 0)
                await client.begin()
                for feature in ("counter", "video-list", "user-info", "order-detail:42"):
                    await client.link.ask("GET", f"/features/{feature}/state", None, client.token)
                for _ in range(5):
                    await client.link.ask("POST", "/features/counter/intents", INTENT, client.token)
                client.link.close()
                self.streams.append(asyncio.create_task(self._hold(client.token)))
            except (Lost, OSError):
                pass

    async def _hold(self, token):
        """A stream that is opened again when the server ends it, so that its session never expires."""
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port, limit=65536)
                try:
                    writer.write(request_bytes("GET", "/events", None, token, {"Accept": "text/event-stream"}))
                    while await reader.read(65536):
                        pass
                finally:
                    writer.transport.abort()
            except OSError:
                pass
            await asyncio.sleep(1)
