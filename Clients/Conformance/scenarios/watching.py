"""One stream for all watched features."""

import asyncio

from kit.registry import scenario
from kit.stream import Stream


@scenario(44)
async def two_features(play):
    """Two features come over one stream."""
    stream = await play.live("counter", "todo:7")
    play.check(44, sorted(stream.request.features) == ["counter", "todo:7"], "both features in one request", stream.request.target)
    await play.no_request("stream", 44, 0.3, "one stream")


@scenario(44)
async def watch_reopens(play):
    """Another feature: one stream for both, with the cursor; the old one is closed."""
    stream = await play.live(retry=20000)
    stream.state(5, id="e1.5")
    await play.shows(5)
    play.tell("watch", feature="a")
    play.tell("watch", feature="b:9")
    after = await play.stream(rule=44, expected="a stream at once")
    if sorted(after.request.features) != ["a", "b:9", "counter"]:
        # The driver may have read its two lines in two turns.
        after = await play.stream(rule=44, expected="a stream of all three")
    play.check(44, sorted(after.request.features) == ["a", "b:9", "counter"], "counter, a and b:9", after.request.features)
    play.check(44, after.request.last_event_id == "e1.5", "the cursor e1.5", after.request.last_event_id)
    after.accept(cursor="e1.5")
    for feature in ("counter", "a", "b:9"):
        after.state(6, feature=feature)
        await play.shows(6, feature, rule=44)
    await play.within(44, stream.client_leaves(), "the old stream is closed")
    await play.no_request("stream", 44, 0.3, "one stream")


@scenario(44)
async def unwatch_reopens(play):
    """One feature less: one stream for the others. None left: no stream, and idle."""
    stream = await play.live("counter", "todo", retry=20000)
    play.tell("unwatch", feature="todo")
    after = await play.stream(rule=44)
    play.check(44, after.request.features == ["counter"], "counter alone", after.request.features)
    after.accept()
    after.state(2)
    await play.shows(2)
    await play.within(44, stream.client_leaves(), "the old stream is closed")
    now = play.now
    play.tell("unwatch", feature="counter")
    await play.within(44, after.client_leaves(), "no stream when nothing is watched")
    await play.condition("idle", rule=44, since=now)
    await play.no_request("stream", 44, 0.3, "no stream")


@scenario(44)
async def same_features(play):
    """Watching what is watched, and not watching what is not, opens nothing anew."""
    stream = await play.live("counter")
    play.tell("unwatch", feature="never")
    play.tell("watch", feature="counter")
    await play.no_request("stream", 44, 0.6, "no other stream")
    stream.state(2)
    await play.shows(2, rule=44)


@scenario(44)
async def unwatch_while_connecting(play):
    """A stream whose features are not watched any more before its head has come is given up."""
    await play.open()
    stream = await play.stream(rule=44)
    play.tell("unwatch", feature="counter")
    # Silence would end it after 50 s.
    await play.within(44, stream.client_leaves(), "the stream is closed", min(40, play.patience))
    await play.no_request("stream", 44, 0.3, "no stream")


@scenario(44)
async def flapping_network(play):
    """A network that comes and goes leaves one stream behind, and the last state is shown."""
    await play.live(retry=50)
    streams = []
    last = asyncio.Event()

    def accept(request):
        streams.append(Stream(request))
        streams[-1].accept(retry=50)
        if "last" in request.features:
            last.set()
    play.server.automatic["stream"] = accept
    for _ in range(25):
        play.tell("offline")
        play.tell("online")
        await asyncio.sleep(0.01)
    # A stream of this feature is opened behind all others. The kit may notice the end of an earlier one after it.
    play.tell("watch", feature="last")
    await play.within(44, last.wait(), "a stream of both features")
    for request in play.server.received("stream"):
        if request is not streams[-1].request:
            await play.within(44, request.connection.gone.wait(), "one open stream, the others closed")
    streams[-1].state(50)
    await play.shows(50, rule=44)
    play.check(44, not streams[-1].is_gone, "the last stream is open", "it is closed")


@scenario(71)
async def close_is_quiet(play):
    """After close the stream is closed and nothing more is asked for."""
    stream = await play.live(retry=20)
    play.tell("close")
    await play.within(71, stream.client_leaves(), "the stream is closed")
    await play.no_request("stream", 71, 0.5, "no stream after close")


@scenario(71)
async def close_while_waiting(play):
    """A client that waits for its next try ends at once when it is closed."""
    stream = await play.live(retry=20000)
    stream.cut()
    await play.condition("reconnecting", rule=71)
    play.send("a")
    await play.intent(rule=71)
