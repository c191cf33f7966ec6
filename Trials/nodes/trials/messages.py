"""Sessions tell boards letters through a proxy that keeps none at a node, while a node is killed every ten seconds."""

import asyncio
import time
import uuid

from client import Client, begin_all
from figures import Failure, milliseconds


class Teller(Client):
    """One session that tells a board some letters with each intent."""

    def __init__(self, notes, port, index):
        super().__init__(notes, port, index, features=("letters",))
        self.numbers = False
        self.told = 0

    async def tell(self, board, count):
        """Tells again after a pause if too many wait."""
        body = {"type": "send", "to": str(board), "count": count}
        while True:
            began = time.monotonic()
            fields = {"Idempotency-Key": f'"{uuid.uuid4().hex}"'}
            answer, tries = await self.ask_until("POST", "/features/letters/intents", body, fields, (202,))
            if answer.status == 202:
                self.told += count
                self.notes.acknowledged += 1
                if tries == 1:
                    self.notes.first_tries.append(time.monotonic() - began)
                return
            if answer.status != 500:
                self.notes.say(f"teller {self.index} got {answer.status} {answer.problem()}")
                return
            await asyncio.sleep(0.2)


async def run(world):
    figures, notes = world.figures, world.notes
    short = world.options.short
    goal, sessions, boards, at_once = world.length(100_000, 4_000), world.options.sessions or (20 if short else 100), 5, 20
    database = await world.database()
    if not world.options.node_server:
        raise Failure("messages needs --node-server")
    nodes = await world.nodes(3, database.url(), binary=world.options.node_server, arguments=("letters",))
    balancer = await world.balancer(nodes)
    tellers = [Teller(notes, balancer.port, index) for index in range(sessions)]
    await begin_all(tellers, streams=False)
    kills, is_over, began = 0, False, time.monotonic()

    async def tell(teller):
        for turn in range(goal // sessions // at_once):
            await teller.tell((teller.index + turn) % boards, at_once)
            # The kills come while letters are told.
            await asyncio.sleep(teller.random.random() / 2)

    async def kill():
        nonlocal kills
        while not is_over:
            await asyncio.sleep(2 if short else 5)
            node = nodes[kills % len(nodes)]
            kills += 1
            await node.kill()
            await asyncio.sleep(1)
            await node.start()
            await asyncio.sleep(2 if short else 4)

    async def count():
        told = refused = arrived = again = skipped = 0
        lost = []
        for teller in tellers:
            state = (await teller.ask_until("GET", "/features/letters/state", accept=(200,)))[0].json()
            told += sum(state["told"].values())
            refused += state["refused"]
            lost += state["lost"]
        for board in range(boards):
            answer, _ = await tellers[0].ask_until("GET", f"/features/board:{board}/state", accept=(200, 404))
            if answer.status == 200:
                view = answer.json()
                arrived, again, skipped = arrived + view["count"], again + view["again"], skipped + view["skipped"]
        return told, refused, arrived, again, skipped, lost

    async def tell_all():
        nonlocal is_over
        await asyncio.gather(*map(tell, tellers))
        is_over = True
    await asyncio.gather(kill(), tell_all())
    for node in nodes:
        if not node.lives():
            await node.start()
    figures.show("nodes", f"{kills} times one of three was killed in {time.monotonic() - began:.0f} s")
    end = time.monotonic() + 120
    while True:
        told, refused, arrived, again, skipped, lost = await count()
        if told == refused + arrived + len(lost) or time.monotonic() > end:
            break
        await asyncio.sleep(0.5)
    figures.show("answers", milliseconds(notes.first_tries))
    figures.show("letters", f"{told} told, {arrived} arrived, {refused} were refused and came back")
    figures.none("letters that are acknowledged and not told", sum(teller.told for teller in tellers) - told)
    figures.none("letters that neither arrived nor came back", told - arrived - refused - len(lost))
    figures.none("letters that arrived twice", again)
    figures.none("letters that came in another order", skipped)
    figures.none("letters that came back without being refused", len(lost))
    for teller in tellers:
        teller.close()
