"""The primary is killed and its synchronous standby promoted, again and again, while clients count."""

import asyncio
import time

from client import Client, begin_all, judge, load
from figures import quantile
from processes import until

SYNCHRONOUS = "synchronous_standby_names = 'ANY 1 (*)'\nsynchronous_commit = on\n"


async def run(world):
    rounds, figures = world.length(20, 2), world.figures
    sessions = world.options.sessions or (60 if world.options.short else 200)
    primary = await world.database("db0")
    standby = world.standby("db1")
    # Two addresses that stay: the servers are made anew in each round, with ports of their own.
    ports = [primary.port, standby.port]
    await standby.copy_of(primary)
    await _follow(primary, standby)
    url = (f"postgres://mvi@127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}/postgres"
           "?connect_timeout=3&target_session_attrs=read-write")
    nodes = await world.nodes(3, url)
    balancer = await world.balancer(nodes)
    clients = [Client(world.notes, balancer.port, index, epoch_may_change=True) for index in range(sessions)]
    await begin_all(clients)
    waits = []
    stop = asyncio.Event()

    async def count(client):
        pause = len(clients) / min(200, sessions)
        while not stop.is_set():
            began = time.monotonic()
            await client.add(client.random.choice((1, 4, 10, 10)))
            if client.random.random() < 0.1:
                await client.read()
            await asyncio.sleep(max(0.0, pause - (time.monotonic() - began)))
    counting = [asyncio.create_task(count(client)) for client in clients]
    for place in range(rounds):
        await asyncio.sleep(5)
        began = time.monotonic()
        await primary.stop("immediate")
        await standby.promote()
        promoted = time.monotonic() - began
        # The new primary commits without a standby until there is one: it is not killed before that.
        primary, old = standby, primary
        await primary.reload("")
        standby = world.standby(f"db{place + 2}")
        standby.port = old.port
        before = world.notes.acknowledged
        await until("the first commit after the failover", lambda: world.notes.acknowledged > before, 60, 0.01)
        waits.append(time.monotonic() - began)
        alone = time.monotonic()
        await standby.copy_of(primary)
        await _follow(primary, standby)
        figures.note(f"round {place + 1}: promoted after {promoted:.1f} s, first acknowledgement {waits[-1]:.1f} s after the "
                     f"kill; {time.monotonic() - alone:.1f} s for a new standby")
    stop.set()
    for result in await asyncio.gather(*counting, return_exceptions=True):
        if isinstance(result, BaseException):
            world.notes.say(f"a client: {type(result).__name__}: {result}")
    figures.show("failovers", f"{rounds}, {sessions} sessions")
    figures.show("from the kill to the first commit", f"median {quantile(waits, 0.5):.1f} s, longest {max(waits):.1f} s")
    figures.show("streams with a new epoch", str(world.notes.epochs))
    # Labels of the life that ended are not owed to a stream with a new epoch.
    await judge(clients, world.notes, labels=False, resets_allowed=True, old_reads_allowed=True)
    for client in clients:
        client.close()


async def _follow(primary, standby):
    """The standby has all, and commits wait for it from now on."""
    await until("the standby follows", lambda: _is_following(primary, standby), 60)
    await primary.reload(SYNCHRONOUS)
    await until("commits wait for the standby", lambda: _is_synchronous(primary), 60)


async def _is_following(primary, standby):
    return await primary.value(
        f"SELECT count(*) FROM pg_stat_replication WHERE application_name = '{standby.name}' AND state = 'streaming'") == "1"


async def _is_synchronous(primary):
    return await primary.value("SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')") == "1"
