"""Clients that know which of their intents were acknowledged, and what their streams showed."""

import asyncio
import random
import time
import uuid

from figures import Failure, milliseconds
from link import Link, Lost, Stream
from processes import until

# Intents that launch work, each with the feature whose state says whether the work has ended.
WORK = [
    ("video-list", {"type": "retry"}), ("user-info", {"type": "reload"}),
    ("order-detail:{order}", {"type": "refreshAllData"}),
]


class Client:
    """One session with a stream and one intent at a time, each sent again until it is answered.

    Its counter is added to by it alone, so what the counter has to be is known after each answer. A sum that is a multiple of
    ten is published as a label, so which labels have to come is known, too.
    """

    def __init__(self, notes, port, index, host="127.0.0.1", features=("counter",), epoch_may_change=False):
        self.notes, self.port, self.host, self.index, self.features = notes, port, host, index, features
        self.epoch_may_change = epoch_may_change
        self.link = Link(port, host)
        self.random = random.Random(index)
        self.token = self.session = None
        self.sum = 0
        self.versions = {}
        self.sums = {0}
        self.due_labels, self.seen_labels, self.label_ids = set(), {}, {}
        self.numbers = index % 2 == 0
        self.client_epoch, self.number = uuid.uuid4().hex, 0
        self.epoch = self.cursor = None
        self.last_node = None
        self.shown = -1
        self.shown_count = None
        self.live = asyncio.Event()
        self.reader = None
        self.sent_at = {}
        self.etag = self.tagged = None
        self.since = None
        self.acknowledged_at = 0.0
        # The last acknowledged intent: path, body, fields, version.
        self.last_sent = None
        self.make_stream = Stream

    # --- Requests ---

    async def ask_until(self, method, path, body=None, fields=None, accept=(200, 201, 202, 204), patience=300.0):
        """Sends a request until it is answered with something that is no trouble."""
        began, tries, fields = time.monotonic(), 0, fields or {}
        while True:
            tries += 1
            pause = min(2.0, 0.05 * 2 ** min(tries, 6)) * (0.5 + self.random.random() / 2)
            try:
                answer = await self.link.ask(method, path, body, self.token, **fields)
                self.notes.count(self.notes.statuses, answer.status)
                if answer.status >= 400:
                    self.notes.count(self.notes.problems, answer.problem() or f"{answer.status} of the proxy")
                if answer.status in accept:
                    return answer, tries
                if answer.status == 409 and answer.problem() == "intent-in-progress":
                    pause = min(pause, 0.2)
                elif answer.status not in (408, 429, 502, 503, 504, 507):
                    return answer, tries
                elif "retry-after" in answer.fields:
                    pause = min(2.0, float(answer.fields["retry-after"])) * (0.5 + self.random.random() / 2)
            except Lost:
                self.notes.lost_connections += 1
            if time.monotonic() - began > patience:
                raise Lost(f"no answer to {method} {path} for {patience:.0f} s")
            await asyncio.sleep(pause)

    async def begin(self):
        answer, _ = await self.ask_until("POST", "/sessions")
        if answer.status != 201:
            raise Lost(f"POST /sessions got {answer.status}: {answer.body[:200]}")
        self.token, self.session = answer.json()["token"], answer.json()["id"]

    async def send(self, feature, intent, patience=300.0):
        """Sends an intent until it is acknowledged; its version, or nothing if it was refused."""
        fields, began, path = {}, time.monotonic(), f"/features/{feature}/intents"
        if self.numbers:
            fields = {"Intent-Epoch": self.client_epoch, "Intent-Seq": self.number + 1}
        else:
            fields = {"Idempotency-Key": f'"{uuid.uuid4().hex}"'}
        await self.before_sending(path, intent, fields)
        while True:
            answer, tries = await self.ask_until("POST", path, intent, fields, (202,), patience)
            took = time.monotonic() - began
            if answer.status == 202:
                break
            self.notes.say(
                f"client {self.index}: {intent['type']} to {feature} got {answer.status} {answer.problem()} "
                f"(Expected-Seq {answer.fields.get('expected-seq')}, sent {fields})")
            # A node that knows nothing of what others acknowledged may know it later: the fault is counted once.
            if answer.problem() != "out-of-sequence" or took > patience:
                return None
            await asyncio.sleep(0.5)
        self.number += 1 if self.numbers else 0
        self.notes.acknowledged += 1
        self.notes.waits.append(took)
        if tries == 1:
            self.notes.first_tries.append(took)
        else:
            self.notes.sent_again += 1
        if "idempotency-replayed" in answer.fields:
            self.notes.replayed += 1
        self.acknowledged_at = time.monotonic()
        self.last_sent = (path, intent, fields, answer.json()["version"])
        return answer.json()["version"]

    async def before_sending(self, path, intent, fields):
        """For clients that do something else with an intent first."""

    async def add(self, amount):
        """Counts. A version told to two intents is a lost intent."""
        self.sums.add(self.sum + amount)
        self.sent_at[self.sum + amount] = time.monotonic()
        version = await self.send("counter", {"type": "add", "amount": amount})
        if version is None:
            return
        self.sum += amount
        if self.sum % 10 == 0:
            self.due_labels.add(self.sum)
        if version in self.versions:
            self.notes.say(f"client {self.index}: version {version} is that of two intents")
        self.versions[version] = self.sum

    async def work(self):
        feature, intent = WORK[self.random.randrange(len(WORK))]
        feature = feature.format(order=42 + self.random.randrange(2))
        if feature in self.features:
            await self.send(feature, intent)

    async def read(self):
        """Reads the counter from another node, with a tag if there is one. A sum that is not the acknowledged one is old."""
        began = time.monotonic()
        answer, _ = await self.ask_until(
            "GET", "/features/counter/state", fields={"If-None-Match": self.etag} if self.etag else {}, accept=(200, 304))
        self.notes.reads += 1
        if answer.status == 304:
            is_old = self.tagged != self.sum
        elif answer.status == 200:
            self.etag, self.tagged = answer.fields["etag"], answer.json()["count"]
            is_old = self.tagged != self.sum
            if self.tagged not in self.sums or self.tagged > self.sum:
                self.notes.say(f"client {self.index}: a read shows {self.tagged}, which was never the sum")
        else:
            self.notes.say(f"client {self.index}: a read got {answer.status} {answer.problem()}")
            return
        if is_old:
            self.notes.old_reads += 1
            self.notes.oldest_read = max(self.notes.oldest_read, began - self.acknowledged_at)

    # --- The stream ---

    def open(self):
        self.reader = asyncio.create_task(self._read())

    async def _read(self):
        """Comes back as an EventSource does."""
        while True:
            stream = self.make_stream(self.port, self.host)
            said_goodbye = False
            try:
                path = "/events?" + "&".join(f"feature={feature}" for feature in self.features)
                async for event in stream.events(path, self.token, self.cursor):
                    said_goodbye = event.name == "goaway"
                    self._take(event, stream)
            except Lost:
                pass
            self.notes.cut += self.live.is_set() and not said_goodbye
            if self.live.is_set():
                self.live.clear()
                self.since = time.monotonic()
            await asyncio.sleep(min(stream.retry, 5.0) * (1 + self.random.random() / 10))

    def _take(self, event, stream):
        notes = self.notes
        if event.name == "hello":
            self._begin_stream(event, stream)
        if event.id is not None:
            epoch, _, number = event.id.rpartition(".")
            if epoch != self.epoch:
                self._begin_epoch(epoch)
            if self.cursor and epoch == self.cursor.rpartition(".")[0] and int(number) < int(self.cursor.rpartition(".")[2]):
                notes.say(f"client {self.index}: id {event.id} after {self.cursor}")
            self.cursor = event.id
        if event.name == "state" and event.data["feature"] == "counter":
            self._take_state(event)
        elif event.name == "label" and event.data["feature"] == "counter":
            self._take_label(event)
        elif event.name == "reset":
            notes.resets += 1
            notes.count(notes.reset_reasons, f"{event.data['reason']}, labels lost: {event.data['labelsLost']}")
        elif event.name == "goaway":
            notes.count(notes.goaways, event.data["reason"])

    def _begin_stream(self, event, stream):
        notes = self.notes
        notes.streams += 1
        if event.data["epoch"] != self.epoch:
            self._begin_epoch(event.data["epoch"])
        if event.data["resumed"]:
            notes.resumed += 1
            notes.resumed_elsewhere += stream.node != self.last_node
        self.last_node = stream.node
        stream.silence = 2.5 * event.data["heartbeat"]
        if self.since is not None:
            notes.gaps.append(time.monotonic() - self.since)
        self.shown_on_this = -1
        self.live.set()

    def _begin_epoch(self, epoch):
        """The session has another past: versions may come again."""
        if self.epoch is not None:
            self.notes.epochs += 1
            self.versions, self.shown, self.shown_on_this, self.cursor = {}, -1, -1, None
            if not self.epoch_may_change:
                self.notes.say(f"client {self.index}: another epoch")
        self.epoch = epoch

    def _take_state(self, event):
        version, count = event.data["version"], event.data["state"]["count"]
        if version < self.shown_on_this:
            self.notes.say(f"client {self.index}: version {version} after {self.shown_on_this}")
        if version < self.shown and not self.epoch_may_change:
            # A new stream may begin with an older state for a moment, where another node has not heard yet.
            self.notes.count(self.notes.away, "a stream began with an older state")
        self.shown_on_this = self.shown = version
        self.shown_count = count
        if count not in self.sums:
            self.notes.say(f"client {self.index}: a stream shows {count}, which was never the sum")
        if version in self.versions and self.versions[version] != count:
            self.notes.say(f"client {self.index}: version {version} shows {count}, not {self.versions[version]}")
        if (sent := self.sent_at.pop(count, None)) is not None:
            self.notes.delays.append(event.time - sent)

    def _take_label(self, event):
        label, id_ = event.data["label"], event.data["id"]
        if label.get("type") != "milestone":
            return
        self.notes.labels += 1
        if id_ in self.label_ids:
            self.notes.repeated += 1
        self.label_ids[id_] = label["count"]
        self.seen_labels.setdefault(label["count"], set()).add(id_)

    # --- The end ---

    async def check(self, labels=True):
        """What the counter is at last, and which labels are missing: waits for them. Returns (lost, doubled, still old)."""
        # A turn sees what is stored; a read may be behind.
        answer, _ = await self.ask_until(
            "POST", "/features/counter/intents", {"type": "add", "amount": 0},
            {"Idempotency-Key": f'"{uuid.uuid4().hex}"', "Prefer": "return=representation"}, (200,))
        if answer.status != 200:
            raise Lost(f"the last turn got {answer.status}")
        count = answer.json()["count"]

        async def is_shown():
            read, _ = await self.ask_until("GET", "/features/counter/state", accept=(200,))
            return read.json()["count"] == count
        is_old = False
        try:
            # Of several nodes, in turn.
            for _ in range(4):
                await until("reads", is_shown, 10, 0.3)
        except Failure:
            is_old = True
        if labels:
            try:
                await until("labels", lambda: self.due_labels <= self.seen_labels.keys(), 45, 0.2)
            except Failure:
                # What is missing is counted by the trial.
                pass
        return max(0, self.sum - count), max(0, count - self.sum), is_old

    async def idle(self, seconds=60.0):
        """Whether no state says for longer that its work runs."""
        async def quiet():
            for feature in self.features[1:]:
                answer, _ = await self.ask_until("GET", f"/features/{feature}/state", accept=(200,))
                if b'"isLoading":true' in answer.body or b'"loading"' in answer.body:
                    return False
            return True
        try:
            await until("its work ends", quiet, seconds, 0.5)
            return True
        except Failure:
            return False

    def close(self):
        if self.reader:
            self.reader.cancel()
        self.link.close()


