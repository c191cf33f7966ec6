"""The database goes back in time under running nodes: a restored dump, a recovery to a moment, a failover that loses commits."""

import asyncio
import time

from figures import Failure, milliseconds
from processes import until
from teller import Book, Teller

ARCHIVE = "archive_mode = on\narchive_command = 'cp %p {path}/%f'\n"


async def run(world):
    rounds, figures = world.length(5, 1), world.figures
    sessions = world.options.sessions or (60 if world.options.short else 200)
    archive = world.path / "archive"
    archive.mkdir()
    past = Past(world, await world.database("db0", more=ARCHIVE.format(path=archive), owns=archive), archive)
    nodes = await world.nodes(3, past.database.url())
    book, stop = Book(figures), asyncio.Event()

    async def join(indices, adds):
        made = [Teller(book, nodes, index) for index in indices]

        async def begin(teller):
            await teller.begin()
            for _ in range(adds):
                await teller.add()
        await asyncio.gather(*map(begin, made))
        return made

    tellers = await join(range(sessions), 1)
    for teller in tellers[::2]:
        teller.open()
    using = [asyncio.create_task(teller.use(stop, sessions / 150)) for teller in tellers]
    index = sessions
    for place in range(rounds):
        for way in (past.restore, past.recover, past.fail_over):
            await asyncio.sleep(2)
            go_back = await way()
            # The database will not know these, while a node has them in its memory.
            guests = await join(range(index, index + sessions // 2), 2)
            for guest in guests[::2]:
                guest.open()
            await asyncio.sleep(3)
            before, lost, epochs = time.monotonic(), book.lost, book.epochs
            await go_back()
            took = time.monotonic() - before
            await until("all nodes are ready", lambda: _are_ready(nodes), 60)
            ready = time.monotonic() - before - took
            # Their sessions may take the places that the guests' had.
            newcomers = await join(range(index + sessions // 2, index + sessions), 3)
            index += sessions
            for guest in guests:
                for link in guest.links:
                    await guest.read(link)
            await asyncio.gather(*(guest.add() for guest in guests))
            await asyncio.sleep(5)
            await asyncio.gather(*(each.check() for each in (*tellers, *guests, *newcomers)))
            figures.show(
                f"{way.__name__.replace('_', ' ')}, round {place + 1}",
                f"{took:.1f} s, nodes ready {ready:.1f} s after; {book.lost - lost} sessions lost, "
                f"{book.epochs - epochs} with a new epoch")
            for each in (*guests, *newcomers):
                each.close()
            for task in using:
                if task.done():
                    raise Failure(f"a client ended: {task.exception()}")
    stop.set()
    for result in await asyncio.gather(*using, return_exceptions=True):
        if isinstance(result, BaseException):
            figures.fault(f"a client: {type(result).__name__}: {result}")
    for teller in tellers:
        teller.close()
    figures.show("seen", f"{book.acknowledged} answers to intents, {book.reads} reads, {book.events} events, {index} clients")
    figures.show("intents, until acknowledged", milliseconds(book.waits))
    figures.show("problems meanwhile", str(book.problems or "none"))
    figures.show("reads older than an intent's answer", str(book.old))
    figures.none("states of another client", book.strangers)
    figures.none("states that never were", book.unknown)
    figures.none("tags and ids with two states", len(book.ambiguous))
    figures.none("acknowledged and gone in one epoch", book.missing)
    figures.none("sessions that nodes show apart", book.apart)


async def _are_ready(nodes):
    return all([await node.is_ready() for node in nodes])


class Past:
    """A database that can go back. Each way remembers a moment, and returns what goes back to it."""

    def __init__(self, world, database, archive):
        self.world, self.database, self.archive, self.count = world, database, archive, 0

    def _next(self):
        self.count += 1
        return self.world.standby(f"db{self.count}", more=self.database.more)

    async def restore(self):
        """A dump, which takes the schema's place while nodes use it."""
        await self.database.dump()
        return self.database.restore

    async def recover(self):
        """A base backup and the archive, up to a moment, at the same address."""
        other = self._next()
        await other.backup_of(self.database)
        moment = await self.database.value("SELECT clock_timestamp()")

        async def go():
            last = await self.database.value("SELECT pg_walfile_name(pg_switch_wal())")
            await until("the log is archived", lambda: (self.archive / last).exists(), 30)
            await self.database.stop("immediate")
            other.port = self.database.port
            await other.recover(
                f"restore_command = 'cp {self.archive}/%f %p'\nrecovery_target_time = '{moment}'\n"
                "recovery_target_action = promote\n")
            self.database = other
            await until("the recovery is over", self._is_primary, 60)
        return go

    async def fail_over(self):
        """A standby that follows no more is promoted, at the same address."""
        other = self._next()
        await other.copy_of(self.database)
        await until("the standby follows", self._has_standby, 60)
        await other.stop("fast")

        async def go():
            await self.database.stop("immediate")
            other.port = self.database.port
            await other.become_primary()
            self.database = other
        return go

    async def _has_standby(self):
        return await self.database.value("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == "1"

    async def _is_primary(self):
        return await self.database.value("SELECT pg_is_in_recovery()") == "f"
