"""Events: hello, states, labels, and what is handed on."""

import asyncio

from kit.registry import scenario


@scenario(18)
async def live_with_hello(play):
    """A stream is live with hello, not with its head."""
    await play.open()
    stream = await play.stream()
    stream.head()
    stream.send(": ok\nretry: 50\n\n")
    await asyncio.sleep(0.3)
    play.check(18, not play.said("condition", condition="live"), "not live before hello", play.recent())
    stream.hello()
    await play.condition("live")


@scenario(18)
async def conditions(play):
    """A cut is reported as reconnecting, hello as live."""
    stream = await play.live(retry=300)
    cut = play.now
    stream.cut()
    await play.condition("reconnecting", rule=18, since=cut)
    stream = await play.stream()
    again = play.now
    stream.accept()
    await play.condition("live", rule=18, since=again)


@scenario(27)
async def resume_with_cursor(play):
    """A stream that broke is asked for again with the last id that was dispatched."""
    stream = await play.live(retry=20)
    stream.label("e1.2.0", cursor="e1.2", version=1)
    await play.saw("label", 39, "the label e1.2.0", id="e1.2.0")
    for count in range(3, 6):
        stream.cut()
        stream = await play.stream()
        play.check(27, stream.request.last_event_id == f"e1.{count - 1}", f"the cursor e1.{count - 1}", stream.request.last_event_id)
        play.check(27, stream.request.features == ["counter"], "the same features", stream.request.features)
        stream.accept(cursor=f"e1.{count - 1}")
        stream.state(count, id=f"e1.{count}")
        await play.shows(count)


@scenario(36)
async def older_states(play):
    """A state below the shown version is not shown."""
    stream = await play.live()
    stream.state(9)
    stream.state(5)
    stream.state(8, {"count": "old"})
    stream.state(10)
    await play.shows(10)
    play.does_not_show(5, 36, why="is not shown after version 9")
    play.does_not_show(8, 36, why="is not shown after version 9")


@scenario(36)
async def versions_are_per_feature(play):
    """Versions of one feature say nothing about another's."""
    stream = await play.live("counter", "todo:7")
    stream.state(9)
    stream.state(3, feature="todo:7")
    await play.shows(9)
    await play.shows(3, "todo:7")


@scenario(37)
async def first_state_after_hello(play):
    """The first state behind hello is shown whatever its version; the next is compared with it."""
    stream = await play.live(retry=20)
    stream.state(9)
    await play.shows(9)
    stream.cut()
    stream = await play.stream()
    stream.accept()
    stream.state(4)
    await play.shows(4, rule=37)
    stream.state(3)
    stream.state(5)
    await play.shows(5, rule=37)
    play.does_not_show(3, 36)


@scenario(38, 39)
async def epoch_changed(play):
    """With another epoch the versions, the cursor and the ids of labels begin anew."""
    stream = await play.live(retry=20)
    stream.state(40, id="e1.40")
    stream.label("same", cursor="e1.41")
    await play.saw("label", 39, "the label", id="same")
    stream.cut()
    stream = await play.stream()
    play.check(38, stream.request.last_event_id == "e1.41", "the cursor e1.41", stream.request.last_event_id)
    stream.accept(epoch="e2", cursor="e2.1", resumed=False)
    stream.event("reset", {"reason": "unknown-cursor", "labelsLost": True})
    stream.state(1, {"count": "new"}, id="e2.1")
    await play.saw("state", 38, "version 1 of the new epoch", state={"count": "new"})
    stream.label("same", cursor="e2.2")
    stream.label("end")
    await play.saw("label", 38, "the label behind it", id="end")
    play.check(38, len(play.said("label", id="same")) == 2, "a label of the new epoch, whatever its id", play.recent())
    stream.cut()
    stream = await play.stream()
    play.check(38, stream.request.last_event_id == "e2.2", "the cursor e2.2", stream.request.last_event_id)


@scenario(39, 40)
async def labels_once(play):
    """A label is handed over once, also when it comes again on the stream or on the next one."""
    stream = await play.live(retry=20)
    stream.label("e1.2.0")
    stream.label("e1.2.0")
    stream.label("e1.2.1", cursor="e1.2")
    await play.saw("label", 40, "the label e1.2.1", id="e1.2.1")
    stream.cut()
    stream = await play.stream()
    stream.accept()
    stream.label("e1.2.1", replay=True)
    stream.label("e1.2.0", replay=True)
    stream.label("e1.3.0", replay=True, label={"type": "milestone", "count": 10})
    line = await play.saw("label", 40, "the label e1.3.0", id="e1.3.0")
    play.check(40, line.get("replay") is True and line.get("label") == {"type": "milestone", "count": 10} and line.get("feature") == "counter",
               "feature, replay and label as they were sent", line)
    ids = [line["id"] for line in play.said("label")]
    play.check(39, len(ids) == len(set(ids)), "each label once", ids)
    play.check(40, ids == ["e1.2.0", "e1.2.1", "e1.3.0"], "the labels in order", ids)


