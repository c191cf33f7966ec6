"""Scenarios whose waits take seconds."""

import asyncio

from kit.registry import scenario


@scenario(22)
async def huge_retry_is_capped(play):
    """A `retry` of an hour is cut to 30 s."""
    stream = await play.live(retry=3_600_000)
    stream.cut()
    after = await play.stream(rule=22, expected="a stream after 30 s at most", seconds=30 + play.lateness)
    play.check_wait(22, after, stream, 14.5, 30, "`retry: 3600000`")


@scenario(5, 19)
async def refused_at_first(play):
    """A client whose server is not there yet tries again."""
    await play.server.listen()
    play.server.refuse()
    await play.driver.start()
    play.tell("open", url=play.server.url, features=["counter"], credential="bearer", delta=None, identities=[])
    await asyncio.sleep(1)
    await play.server.listen()
    stream = await play.stream(rule=5, seconds=12 + play.patience)
    stream.accept()
    stream.state(2)
    await play.shows(2)


@scenario(24)
async def silence(play):
    """After 2.5 heartbeats without a byte the connection is cut and opened anew."""
    await play.open()
    stream = await play.stream()
    # Without a heartbeat from hello, silence would end the stream after 50 s.
    stream.accept(heartbeat=1, retry=50)
    stream.ends()
    stream.state(2, id="e1.2")
    await play.shows(2)
    after = await play.stream(rule=24, expected="a new stream after 2.5 heartbeats of silence", seconds=3 + min(play.lateness, 40))
    play.check_wait(24, after, stream, 2.3, 3, "2.5 heartbeats of 1 s")
    play.check(24, after.request.last_event_id == "e1.2", "the cursor e1.2", after.request.last_event_id)
    await play.within(24, stream.client_leaves(), "the silent connection is closed")
    after.accept()
    after.state(3)
    await play.shows(3)


async def keeps_alive(play, pieces):
    """Writes a piece each second for longer than the 10 s of silence after which a client reopens the stream."""
    await play.open()
    stream = await play.stream()
    stream.accept(heartbeat=4)
    times = []
    for piece in pieces[:12]:
        times.append(play.now)
        stream.send(piece)
        if request := await play.next_request("stream", 1):
            # A client is right if the kit itself was silent for so long.
            silence = max(after - before for before, after in zip(times, [*times[1:], request.time]))
            play.check(25, silence >= 9.9, "no other stream while bytes come", f"{request} after {silence:.2f} s without a byte")
            return


@scenario(25)
async def pings_keep_alive(play):
    """Pings keep a stream alive."""
    await keeps_alive(play, ["event: ping\ndata: {}\n\n"] * 12)


@scenario(25)
async def comments_keep_alive(play):
    """Comments keep a stream alive."""
    await keeps_alive(play, [": \n"] * 12)


@scenario(25)
async def bytes_keep_alive(play):
    """Bytes of an unfinished event keep a stream alive."""
    await keeps_alive(play, list('data: {"type"'))


@scenario(29)
async def retry_after_date(play):
    """Retry-After may be a date (RFC 9110, section 10.2.3)."""
    from email.utils import formatdate
    from time import time
    stream = await play.live(retry=50)
    stream.cut()
    stream = await play.stream()
    stream.ends()
    stream.request.problem(503, "busy", [("Retry-After", formatdate(time() + 3, usegmt=True))])
    after = await play.stream(rule=29, seconds=4 + play.patience)
    play.check_wait(29, after, stream, 1.9, 4, "no stream before the date")
    after.request.problem(503, "busy", [("Retry-After", "soon")])
    await play.stream(rule=29, expected="an unreadable Retry-After is none")
