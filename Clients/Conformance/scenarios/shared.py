"""Streams of several logs: the session's own, and those of stores that many sessions share."""

from kit.registry import scenario

CHORES, BOARD = "chores:party", "board"


def cursor(own=1, chores=1, board=None, epoch="e1"):
    """A cursor of the session's log and of the spaces that are given."""
    parts = [("chores", "aaaaaa", chores), ("boards", "bbbbbb", board)]
    return f"{epoch}.{own}" + "".join(f"~{name}{check}.{number}" for name, check, number in parts if number is not None)


async def bundle(play, retry=20, **options):
    """A stream of a store of the session and of two that are shared, each with a first state."""
    await play.open("counter", CHORES, BOARD, **options)
    stream = await play.stream()
    stream.accept(retry=retry, cursor=cursor(1, 1, 1), shared=[CHORES, BOARD])
    for version, feature in ((1, "counter"), (40, CHORES), (7, BOARD)):
        stream.state(version, feature=feature)
    await play.shows(1)
    await play.shows(40, CHORES)
    await play.shows(7, BOARD)
    return stream


async def resumes(play, stream, wanted, rule=27):
    """Ends the stream, and returns the next one, which has to be asked for with a cursor."""
    stream.finish()
    stream = await play.stream(rule=rule)
    play.check(rule, stream.request.last_event_id == wanted, f"the cursor {wanted}", stream.request.last_event_id)
    play.check(rule, sorted(stream.request.features) == [BOARD, CHORES, "counter"], "the same features", stream.request.features)
    return stream


@scenario(27, 36, 40)
async def shared_stream(play):
    """States and labels of all logs are shown, each with versions of its own, and the last cursor covers all of them."""
    stream = await bundle(play)
    stream.state(41, feature=CHORES)
    stream.label("sa.41.0", cursor(1, 41, 1), feature=CHORES, version=41)
    stream.state(2, id=cursor(2, 41, 1))
    stream.label("sb.8.0", cursor(2, 41, 8), feature=BOARD, version=7)
    await play.saw("label", 40, "the label sb.8.0", id="sb.8.0", feature=BOARD)
    await play.shows(2)
    await play.shows(41, CHORES)
    play.check(40, [line["id"] for line in play.said("label")] == ["sa.41.0", "sb.8.0"], "both labels in order", play.recent())
    stream = await resumes(play, stream, cursor(2, 41, 8))
    stream.accept(cursor=cursor(2, 41, 8), shared=[CHORES, BOARD])
    stream.label("sa.41.0", feature=CHORES, version=41, replay=True)
    stream.label("sa.42.0", cursor(2, 42, 8), feature=CHORES, version=41, replay=True)
    line = await play.saw("label", 40, "the label sa.42.0", id="sa.42.0")
    play.check(40, line.get("replay") is True, "replay as it was sent", line)
    play.check(40, len(play.said("label")) == 3, "each label once", play.recent())


@scenario(13, 15)
async def shared_id_behind_the_data(play):
    """The id in the last event's block counts although it is behind the data, and only with the blank line."""
    stream = await bundle(play)
    stream.state(8, feature=BOARD, id=cursor(1, 1, 8))
    await play.shows(8, BOARD)
    stream.send(f'event: state\ndata: {{"feature":"board","version":9,"state":{{"count":9}}}}\nid: {cursor(1, 1, 9)}\n')
    stream = await resumes(play, stream, cursor(1, 1, 8), rule=13)
    play.does_not_show(9, 15, BOARD)
    stream.accept(cursor=cursor(1, 1, 8))
    for piece in ("event: state\n", 'data: {"feature":"board","version":10,"state":{"count":10}}\n', "id: ", cursor(1, 1, 10), "\n", "\n"):
        stream.send(piece)
    await play.shows(10, BOARD)
    await resumes(play, stream, cursor(1, 1, 10), rule=13)


@scenario(27)
async def shared_cursor_of_many_logs(play):
    """A cursor of 16 spaces is sent back whole."""
    stream = await bundle(play)
    long = "e1.18446744073709551615" + "".join(f"~space{number:x}check{number:x}.{10 ** 13 + number}" for number in range(16))
    play.check(27, len(long) < 512, "a cursor within the limit", long)
    stream.state(2, id=long)
    await play.shows(2)
    stream = await resumes(play, stream, long)
    stream.accept(cursor=long)
    stream.state(3)
    await play.shows(3)
    await resumes(play, stream, long)


