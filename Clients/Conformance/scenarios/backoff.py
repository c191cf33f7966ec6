"""Health and back-off: when a client comes back after a failure."""

import asyncio

from kit.registry import scenario


def check_growth(play, rule, streams, base):
    """Compares each wait with base x 2^attempts; the first may already be doubled."""
    for attempt, (before, after) in enumerate(zip(streams, streams[1:])):
        play.check_wait(rule, after, before, 0.45 * base * 2**attempt, base * 2**(attempt + 1), f"failure {attempt + 1}")


async def failures(play, count, fail, rule=19):
    """Lets streams fail one after the other and returns them."""
    streams = []
    for _ in range(count):
        stream = await play.stream(rule=rule)
        fail(stream)
        streams.append(stream)
    return streams


@scenario(19)
async def backoff_grows(play):
    """The wait doubles with each failed attempt."""
    stream = await play.live(retry=100)
    stream.cut()
    streams = [stream] + await failures(play, 5, lambda stream: stream.cut())
    check_growth(play, 19, streams, 0.1)


@scenario(19)
async def first_base(play):
    """Before the first `retry:` the base is 3 s."""
    await play.open()
    stream = await play.stream()
    stream.cut()
    after = await play.stream(rule=19, seconds=play.patience + 6)
    play.check_wait(19, after, stream, 1.45, 6, "half to whole of 3 s, or of 6 s")


@scenario(20)
async def accept_is_no_health(play):
    """An accepted connection without hello does not reset the back-off."""
    stream = await play.live(retry=100)
    stream.cut()

    def fail(stream):
        stream.head()
        stream.send(": ok\nretry: 100\n\n")
        stream.event("ping", {"t": 1})
        stream.finish()

    streams = [stream] + await failures(play, 5, fail, rule=20)
    check_growth(play, 20, streams, 0.1)


@scenario(20)
async def hello_resets_backoff(play):
    """hello sets the count of failed attempts to zero."""
    stream = await play.live(retry=100)
    stream.cut()
    await failures(play, 5, lambda stream: stream.cut(), rule=20)
    stream = await play.stream(rule=20)
    stream.accept(retry=100)
    await play.condition("live", rule=20)
    await asyncio.sleep(0.1)
    stream.cut()
    after = await play.stream(rule=20)
    play.check(20, after.time - stream.ended_at < 1.5, "a wait of at most 0.2 s", f"{after.time - stream.ended_at:.2f} s")


@scenario(21)
async def jitter(play):
    """Waits are spread between the half and the whole, so that many clients do not come back together."""
    stream = await play.live(retry=800)
    waits = []
    for _ in range(10):
        stream.cut()
        after = await play.stream(rule=21)
        waits.append(after.time - stream.ended_at)
        after.accept(retry=800)
        stream = after
        await asyncio.sleep(0.05)
    play.check(21, min(waits) > 0.36, "no wait under half of 800 ms", f"{min(waits):.3f} s")
    waits.sort()
    play.check(21, waits[7] - waits[0] >= 0.08, "waits that are spread", f"eight of ten between {waits[0]:.3f} and {waits[7]:.3f} s")


@scenario(22, 23)
async def huge_numbers(play):
    """Huge waits do not overflow into none."""
    await play.open()
    stream = await play.stream()
    stream.accept(retry=99999999999)
    await play.condition("live")
    stream.finish()
    await play.no_request("stream", 22, 2, "a huge `retry:` is a long wait")
    play.tell("foreground")
    stream = await play.stream(rule=22)
    stream.accept(retry="9" * 30)
    stream.state(2)
    await play.shows(2)
    stream.goaway("drain", 10**15, field=False)
    await play.no_request("stream", 22, 2, "a huge `retry` of goaway is a long wait")
    play.tell("foreground")
    stream = await play.stream(rule=22)
    stream.request.problem(503, "busy", [("Retry-After", "99999999999999999999")])
    await play.no_request("stream", 22, 2, "a huge Retry-After is a long wait")


async def storm(play, answer, kind="stream", seconds=1.5):
    """Answers all requests of a kind at once, and fails when there are more than 20 in a second."""
    times = []
    end = play.now + seconds
    while play.now < end:
        try:
            request = await asyncio.wait_for(play.server.queue(kind).get(), max(0.01, end - play.now))
        except asyncio.TimeoutError:
            break
        times.append(play.now)
        answer(request)
    busiest = max((sum(1 for other in times if start <= other < start + 1) for start in times), default=0)
    play.check(23, busiest <= 20, "at most 20 streams in a second", f"{busiest}")
    play.check(23, busiest >= 1, "tries", "none")


def as_stream(answer):
    from kit.stream import Stream
    return lambda request: answer(Stream(request))


@scenario(23)
async def no_storm_closed_at_once(play):
    """With `retry: 0` and streams that end at once there are at most 20 tries in a second."""
    stream = await play.live(retry=0)
    stream.finish()

    def answer(stream):
        stream.head()
        stream.send("retry: 0\n\n")
        stream.finish()
    await storm(play, as_stream(answer))