@scenario(39, 40)
async def thousand_labels(play):
    """The ids of the last 1,000 labels are remembered."""
    stream = await play.live(retry=20)
    for number in range(1000):
        stream.label(f"e1.2.{number}")
    stream.label("e1.2.0")
    stream.label("last")
    await play.saw("label", 39, "the last label", id="last")
    ids = [line["id"] for line in play.said("label")]
    play.check(39, ids.count("e1.2.0") == 1, "the label e1.2.0 once", f"{ids.count('e1.2.0')} times")
    play.check(40, ids == [f"e1.2.{number}" for number in range(1000)] + ["last"], "1,001 labels in order", f"{len(ids)} labels")


@scenario(75)
async def unread_labels(play):
    """A label that nobody reads waits for a reader, but not beyond its life."""
    stream = await play.live(retry=20000)
    play.tell("watch", feature="news", labels=False)
    stream = await play.stream(rule=44)
    stream.accept()
    stream.label("short", feature="news", label="short", expires_in=1)
    stream.label("long", feature="news", label="long")
    stream.state(1, feature="news")
    await play.shows(1, "news")
    play.check(75, not play.said("label"), "no label before it is read", play.recent())
    await asyncio.sleep(1.2)
    play.tell("read", feature="news")
    await play.saw("label", 75, "the label that lives for 300 s", feature="news", label="long")
    stream.label("last", feature="news", label="last")
    await play.saw("label", 75, "a label that comes later", feature="news", label="last")
    labels = [line["label"] for line in play.said("label")]
    play.check(75, labels == ["long", "last"], "the labels long and last", labels)


@scenario(41)
async def unknown_events(play):
    """Unknown events and members are ignored, whatever their data."""
    stream = await play.live()
    stream.event("fancy", "{{{ no JSON")
    stream.event("constructor", {"feature": "counter"})
    stream.event("__proto__", {"feature": "counter"})
    stream.event("error", {"feature": "counter"})
    stream.event("open", "")
    stream.event("message", {"feature": "counter", "version": 7, "state": {}})
    stream.event("state", {"new": {"deep": [1]}, "feature": "counter", "version": 2, "state": {"count": 2, "extra": None}, "more": []})
    await play.shows(2, rule=41, state={"count": 2, "extra": None})
    stream.event("state", {"feature": "stranger", "version": 3, "state": {}})
    stream.state(4)
    await play.shows(4, rule=41)
    await play.no_request("stream", 41, 0.3, "the stream goes on")


@scenario(42)
async def broken_json(play):
    """Broken JSON in a known event is not shown; the stream is opened anew after a back-off."""
    stream = await play.live(retry=400)
    for broken in ('{"feature":"counter","version":50,"state":{"count":50}', "", "[]", '{"feature":"counter","version":"x","state":{}}'):
        stream.ends()
        stream.event("state", broken)
        after = await play.stream(rule=42, expected=f"the stream is opened anew after the data {broken!r}")
        play.check_wait(42, after, stream, 0.18, 0.8, "a back-off from 400 ms")
        await play.within(42, stream.client_leaves(), "the broken stream is closed")
        after.accept(retry=400)
        after.state(2)
        stream = after
    stream.state(3)
    await play.shows(3)
    play.does_not_show(50, 42)


@scenario(43)
async def handed_on(play):
    """end, denied and reset are handed on, and the stream goes on."""
    stream = await play.live("counter", "todo")
    stream.event("end", {"feature": "counter"})
    await play.saw("end", 43, "`end` of counter", feature="counter")
    stream.event("denied", {"feature": "todo", "reason": "too-many-stores"})
    await play.saw("denied", 43, "`denied` of todo", feature="todo")
    stream.event("reset", {"reason": "overflow", "labelsLost": True})
    await play.saw("reset", 43, "`reset` with its reason", reason="overflow", labelsLost=True)
    stream.event("reset", {"reason": "store-replaced", "labelsLost": False})
    await play.saw("reset", 43, "`reset` with its reason", reason="store-replaced", labelsLost=False)
    # A store that was disposed may come back, and a feature be allowed again.
    stream.state(7)
    stream.state(8, feature="todo")
    await play.shows(7, rule=43)
    await play.shows(8, "todo", rule=43)
    await play.no_request("stream", 43, 0.2, "the same stream")
