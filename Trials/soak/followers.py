"""Clients that keep a ledger: what was acknowledged, and what their streams showed, over all restarts."""

import asyncio
import random
import socket
import struct
import time

from client import Client
from figures import Failure
from link import Lost, Stream, request_bytes
from processes import until

# One connection more, closed with RST.
RESET = struct.pack("ii", 1, 0)


class SlowStream(Stream):
    """A reader with little room that stops after each event, and now and then for longer."""

    # Seconds; 0 while it catches up. Labels must come within their five minutes.
    pause = 0.3

    def __init__(self, port, host="127.0.0.1"):
        super().__init__(port, host)
        self.room = 4096

    async def events(self, path, token, last_id=None):
        async for event in super().events(path, token, last_id):
            yield event
            await asyncio.sleep(SlowStream.pause * (25 if random.random() < 0.03 else 1))


class Follower(Client):
    """A session on the only server, where a version never goes back, not even on a new stream."""

    def __init__(self, notes, port, index, features, is_slow=False):
        super().__init__(notes, port, index, features=features)
        self.is_slow = is_slow
        self.make_stream = SlowStream if is_slow else Stream
        # The server's life in which the counter was last compared.
        self.compared_in = 1

    def _take_state(self, event):
        if event.data["version"] < self.shown:
            self.notes.say(f"client {self.index}: a stream shows version {event.data['version']} after {self.shown}")
        super()._take_state(event)

    async def before_sending(self, path, intent, fields):
        """Now and then the same request first, on a connection that is reset before the answer."""
        if self.random.random() > 0.03:
            return
        try:
            _, writer = await asyncio.open_connection(self.host, self.port)
        except OSError:
            return
        writer.write(request_bytes("POST", path, intent, self.token, fields))
        await asyncio.sleep(self.random.random() * 0.004)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.transport.abort()
        self.notes.cut_requests += 1

    async def repeat(self):
        """Sends the last acknowledged intent again: the answer must be that of its receipt."""
        if self.last_sent is None:
            return
        path, intent, fields, version = self.last_sent
        answer, _ = await self.ask_until("POST", path, intent, fields, (202,))
        self.notes.repeats += 1
        if answer.status != 202 or answer.json()["version"] != version or "idempotency-replayed" not in answer.fields:
            self.notes.say(
                f"client {self.index}: an intent that was sent again got {answer.status} {answer.body[:120]}, "
                f"not version {version} from its receipt")

    async def step(self):
        chance = self.random.random()
        if chance < 0.15:
            await self.work()
        else:
            await self.add(self.random.choice((1, 4, 10, 10)))
        if chance > 0.9:
            await self.repeat()
        elif chance > 0.8:
            await self.read()

    async def compare(self, life):
        """Once in each life of the server: is the acknowledged sum still there?"""
        if self.compared_in != life:
            self.compared_in = life
            self.notes.compared += 1
            await self.read()


class Crowd:
    """The followers that stay for the whole trial, and the guests that come and go."""

    def __init__(self, notes, server, random):
        self.notes, self.server, self.random = notes, server, random
        self.followers, self.guests, self.left = [], set(), []
        self.is_over = False
        self.index = 0

    def make(self, is_slow=False):
        self.index += 1
        features = ("counter", "video-list", "user-info", f"order-detail:{42 + self.index % 2}")
        return Follower(self.notes, self.server.port, self.index, features, is_slow)

    async def follow(self, is_slow, pace):
        """A follower's life; `pace` is how long it waits between intents, in seconds, on average."""
        client = self.make(is_slow)
        self.followers.append(client)
        await client.begin()
        client.open()
        while not self.is_over:
            await client.step()
            await client.compare(self.server.life.number)
            await asyncio.sleep(pace * (0.5 + self.random.random()))

    async def visit(self):
        """Guests, one after the other: made, used, compared, and deleted or left to expire."""
        while not self.is_over:
            client = self.make(is_slow=self.random.random() < 0.15)
            self.guests.add(client)
            try:
                await self._be_guest(client)
            finally:
                self.guests.discard(client)
                client.close()
            self.notes.guests += 1

    async def _be_guest(self, client):
        await client.begin()
        if self.random.random() < 0.8:
            client.open()
        end = time.monotonic() + min(90, self.random.expovariate(1 / 15))
        while time.monotonic() < end and not self.is_over:
            await client.step()
            await asyncio.sleep(0.2 + self.random.random())
        if client.reader and not client.is_slow:
            try:
                await until("labels", lambda: client.due_labels <= client.seen_labels.keys(), 45, 0.2)
            except Failure:
                missed = client.due_labels - client.seen_labels.keys()
                self.notes.say(f"guest {client.index}: labels {sorted(missed)[:5]} did not come")
        answer, _ = await client.ask_until("GET", "/features/counter/state", accept=(200,))
        if answer.status != 200 or answer.json()["count"] != client.sum:
            self.notes.say(f"guest {client.index}: {answer.status} {answer.body[:80]}, acknowledged: {client.sum}")
        chance = self.random.random()
        if chance < 0.5:
            await self._delete(client)
        else:
            # Without a word, in the middle of its stream: it has to expire.
            self.left.append((client.token, time.monotonic()))

    async def _delete(self, client):
        if client.reader:
            client.reader.cancel()
        answer, _ = await client.ask_until("DELETE", "/sessions/current", accept=(204, 404))
        self.notes.deleted += 1
        # A tombstone says so, unless a restart came between and the session never had a turn.
        answer, _ = await client.ask_until("GET", "/features/counter/state", accept=(404,))
        if answer.status != 404:
            self.notes.say(f"guest {client.index}: its deleted session is served, with {answer.status}")

    async def look_after_expired(self, session_life):
        """Sessions that were left must be gone after their life. Asking a moment too early would prolong it."""
        while not self.is_over:
            await asyncio.sleep(1)
            while self.left and time.monotonic() - self.left[0][1] > session_life + 45 and not self.server.is_stopping:
                token, since = self.left.pop(0)
                client = Client(self.notes, self.server.port, 0)
                client.token = token
                try:
                    answer, _ = await client.ask_until("GET", "/sessions/current", accept=(404,))
                finally:
                    client.close()
                self.notes.expired += 1
                if answer.status != 404:
                    self.notes.say(f"a session is served {time.monotonic() - since:.0f} s after its client left")

    def open_streams(self):
        return sum(client.live.is_set() for client in (*self.followers, *self.guests))


async def live(work, notes):
    """A client's life to its end; that it could not go on is a fault."""
    try:
        await work
    except Lost as reason:
        notes.say(f"a client gave up: {reason}")
