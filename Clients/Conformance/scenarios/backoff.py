"""Health and back-off: when a client comes back after a failure."""

import asyncio

from kit.play import LONG_RETRY
from kit.registry import scenario
from kit.stream import Stream


def check_growth(play, rule, streams, base):
    """Compares each wait with base x 2^attempts; the first may already be doubled."""
    for attempt, (before, after) in enumerate(zip(streams, streams[1:])):
        play.check_wait(rule, after, before, 0.45 * base * 2**attempt, base * 2**(attempt + 1), f"failure {attempt + 1}")


async def failures(play, count, fail, rule=19):
    """Lets streams fail one after the other and returns them."""
    streams = []
    for _ in range(count):
        stream = await play.stream(rule=rule, seconds=30 + play.patience)
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
    after = await play.stream(rule=19, seconds=6 + play.patience)
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
    stream = await play.live(retry=20)
    stream.cut()
    await failures(play, 5, lambda stream: stream.cut(), rule=20)
    stream = await play.stream(rule=20)
    # With the count of the failures the next wait would be the longest one.
    stream.accept(retry=1000)
    stream.state(2)
    await play.shows(2, rule=20)
    stream.cut()
    after = await play.stream(rule=20, expected="a stream after at most 2 s", seconds=2 + play.at_once)
    play.check_wait(20, after, stream, 0.45, 2, "the first failure after hello, with `retry: 1000`")


@scenario(21)
async def jitter(play):
    """Waits are spread between the half and the whole, so that many clients do not come back together."""
    stream = await play.live(retry=800)
    # Ten random waits are all but equal once in a thousand times; thirty are not.
    for _ in range(3):
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
        if waits[7] - waits[0] >= 0.08:
            return
    play.check(21, False, "waits that are spread", f"eight of ten between {waits[0]:.3f} and {waits[7]:.3f} s")


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


async def storm(play, stream, answer):
    """Answers all streams at once, and fails when any 21 tries in a row take less than a second.

    `stream` is the one that has ended. Stops after 45 tries, or 1.5 s.
    """
    # A try begins after the end of the stream before. From there to the arrival of the 21st try it takes a second or longer,
    # however late the kit reads and writes.
    ends, tries = [stream.ended_at], []
    start = play.now
    while len(tries) < 45 and (not tries or play.now < start + 1.5):
        request = await play.next_request("stream", 1.5 if tries else play.patience)
        if request is None:
            break
        tries.append(request.time)
        ends.append(play.now)
        answer(Stream(request))
    play.check(23, tries, "another try", play.recent())
    for end, time in zip(ends, tries[20:]):
        play.check(23, time - end >= 0.99, "at most 20 tries in a second", f"21 in {time - end:.2f} s")


@scenario(23)
async def no_storm_closed_at_once(play):
    """With `retry: 0` and streams that end at once there are at most 20 tries in a second."""
    stream = await play.live(retry=0)
    stream.finish()

    def answer(stream):
        stream.head()
        stream.send("retry: 0\n\n")
        stream.finish()
    await storm(play, stream, answer)


@scenario(23)
async def no_storm_after_hello(play):
    """Streams that end right behind hello, with `retry: 0`, lead to at most 20 tries in a second."""
    stream = await play.live(retry=0)
    stream.finish()

    def answer(stream):
        stream.accept(retry=0)
        stream.finish()
    await storm(play, stream, answer)


@scenario(23)
async def no_storm_goaway(play):
    """goaway with a `retry` of 0, again and again, leads to at most 20 tries in a second."""
    stream = await play.live(retry=0)
    stream.goaway("rotate", 0)

    def answer(stream):
        stream.accept(retry=0)
        stream.goaway("rotate", 0)
    await storm(play, stream, answer)


@scenario(23)
async def no_storm_heartbeat_zero(play):
    """A heartbeat of 0 does not lead to a loop of streams that are cut at once."""
    stream = await play.live(retry=0)
    stream.finish()
    await storm(play, stream, lambda stream: stream.accept(retry=0, heartbeat=0))


