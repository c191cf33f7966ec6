"""Clients that share lists, and know what each list has to have."""

import asyncio

from client import Client
from figures import Failure
from link import Lost, Stream
from processes import until


class Lists:
    """What all callers of the trial's lists have been answered and shown."""

    def __init__(self):
        # For each list: the number of acknowledged items, and the labels that any stream showed, by their ids.
        self.added, self.labels = {}, {}

    def note_label(self, name, id_):
        self.labels.setdefault(name, set()).add(id_)


class Caller(Client):
    """One session that adds, checks and clears items of a shared list, with one intent at a time, and a stream that shows it."""

    def __init__(self, notes, port, index, lists, name):
        super().__init__(notes, port, index, features=("counter", name))
        self.lists, self.name = lists, name
        # A number counts the intents of one caller in one list.
        self.numbers = False
        self.count = 0
        self.labels = set()
        self.items = None
        self.version = -1
        # The number of its streams: the first one may show no label from before.
        self.hellos = 0

    async def step(self):
        """Adds an item, reads it at any node, and checks it. Some clear the list of what is checked."""
        self.count += 1
        text = f"{self.index}-{self.count}"
        if await self.send(self.name, {"type": "add", "text": text}) is None:
            return
        self.lists.added[self.name] = self.lists.added.get(self.name, 0) + 1
        answer, _ = await self.ask_until("GET", f"/features/{self.name}/state", accept=(200,))
        found = [item for item in answer.json()["items"] if item["text"] == text]
        # A journal that is silent, on a busy machine, lets a node answer what it knows, and say so.
        while not found and "mvi-stale" in answer.fields:
            self.notes.count(self.notes.away, "a read was stale and said so")
            answer, _ = await self.ask_until("GET", f"/features/{self.name}/state", accept=(200,))
            found = [item for item in answer.json()["items"] if item["text"] == text]
        if len(found) != 1:
            self.notes.say(f"caller {self.index}: {text} is there {len(found)} times after it was acknowledged")
            return
        await self.send(self.name, {"type": "check", "id": found[0]["id"], "isDone": True})
        if self.count % 4 == 0:
            await self.send(self.name, {"type": "clear"})
        else:
            await self.send(self.name, {"type": "remove", "id": found[0]["id"]})

    def _take(self, event, stream):
        if event.name == "hello":
            self.hellos += 1
            # A list that came late, and after which the stream was cut at once, has no position yet.
            if event.data["resumed"] is False and self.version >= 0:
                self.notes.say(f"caller {self.index}: its stream was not resumed")
            self.live.set()
            stream.silence = 2.5 * event.data["heartbeat"]
        if event.id is not None:
            self.cursor = event.id
        if event.name == "reset":
            self.notes.say(f"caller {self.index}: a reset: {event.data}")
        if event.data and event.data.get("feature") != self.name:
            return
        if event.name == "state":
            if event.data["version"] < self.version:
                self.notes.count(self.notes.away, "a stream began with an older state")
            self.version, self.items = event.data["version"], event.data["state"]
        elif event.name == "label":
            self._take_shared_label(event)
        elif event.name in ("end", "denied"):
            self.notes.say(f"caller {self.index}: {event.name} of {self.name}")

    def _take_shared_label(self, event):
        id_ = event.data["id"]
        if self.hellos == 1 and event.data["replay"]:
            self.notes.say(f"caller {self.index}: a newcomer is shown the earlier label {id_}")
        if id_ in self.labels:
            self.notes.repeated += 1
        self.labels.add(id_)
        self.lists.note_label(self.name, id_)

    async def agrees(self):
        """Waits until its stream shows what the list has. Returns the number of items that were ever added."""
        answer, _ = await self.ask_until("GET", f"/features/{self.name}/state", accept=(200,))
        try:
            await until("streams", lambda: self.items == answer.json(), 30, 0.2)
        except Failure:
            self.notes.say(f"caller {self.index}: its stream shows {self.items}, and the list has {answer.json()}")
        return answer.json()["added"]


async def visit(notes, port, name):
    """A newcomer's stream: it begins with the state, and has no label from before."""
    visitor = Client(notes, port, 0)
    await visitor.begin()
    stream = Stream(port)

    async def first():
        async for event in stream.events(f"/events?feature={name}", visitor.token):
            if event.name == "label" and event.data["replay"]:
                notes.say(f"a newcomer of {name} is shown the earlier label {event.data['id']}")
            if event.name == "state":
                # What comes at once after it would be old labels.
                await asyncio.sleep(0.2)
                return
    try:
        await asyncio.wait_for(first(), 30)
    except (Lost, TimeoutError):
        # A node was killed: the next one comes.
        pass
    visitor.close()


async def judge_lists(callers, lists, notes, figures):
    """Nothing lost, nothing doubled, and each label on each stream that was there."""
    lost = doubled = missing = 0
    for name in sorted({caller.name for caller in callers}):
        mine = [caller for caller in callers if caller.name == name]
        counts = [await caller.agrees() for caller in mine]
        acknowledged = lists.added.get(name, 0)
        lost += max(0, acknowledged - min(counts))
        doubled += max(0, max(counts) - acknowledged)
        labels = lists.labels.get(name, set())
        try:
            await until("labels", lambda mine=mine, labels=labels: all(labels <= each.labels for each in mine), 30, 0.2)
        except Failure:
            missing += sum(len(labels - each.labels) for each in mine)
    figures.show("shared lists", f"{sum(lists.added.values())} items acknowledged, "
                 f"{sum(map(len, lists.labels.values()))} labels, {notes.repeated} shown again after a reconnect")
    figures.none("acknowledged items that are lost", lost)
    figures.none("items that were added twice", doubled)
    figures.none("labels that a stream never showed", missing)
