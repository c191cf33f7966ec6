"""Patches of states (`?delta=json-patch`, `?delta=merge-patch`)."""

import asyncio

from kit.patches import documents
from kit.play import LONG_RETRY
from kit.registry import scenario


async def with_delta(play, delta, state, retry=LONG_RETRY):
    """Opens a client that asks for patches; its first state has version 1."""
    await play.open(delta=delta)
    stream = await play.stream()
    play.check(45, stream.request.query.get("delta") == [delta], f"delta={delta}", stream.request.target)
    stream.accept(retry=retry)
    stream.state(1, state, id="e1.1")
    await play.shows(1, state=state)
    return stream


@scenario(45, 48)
async def json_patch(play):
    """A JSON Patch whose `from` is the shown version gives the next state."""
    stream = await with_delta(play, "json-patch", {"count": 1, "items": ["a"]})
    stream.patch(1, 4, [{"op": "replace", "path": "/count", "value": 2}, {"op": "add", "path": "/items/-", "value": {"b": None}}])
    await play.shows(4, rule=45, state={"count": 2, "items": ["a", {"b": None}]})
    stream.patch(4, 5, [{"op": "remove", "path": "/items/0"}])
    await play.shows(5, rule=45, state={"count": 2, "items": [{"b": None}]})
    stream.state(6, {"count": 6})
    stream.patch(6, 7, [])
    await play.shows(7, rule=45, state={"count": 6})


@scenario(45, 49)
async def merge_patch(play):
    """A merge patch whose `from` is the shown version gives the next state."""
    stream = await with_delta(play, "merge-patch", {"count": 1, "user": {"name": "A", "age": 3}})
    stream.patch(1, 4, {"user": {"name": "B", "age": None}, "count": 2})
    await play.shows(4, rule=45, state={"count": 2, "user": {"name": "B"}})
    stream.patch(4, 5, {"user": [1]})
    await play.shows(5, rule=45, state={"count": 2, "user": [1]})


async def odd_documents(play, delta, rule):
    version = 1
    stream = await with_delta(play, delta, {})
    for state, patch, result in documents(delta):
        stream.state(version + 1, state)
        stream.patch(version + 1, version + 2, patch)
        await play.shows(version + 2, rule=rule, state=result)
        version += 2


@scenario(48)
async def odd_json_patches(play):
    """JSON Patches with odd but right documents are applied as RFC 6902 says."""
    await odd_documents(play, "json-patch", 48)


@scenario(49)
async def odd_merge_patches(play):
    """Merge patches with odd but right documents are applied as RFC 7396 says."""
    await odd_documents(play, "merge-patch", 49)


async def asks_again(play, stream, bad, version=50):
    """After a patch that cannot be trusted: nothing of it is shown, and the stream is opened anew at once."""
    bad(stream)
    after = await play.stream(rule=46, expected="the stream is opened anew at once", seconds=play.at_once)
    await play.within(46, stream.client_leaves(), "the old stream is closed")
    play.check(46, after.request.query.get("delta"), "delta, after one bad patch", after.request.target)
    play.check(46, after.request.last_event_id == "e1.1", "the cursor e1.1", after.request.last_event_id)
    after.accept(retry=LONG_RETRY)
    after.state(60, {"count": 60})
    await play.shows(60, rule=46)
    after.patch(60, 61, [{"op": "replace", "path": "/count", "value": 61}])
    await play.shows(61, rule=46)
    play.does_not_show(version, 46)


def bad_patch(name, summary, start, patch):
    async def play_it(play):
        stream = await with_delta(play, "json-patch", {"count": 1, "items": [1, 2]})
        await asks_again(play, stream, lambda stream: stream.patch(start, 50, patch))
    play_it.__doc__ = summary
    scenario(46, name=name)(play_it)


REPLACE = {"op": "replace", "path": "/count", "value": 2}
bad_patch("patch-from-newer", "A patch from a version that was not shown: the whole state is asked for again.", 3, [REPLACE])
bad_patch("patch-from-older", "A patch from a version before the shown one: the whole state is asked for again.", 0, [REPLACE])
bad_patch("patch-remove-missing", "A patch that removes what is not there is not applied at all.", 1, [REPLACE, {"op": "remove", "path": "/none"}])
bad_patch("patch-index-beyond", "A patch with an index beyond the end is not applied at all.", 1, [REPLACE, {"op": "add", "path": "/items/3", "value": 1}])
bad_patch("patch-index-zeros", "A patch with an index with leading zeros is not applied at all.", 1, [REPLACE, {"op": "replace", "path": "/items/00", "value": 1}])
bad_patch("patch-unknown-operation", "A patch with an unknown operation is not applied at all.", 1, [REPLACE, {"op": "turn", "path": "/count"}])
bad_patch("patch-no-array", "A patch that is no array of operations is not applied.", 1, {"count": 2})
bad_patch("patch-failed-test", "A patch whose test fails is not applied at all.", 1, [REPLACE, {"op": "test", "path": "/count", "value": 9}])


@scenario(46)
async def patches_reordered(play):
    """Of two patches in the wrong order neither is shown; the whole state is asked for again."""
    stream = await with_delta(play, "json-patch", {"count": 1})

    def bad(stream):
        stream.send('event: patch\ndata: {"feature":"counter","from":40,"to":50,"patch":[]}\n\n'
                    'event: patch\ndata: {"feature":"counter","from":1,"to":40,"patch":[{"op":"replace","path":"/count","value":40}]}\n\n')
    await asks_again(play, stream, bad)
    play.does_not_show(40, 46, why="comes too late to be shown")


@scenario(46)
async def patch_after_reconnect(play):
    """A patch on a new connection needs a whole state on that connection first."""
    stream = await with_delta(play, "json-patch", {"count": 1}, retry=20)
    stream.cut()
    stream = await play.stream()
    stream.accept(retry=LONG_RETRY)
    await asks_again(play, stream, lambda stream: stream.patch(1, 50, [REPLACE]))


@scenario(47, 23)
async def patches_never_apply(play):
    """After three streams in a row with bad patches the stream is opened without `delta`."""
    stream = await with_delta(play, "json-patch", {"count": 1})
    for number in range(1, 7):
        stream.patch(900, 901, [])
        stream = await play.stream(rule=47, seconds=30 + play.patience)
        if "delta" not in stream.request.query:
            break
        stream.accept(retry=LONG_RETRY)
        stream.state(number + 1)
    play.check(47, "delta" not in stream.request.query, "no delta after three bad streams in a row", stream.request.target)
    play.check(47, number >= 2, "delta after one bad patch", f"none on stream {number + 1}")
    stream.accept(retry=LONG_RETRY)
    stream.state(20)
    await play.shows(20, rule=47)
    # What was not asked for is ignored, or taken for doubt; either way there is no storm.
    for _ in range(30):
        stream.patch(900, 901, [])
    await asyncio.sleep(1)
    later = play.server.received("stream", since=stream.time + 0.001)
    play.check(47, len(later) <= 6, "at most 6 streams in a second", f"{len(later)}")
