"""Scenarios whose waits take seconds."""

import asyncio

from kit.registry import scenario


@scenario(22)
async def huge_retry_is_capped(play):
    """A `retry` of an hour is cut to 30 s."""
    stream = await play.live(retry=3_600_000)
    stream.cut()
    after = await play.stream(rule=22, expected="a stream within 30 s", seconds=33)
    play.check(22, after.time - stream.ended_at >= 13, "a wait of 15 to 30 s", f"{after.time - stream.ended_at:.1f} s")


@scenario(5, 19)
async def refused_at_first(play):
    """A client whose server is not there yet tries again."""
    await play.server.listen()
    play.server.refuse()
    await play.driver.start(play.command)
    play.tell("open", url=play.server.url, features=["counter"], credential="bearer", delta=None, identities=[])
    await asyncio.sleep(1)
    await play.server.listen()
    stream = await play.stream(rule=5, seconds=12)
    stream.accept()
    stream.state(2)
    await play.shows(2)


@scenario(24)
async def silence(play):
    """After 2.5 heartbeats without a byte the connection is cut and opened anew."""
    await play.open()
    stream = await play.stream()
    stream.accept(heartbeat=1, retry=50)
    stream.state(2, id="e1.2")
    quiet_since = play.now
    await play.shows(2)
    after = await play.stream(rule=24, expected="a new stream after 2.5 heartbeats of silence")
    quiet = after.time - quiet_since
    play.check(24, 2.3 <= quiet <= 5, "a new stream after 2.5 s", f"{quiet:.2f} s")
    play.check(24, after.request.last_event_id == "e1.2", "the cursor e1.2", after.request.last_event_id)
    await play.within(24, stream.client_leaves(), "the silent connection is closed", 2)
    after.accept(heartbeat=1)
    after.state(3)
    await play.shows(3)


@scenario(25)
async def pings_keep_alive(play):
    """Pings, comments and bytes of an unfinished event keep a stream alive."""
    await play.open()
    stream = await play.stream()
    stream.accept(heartbeat=1)
    stream.state(2)
    await play.shows(2)
    pieces = ["event: ping\ndata: {}\n\n"] * 4 + [": \n"] * 4 + list('data: {"t"')
    for piece in pieces:
        stream.send(piece)
        await play.no_request("stream", 25, 0.8, "no other stream while bytes come")


@scenario(29)
async def retry_after_date(play):
    """Retry-After may be a date (RFC 9110, section 10.2.3)."""
    from email.utils import formatdate
    from time import time
    stream = await play.live(retry=50)
    stream.cut()
    stream = await play.stream()
    stream.request.problem(503, "busy", [("Retry-After", formatdate(time() + 3, usegmt=True))])
    asked = play.now
    after = await play.stream(rule=29, seconds=play.patience + 4)
    play.check(29, after.time - asked >= 1.9, "no stream before the date", f"after {after.time - asked:.2f} s")
    after.request.problem(503, "busy", [("Retry-After", "soon")])
    await play.stream(rule=29, expected="an unreadable Retry-After is none")