@scenario(23)
async def no_storm_after_hello(play):
    """Streams that end right behind hello, with `retry: 0`, lead to at most 20 tries in a second."""
    stream = await play.live(retry=0)
    stream.finish()

    def answer(stream):
        stream.accept(retry=0)
        stream.finish()
    await storm(play, as_stream(answer))


@scenario(23)
async def no_storm_goaway(play):
    """goaway with a `retry` of 0, again and again, leads to at most 20 tries in a second."""
    stream = await play.live(retry=0)
    stream.goaway("rotate", 0)

    def answer(stream):
        stream.accept(retry=0)
        stream.goaway("rotate", 0)
    await storm(play, as_stream(answer))


@scenario(23)
async def no_storm_heartbeat_zero(play):
    """A heartbeat of 0 does not lead to a loop of streams that are cut at once."""
    stream = await play.live(retry=0)
    stream.finish()
    await storm(play, as_stream(lambda stream: stream.accept(retry=0, heartbeat=0)))


@scenario(5)
async def no_storm_of_sessions(play):
    """Sessions that are never known lead to few new sessions, not to a loop."""
    stream = await play.live(retry=200)
    stream.cut()
    (await play.stream()).request.problem(404, "session-not-found")
    end = play.now + 4
    while play.now < end:
        try:
            request = await asyncio.wait_for(play.server.queue("stream").get(), max(0.01, end - play.now))
        except asyncio.TimeoutError:
            break
        request.problem(404, "session-not-found")
    made = len(play.server.sessions)
    play.check(5, 2 <= made <= 12, "2 to 12 sessions in four seconds with `retry: 200`", f"{made}")


@scenario(26)
async def foreground_comes_back_at_once(play):
    """A client that waits comes back at once when it is looked at."""
    stream = await play.live(retry=20000)
    stream.cut()
    await play.condition("reconnecting", rule=26)
    play.tell("foreground")
    stream = await play.stream(rule=26, expected="a stream at once", seconds=4)
    stream.accept(retry=20000)
    stream.state(2)
    await play.shows(2)


@scenario(26)
async def live_stays(play):
    """A client that is live keeps its stream when it is looked at, and when the platform says that it is online."""
    stream = await play.live()
    for _ in range(3):
        play.tell("foreground")
        play.tell("online")
    await play.no_request("stream", 26, 0.6, "no other stream")
    stream.state(2)
    await play.shows(2, rule=26)


@scenario(26)
async def online_comes_back_at_once(play):
    """A client whose stream broke while it was offline comes back at once when it is online."""
    stream = await play.live(retry=20000)
    play.tell("offline")
    await play.condition("offline", rule=26)
    if not stream.is_gone:
        stream.cut()
    await play.no_request("stream", 26, 0.4, "no stream while offline")
    play.tell("online")
    stream = await play.stream(rule=26, expected="a stream at once", seconds=4)
    play.check(26, stream.request.last_event_id == "e1.1", "the cursor e1.1", stream.request.last_event_id)
    stream.accept()
    stream.state(2)
    await play.shows(2)


@scenario(26)
async def answer_comes_back_at_once(play):
    """An answered intent says that the server is there: a client that waits comes back at once."""
    stream = await play.live(retry=20000)
    stream.cut()
    await play.condition("reconnecting", rule=26)
    play.send("a")
    play.accept(await play.intent(), version=2)
    stream = await play.stream(rule=26, expected="a stream at once", seconds=4)
    stream.accept(retry=20000)
    stream.state(2)
    await play.shows(2)


@scenario(26, 33)
async def answer_does_not_shorten_goaway(play):
    """A time that the server gave stays, whatever is answered."""
    stream = await play.live()
    stream.event("goaway", {"reason": "drain", "retry": 2000})
    stream.finish()
    await play.condition("reconnecting", rule=33)
    play.send("a")
    play.accept(await play.intent(), version=2)
    await play.no_request("stream", 26, 0.8, "no stream before the time that goaway gave")
    await play.stream(rule=33, seconds=play.patience + 4)


@scenario(19, 26)
async def attempts_are_kept(play):
    """Coming back at once does not reset the back-off."""
    stream = await play.live(retry=100)
    stream.cut()
    await failures(play, 4, lambda stream: stream.cut())
    await asyncio.sleep(0.05)
    play.tell("foreground")
    stream = await play.stream(rule=26)
    stream.cut()
    after = await play.stream(rule=26)
    play.check(26, after.time - stream.ended_at >= 0.7, "a wait of at least 0.8 s after the fifth failure",
               f"{after.time - stream.ended_at:.2f} s")


@scenario(19)
async def refused_connection(play):
    """A client keeps on trying while connections are refused, and comes back with its cursor."""
    stream = await play.live(retry=100)
    play.server.refuse()
    stream.cut()
    await asyncio.sleep(0.8)
    await play.server.listen()
    stream = await play.stream(rule=19)
    play.check(19, stream.request.last_event_id == "e1.1", "the cursor e1.1", stream.request.last_event_id)
    stream.accept()
    stream.state(2)
    await play.shows(2)
