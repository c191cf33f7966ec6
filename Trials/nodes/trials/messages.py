"""Sessions tell boards letters through a proxy that keeps none at a node, while nodes are killed and cut off from the database in
turns."""

import asyncio
import time
import uuid

from client import Client, begin_all
from figures import Failure, milliseconds
from wire import Wire

# Seconds. A node without its database stops its work after ten; others take its sessions over after thirteen.
CUT = 16.0


class Teller(Client):
    """One session that tells a board some letters with each intent."""

    def __init__(self, notes, port, index):
        super().__init__(notes, port, index, features=("letters",))
        self.numbers = False
        self.told = 0

    async def tell(self, board, count):
        """Tells; again after a pause while too many letters wait."""
        began = time.monotonic()
        body, fields = {"type": "send", "to": str(board), "count": count}, {"Idempotency-Key": f'"{uuid.uuid4().hex}"'}
        answer, tries = await self.ask_until("POST", "/features/letters/intents", body, fields, (202,))
        if answer.status != 202:
            raise Failure(f"teller {self.index} got {answer.status} {answer.problem()}")
        self.told += count
        self.notes.acknowledged += 1
        if tries == 1:
            self.notes.first_tries.append(time.monotonic() - began)


async def run(world):
    figures, notes = world.figures, world.notes
    short = world.options.short
    goal, sessions, boards, at_once = world.length(100_000, 4_000), world.options.sessions or (20 if short else 100), 5, 20
    database = await world.database()
    if not world.options.node_server:
        raise Failure("messages needs --node-server")
    wires = [await Wire(database.port).start() for _ in range(3)]
    nodes = [
        await world.node(
            f"node{place + 1}", database.url(port=wire.port), binary=world.options.node_server, arguments=("letters",)).start()
        for place, wire in enumerate(wires)]
    balancer = await world.balancer(nodes)
    tellers = [Teller(notes, balancer.port, index) for index in range(sessions)]
    await begin_all(tellers, streams=False)
    kills, cuts, is_over, began = 0, 0, False, time.monotonic()

    async def tell(teller):
        turn = 0
        while turn < goal // sessions // at_once or not cuts:
            await teller.tell((teller.index + turn) % boards, at_once)
            turn += 1
            # The kills and cuts come while letters are told.
            await asyncio.sleep(teller.random.random() / 2)

    async def kill(node):
        await node.kill()
        await asyncio.sleep(1)
        await node.start()

    async def trouble():
        nonlocal kills, cuts
        while not is_over:
            await asyncio.sleep(2 if short else 5)
            place = (kills + cuts) % len(nodes)
            if kills > cuts:
                wires[place].is_cut = True
                await asyncio.sleep(CUT)
                wires[place].is_cut = False
                cuts += 1
            else:
                await kill(nodes[place])
                kills += 1

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
    await asyncio.gather(trouble(), tell_all())
    for node in nodes:
        if not node.lives():
            await node.start()
    figures.show("nodes", f"one of three was killed {kills} times and cut off from the database {cuts} times, for {CUT:.0f} s, in "
                 f"{time.monotonic() - began:.0f} s")
    end = time.monotonic() + 120
    while True:
        told, refused, arrived, again, skipped, lost = await count()
        if told == refused + arrived + len(lost) or time.monotonic() > end:
            break
        await asyncio.sleep(0.5)
    figures.show("answers", milliseconds(notes.first_tries))
    figures.none("answers that waited for the database", sum(wait > CUT - 4 for wait in notes.first_tries))
    figures.show("letters", f"{told} told, {arrived} arrived, {refused} were refused and came back")
    figures.none("letters that are acknowledged and not told", sum(teller.told for teller in tellers) - told)
    figures.none("letters that neither arrived nor came back", told - arrived - refused - len(lost))
    figures.none("letters that arrived twice", again)
    figures.none("letters that came in another order", skipped)
    figures.none("letters that came back without being refused", len(lost))
    for each in [*tellers, *wires]:
        each.close()