async def begin_all(clients, at_once=50, streams=True):
    """Sessions, and streams that are live."""
    gate = asyncio.Semaphore(at_once)

    async def begin(client):
        async with gate:
            await client.begin()
            if streams:
                client.open()
                await asyncio.wait_for(client.live.wait(), 120)
    await asyncio.gather(*map(begin, clients))


async def load(clients, seconds, rate, work=0.15, reads=0.1):
    """All clients send intents for so long, `rate` a second together. Each waits for its answers."""
    end, pause = time.monotonic() + seconds, len(clients) / rate

    async def run(client):
        await asyncio.sleep(client.random.random() * pause)
        while (now := time.monotonic()) < end:
            chance = client.random.random()
            if chance < work:
                await client.work()
            else:
                await client.add(client.random.choice((1, 4, 10, 10)))
            if client.random.random() < reads:
                await client.read()
            await asyncio.sleep(max(0.0, pause * (0.5 + client.random.random()) - (time.monotonic() - now)))
    results = await asyncio.gather(*map(run, clients), return_exceptions=True)
    for client, result in zip(clients, results):
        if isinstance(result, BaseException):
            client.notes.say(f"client {client.index}: {type(result).__name__}: {result}")


async def judge(clients, notes, labels=True, resets_allowed=False, old_reads_allowed=False):
    """The figures that every trial with such clients has.

    Reads may be old where the database cannot be asked, and only there.
    """
    figures = notes.figures
    results = await asyncio.gather(*(client.check(labels) for client in clients), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            notes.say(f"at the end: {type(result).__name__}: {result}")
    lost = [result[0] for result in results if isinstance(result, tuple)]
    doubled = [result[1] for result in results if isinstance(result, tuple)]
    figures.show("intents acknowledged", f"{notes.acknowledged}, {notes.sent_again} of them sent more than once, "
                                         f"{notes.replayed} answered from a receipt")
    figures.none("sums below the acknowledged ones", sum(each > 0 for each in lost))
    figures.none("sums above the acknowledged ones", sum(each > 0 for each in doubled))
    figures.none("sessions that a node shows old for 10 s", sum(result[2] for result in results if isinstance(result, tuple)))
    if labels:
        due = sum(len(client.due_labels) for client in clients)
        missed = sum(len(client.due_labels - client.seen_labels.keys()) for client in clients)
        renamed = sum(len(ids) > 1 for client in clients for ids in client.seen_labels.values())
        figures.show("labels", f"{due} due, {notes.labels} came, {notes.repeated} of them again with the same id")
        figures.none("labels missed", missed)
        figures.none("labels doubled with another id", renamed)
    figures.show("streams", f"{notes.streams} opened, {notes.resumed} resumed, {notes.resumed_elsewhere} of them on another "
                            f"node; {notes.resets} resets {notes.reset_reasons or ''}; goaway {notes.goaways or 'none'}")
    if notes.resets and not resets_allowed:
        figures.fault(f"{notes.resets} streams were reset")
    figures.show("streams away", milliseconds(notes.gaps))
    figures.show("intents, until acknowledged", milliseconds(notes.waits))
    figures.show("intents, answered at once", milliseconds(notes.first_tries))
    figures.show("intents, until shown", milliseconds(notes.delays))
    figures.show("answers", f"{dict(sorted(notes.statuses.items()))}, {notes.problems or 'no problems'}, "
                            f"{notes.lost_connections} requests without one")
    figures.show("reads", f"{notes.reads}, {notes.old_reads} of them older than an acknowledged intent, "
                          f"at most {notes.oldest_read:.2f} s after its answer")
    if notes.old_reads and not old_reads_allowed:
        figures.fault(f"{notes.old_reads} of {notes.reads} reads were older than an acknowledged intent")
    if notes.away:
        figures.show("besides", str(notes.away))