@scenario(27, 37, 39, 43)
async def shared_reset(play):
    """A reset that names features begins these anew, also with a lower version; labels of other logs stay known."""
    stream = await bundle(play)
    stream.label("e1.2.0", cursor(2, 1, 1))
    await play.saw("label", 39, "the label e1.2.0", id="e1.2.0")
    stream = await resumes(play, stream, cursor(2, 1, 1))
    after = cursor(2, 1, 1).replace("chores" + "aaaaaa", "chores" + "cccccc")
    stream.accept(cursor=after, shared=[CHORES, BOARD])
    stream.event("reset", {"reason": "unknown-cursor", "labelsLost": True, "features": [CHORES]})
    await play.saw("reset", 43, "`reset` with its reason", reason="unknown-cursor", labelsLost=True)
    stream.label("e1.2.0", replay=True)
    stream.state(3, {"count": "anew"}, feature=CHORES)
    await play.shows(3, CHORES, rule=37, state={"count": "anew"})
    stream.label("e1.3.0", version=2)
    await play.saw("label", 39, "the label e1.3.0", id="e1.3.0")
    play.check(39, len(play.said("label", id="e1.2.0")) == 1, "the label e1.2.0 once", play.recent())
    await resumes(play, stream, after)


@scenario(33, 38, 39)
async def shared_own_log_lost(play):
    """The loss of the session's log ends the connection; the next stream begins anew, in each log."""
    stream = await bundle(play)
    stream.label("same", cursor(5, 1, 1))
    await play.saw("label", 39, "the label", id="same")
    # A lost log of a space ends the connection in the same way.
    stream.goaway("rotate", 20)
    stream = await play.stream(rule=33)
    play.check(38, stream.request.last_event_id == cursor(5, 1, 1), "the cursor from before", stream.request.last_event_id)
    new = cursor(1, 1, 1, epoch="e2")
    stream.accept(epoch="e2", cursor=new, resumed=False, shared=[CHORES, BOARD])
    stream.event("reset", {"reason": "unknown-cursor", "labelsLost": True, "features": ["counter"]})
    for version, feature in ((1, "counter"), (41, CHORES), (6, BOARD)):
        stream.state(version, {"count": "new"}, feature=feature)
        await play.saw("state", 38, f"the state of {feature} of the new log", feature=feature, version=version, state={"count": "new"})
    stream.label("same")
    stream.label("end")
    await play.saw("label", 38, "the label behind it", id="end")
    play.check(38, len(play.said("label", id="same")) == 2, "a label of the new epoch, whatever its id", play.recent())
    await resumes(play, stream, new, rule=38)


@scenario(27, 36, 40)
async def shared_part_that_is_late(play):
    """A log that joins late keeps its place in each id, and its states and labels are shown when it has joined."""
    stream = await bundle(play)
    stream = await resumes(play, stream, cursor(1, 1, 1))
    stream.accept(cursor=cursor(1, 1, 1), features=["counter", BOARD], shared=[BOARD])
    stream.state(2, id=cursor(2, 1, 1))
    await play.shows(2)
    stream = await resumes(play, stream, cursor(2, 1, 1))
    stream.accept(cursor=cursor(2, 1, 1), features=["counter", BOARD], shared=[BOARD])
    stream.state(3, id=cursor(3, 1, 1))
    stream.state(42, feature=CHORES)
    stream.label("sa.42.0", cursor(3, 42, 1), feature=CHORES, version=42, replay=True)
    await play.saw("label", 40, "the label of the late log", id="sa.42.0", feature=CHORES)
    await play.shows(42, CHORES)
    await resumes(play, stream, cursor(3, 42, 1))


@scenario(27, 37, 43)
async def shared_end(play):
    """A space's `end` takes its part out of the cursor; the others go on, and the space may come back."""
    stream = await bundle(play)
    stream.event("end", {"feature": CHORES}, id=cursor(1, None, 1))
    await play.saw("end", 43, f"`end` of {CHORES}", feature=CHORES)
    stream.state(2)
    await play.shows(2, rule=43)
    stream = await resumes(play, stream, cursor(1, None, 1))
    stream.accept(cursor=cursor(1, 0, 1), shared=[CHORES, BOARD])
    stream.state(1, {"count": "made anew"}, feature=CHORES)
    await play.shows(1, CHORES, rule=37, state={"count": "made anew"})


@scenario(36, 43)
async def shared_denied(play):
    """A rule that no longer lets the client read one shared store leaves the others on the same stream."""
    stream = await bundle(play)
    stream.event("denied", {"feature": CHORES})
    await play.saw("denied", 43, f"`denied` of {CHORES}", feature=CHORES)
    stream.state(2)
    stream.state(8, feature=BOARD, id=cursor(2, 1, 8))
    await play.shows(2, rule=43)
    await play.shows(8, BOARD)
    await play.no_request("stream", 43, 0.3, "the same stream")
    stream.state(41, feature=CHORES)
    await play.shows(41, CHORES)