@scenario(5)
async def no_storm_of_sessions(play):
    """Sessions that are never known lead to few new sessions, not to a loop."""
    stream = await play.live(retry=200)
    stream.cut()
    start = play.now
    for _ in range(2):
        # Of the old session, then of its successor.
        (await play.stream(rule=5, expected="a stream of a new session")).request.problem(404, "session-not-found")
    while len(play.server.sessions) < 13 and (request := await play.next_request("stream", max(0.01, start + 4 - play.now))):
        request.problem(404, "session-not-found")
    made, seconds = len(play.server.sessions), play.now - start
    play.check(5, made < 13 or seconds >= 4, "at most 12 sessions in four seconds with `retry: 200`", f"{made} in {seconds:.2f} s")


@scenario(26)
async def foreground_comes_back_at_once(play):
    """A client that waits comes back at once when it is looked at."""
    stream = await play.live(retry=LONG_RETRY)
    stream.cut()
    await play.condition("reconnecting", rule=26)
    play.tell("foreground")
    stream = await play.stream(rule=26, expected="a stream at once", seconds=play.at_once)
    stream.accept()
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
    stream = await play.live(retry=LONG_RETRY)
    play.tell("offline")
    await play.condition("offline", rule=26)
    if not stream.is_gone:
        stream.cut()
    await play.no_request("stream", 26, 0.4, "no stream while offline")
    play.tell("online")
    stream = await play.stream(rule=26, expected="a stream at once", seconds=play.at_once)
    play.check(26, stream.request.last_event_id == "e1.1", "the cursor e1.1", stream.request.last_event_id)
    stream.accept()
    stream.state(2)
    await play.shows(2)


@scenario(26)
async def answer_comes_back_at_once(play):
    """An answered intent says that the server is there: a client that waits comes back at once."""
    stream = await play.live(retry=LONG_RETRY)
    stream.cut()
    await play.condition("reconnecting", rule=26)
    play.send("a")
    play.accept(await play.intent(), version=2)
    stream = await play.stream(rule=26, expected="a stream at once", seconds=play.at_once)
    stream.accept()
    stream.state(2)
    await play.shows(2)


@scenario(26, 33)
async def answer_does_not_shorten_goaway(play):
    """A time that the server gave stays, whatever is answered."""
    stream = await play.live()
    stream.goaway("drain", 2000)
    await play.condition("reconnecting", rule=33)
    play.send("a")
    play.accept(await play.intent(), version=2)
    after = await play.stream(rule=33, seconds=3 + play.patience)
    play.check_wait(26, after, stream, 0.95, 3, "no stream before the time that goaway gave, 2 s")


@scenario(19, 26)
async def attempts_are_kept(play):
    """Coming back at once does not reset the back-off."""
    stream = await play.live(retry=20)
    stream.cut()

    def fail(stream):
        stream.head()
        stream.send(f"retry: {LONG_RETRY}\n\n")
        stream.finish()
    await failures(play, 4, lambda stream: stream.cut())
    await failures(play, 1, fail)
    # A client may read `foreground` before it knows of the stream's end, and then wait.
    for _ in range(3):
        await asyncio.sleep(0.2)
        play.tell("foreground")
        if request := await play.next_request("stream", play.at_once):
            break
        await failures(play, 1, fail)
    play.check(26, request, "a stream at once", play.recent())
    stream = Stream(request)
    # When this intent comes the driver has read all that it was told: none of it shortens the next wait.
    play.send("a")
    await play.intent(rule=26)
    stream.head()
    stream.send("retry: 50\n\n")
    stream.finish()
    after = await play.stream(rule=26)
    play.check_wait(26, after, stream, 0.75, 6.4, "the sixth or seventh failure, with `retry: 50`")


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
