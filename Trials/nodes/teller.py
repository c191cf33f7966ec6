"""Clients that know each of their states again, and no other client's: what they add is a large random number."""

import asyncio
import random
import time
import uuid

from link import Link, Lost, Stream

PATH = "/features/counter"
LARGEST = 2 ** 40


class Book:
    """Everything that all tellers have seen together."""

    def __init__(self, figures):
        self.figures = figures
        # The state that each tag named, whoever saw it; the same for the ids of streams, and for which session a state is.
        self.tags, self.ids, self.owners = {}, {}, {}
        self.acknowledged = self.reads = self.events = self.old = 0
        self.lost = self.epochs = 0
        self.ambiguous = set()
        self.strangers = self.unknown = self.missing = self.apart = 0
        self.waits, self.problems = [], {}

    def name(self, table, name, count, who):
        """Two states under one name are a fault."""
        known = table.setdefault(name, count)
        if known != count and name not in self.ambiguous:
            self.ambiguous.add(name)
            self.figures.fault(f"{who}: {name} names {known} and {count}")


class Teller:
    """One client with one session at a time: a lost session is followed by a new one. It asks all nodes in turn."""

    def __init__(self, book, nodes, index):
        self.book, self.index = book, index
        self.links = [Link(node.port) for node in nodes]
        self.random = random.Random()
        self.lock = asyncio.Lock()
        self.token = self.reader = None
        self._forget()

    def __str__(self):
        return f"client {self.index}"

    def _forget(self):
        # Sums that were, amounts that were sent, and the last acknowledged (epoch, version, sum).
        self.sums, self.amounts, self.last = {0}, set(), None

    # --- Requests ---

    async def _ask(self, method, path, accept, body=None, patience=120.0, link=None, **fields):
        """The answer, of any node if none is named, with a status that is accepted or 404; sends again until it comes."""
        end = time.monotonic() + patience
        while True:
            try:
                answer = await (link or self.random.choice(self.links)).ask(method, path, body, self.token, **fields)
                if answer.status in (*accept, 404):
                    return answer
                what = f"{answer.status} {answer.problem()}"
                self.book.problems[what] = self.book.problems.get(what, 0) + 1
                # 410: the database does not have the store any more that the intent met.
                if answer.status not in (409, 410, 429, 503):
                    self.book.figures.fault(f"{self}: {method} {path} got {what}")
            except Lost as reason:
                what = str(reason)
            if time.monotonic() > end:
                raise Lost(f"{self}: {method} {path} was not answered for {patience:.0f} s, the last time with {what}")
            await asyncio.sleep(0.1 + 0.4 * self.random.random())

    async def begin(self):
        self.token = None
        self._forget()
        answer = await self._ask("POST", "/sessions", (201,))
        self.token = answer.json()["token"]

    async def _lose(self):
        self.book.lost += 1
        await self.begin()

    async def add(self):
        """Adds until it is acknowledged, in a new session if the one is lost."""
        amount, key, began = self.random.randrange(1, LARGEST), uuid.uuid4().hex, time.monotonic()
        self.amounts.add(amount)
        answer = await self._ask(
            "POST", f"{PATH}/intents", (200,), {"type": "add", "amount": amount}, Idempotency_Key=f'"{key}"',
            Prefer="return=representation")
        if answer.status == 404:
            return await self._lose()
        self.book.acknowledged += 1
        self.book.waits.append(time.monotonic() - began)
        epoch, version, count = self._see(answer)
        if self.last and self.last[0] == epoch and count != self.last[2] + amount:
            self.book.missing += 1
            self.book.figures.fault(f"{self}: {self.last} and {amount} make {(epoch, version, count)}")
        self.sums.add(count)
        self.book.epochs += self.last is not None and self.last[0] != epoch
        self.last = (epoch, version, count)

    async def read(self, link=None, patience=120.0):
        """The state that a node shows: epoch, version and sum; the problem if the session is lost."""
        answer = await self._ask("GET", f"{PATH}/state", (200,), link=link, patience=patience)
        if answer.status == 404:
            return answer.problem()
        self.book.reads += 1
        seen = self._see(answer)
        # Another node may show its memory while the database cannot be asked.
        if self.last and self.last[0] == seen[0] and seen[1] < self.last[1]:
            self.book.old += 1
        return seen

    def _see(self, answer):
        """Epoch, version and sum of an answer with a state."""
        tag, count = answer.fields["etag"].strip('"'), answer.json()["count"]
        self._judge(tag, count)
        epoch, _, version = tag.rpartition(".")
        return epoch, int(version), count

    def _judge(self, tag, count):
        self.book.name(self.book.tags, tag, count, self)
        if count == 0:
            return
        if count in self.sums or any(count - amount in self.sums for amount in self.amounts):
            self.book.owners[count] = self.token
        elif self.book.owners.get(count, self.token) != self.token:
            self.book.strangers += 1
            self.book.figures.fault(f"{self}: {tag} is {count}, which is another client's")
        else:
            self.book.unknown += 1
            self.book.figures.fault(f"{self}: {tag} is {count}, which was never its sum")

    # --- The stream ---

    def open(self):
        self.reader = asyncio.create_task(self._read())

    async def _read(self):
        while True:
            stream, token, epoch = Stream(self.random.choice(self.links).port), self.token, None
            try:
                async for event in stream.events("/events?feature=counter", token):
                    if token != self.token:
                        break
                    epoch = self._take(event, epoch)
            except Lost:
                pass
            await asyncio.sleep(0.2 + self.random.random())

    def _take(self, event, epoch):
        """The epoch after an event; nothing where it is not known."""
        if event.name == "hello":
            epoch = event.data["epoch"]
        elif event.name == "reset":
            epoch = None
        if event.id:
            epoch = event.id.rpartition(".")[0]
        if event.name == "state" and epoch:
            self.book.events += 1
            self._judge(f"{epoch}.{event.data['version']}", event.data["state"]["count"])
            if event.id:
                self.book.name(self.book.ids, event.id, event.data["state"]["count"], f"{self}'s stream")
        return epoch

    # --- The end ---

    async def check(self):
        """Whether all nodes show the same, and what was acknowledged, once nothing is sent any more."""
        async with self.lock:
            end = time.monotonic() + 10
            while True:
                seen = [await self.read(link, 30.0) for link in self.links]
                is_lost = isinstance(seen[0], str)
                is_whole = is_lost or not self.last or seen[0][0] != self.last[0] or seen[0] == self.last
                if (len(set(seen)) == 1 and is_whole) or time.monotonic() > end:
                    break
                await asyncio.sleep(0.5)
            if len(set(seen)) > 1:
                self.book.apart += 1
                self.book.figures.fault(f"{self}: the nodes show {seen}")
            elif not is_whole:
                self.book.missing += 1
                self.book.figures.fault(f"{self}: {self.last} was acknowledged, the nodes show {seen[0]}")
            if is_lost:
                await self._lose()
            elif self.last and seen[0][0] != self.last[0]:
                self.book.epochs += 1
                self.last = seen[0]

    async def use(self, stop, pause):
        """Adds and reads until it is told to stop."""
        while not stop.is_set():
            async with self.lock:
                await self.add()
            for _ in range(2):
                await asyncio.sleep(pause * (0.2 + 0.3 * self.random.random()))
                async with self.lock:
                    if isinstance(await self.read(), str):
                        await self._lose()

    def close(self):
        if self.reader:
            self.reader.cancel()
        for link in self.links:
            link.close()
