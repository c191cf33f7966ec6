"""Who else looks at a feature."""

from kit.registry import scenario

ANA, BEN = {"name": "Ana", "at": [1, None]}, {"name": "Ben", "at": []}


def of(*viewers, count=None):
    """What is shown of a set."""
    return {"count": len(viewers) if count is None else count, "viewers": list(viewers)}


def check(play, *wanted, feature="counter"):
    """Compares the sets that were shown, in order; None for nobody any more."""
    seen = [line.get("presence") for line in play.said("presence", feature=feature)]
    play.check(76, seen == list(wanted), f"the sets {list(wanted)} of {feature}", f"{seen}")


async def sees(play, *viewers, feature="counter"):
    """Waits until a set was shown."""
    await play.saw("presence", 76, f"the viewers {list(viewers)} of {feature}", feature=feature, presence=of(*viewers))


async def forgets(play, feature="counter"):
    """Waits until it was shown that nothing is known of viewers."""
    await play.saw("presence", 76, f"no presence of {feature}", feature=feature, presence=None)


@scenario(41, 76)
async def presence(play):
    """Each set is shown whole if it is another one, for the features that are watched."""
    stream = await play.live()
    many = [{"name": f"guest {number}"} for number in range(100)]
    stream.presence(ANA)
    stream.presence(ANA, new={"deep": [1]})
    stream.presence(*many, count=4812)
    stream.presence(ANA, feature="stranger")
    stream.presence(*many, count=4813)
    stream.presence(BEN, "a text", None, 1.5)
    stream.presence(count=2)
    stream.state(2)
    await play.shows(2, rule=41)
    check(play, of(ANA), of(*many, count=4812), of(*many, count=4813), of(BEN, "a text", None, 1.5), of(count=2))
    check(play, feature="stranger")
    await play.no_request("stream", 41, 0.3, "the stream goes on")


@scenario(76)
async def presence_over_reconnects(play):
    """The set stays when the stream is lost, also to a server without the log, until another one comes."""
    stream = await play.live(retry=20)
    stream.presence(ANA, BEN)
    await sees(play, ANA, BEN)
    stream.cut()
    stream = await play.stream()
    stream.accept(retry=20)
    stream.state(2)
    stream.presence(ANA, BEN)
    stream.state(3)
    await play.shows(3)
    stream.goaway("drain", 20)
    stream = await play.stream()
    stream.accept(epoch="e2", cursor="e2.1", resumed=False)
    stream.state(7)
    await play.shows(7)
    check(play, of(ANA, BEN))
    stream.presence(BEN)
    await sees(play, BEN)
    check(play, of(ANA, BEN), of(BEN))


@scenario(42, 76)
async def broken_presence(play):
    """Nothing of a broken event is shown; the stream is opened anew after a back-off, and the set stays."""
    stream = await play.live(retry=400)
    stream.presence(ANA)
    await sees(play, ANA)
    for broken in ('{"feature":"counter","count":1', '{"feature":"counter","count":1}', '{"feature":"counter","count":"1","viewers":[]}',
                   '{"feature":"counter","count":1,"viewers":{"name":"Ben"}}'):
        stream.ends()
        stream.event("presence", broken)
        after = await play.stream(rule=42, expected=f"the stream is opened anew after the data {broken!r}")
        play.check_wait(42, after, stream, 0.18, 0.8, "a back-off from 400 ms")
        after.accept(retry=400)
        stream = after
    stream.state(2)
    await play.shows(2, rule=42)
    check(play, of(ANA))
    stream.presence(BEN)
    await sees(play, BEN)


@scenario(76)
async def presence_of_a_lost_store(play):
    """end and denied forget the set of their feature; it may come again."""
    stream = await play.live("counter", "todo", "news")
    for feature in ("counter", "todo", "news"):
        stream.presence(ANA, feature=feature)
        await sees(play, ANA, feature=feature)
    stream.event("end", {"feature": "counter"})
    await forgets(play)
    stream.event("denied", {"feature": "todo"})
    await forgets(play, "todo")
    for feature in ("counter", "todo", "news"):
        stream.state(2, feature=feature)
        stream.presence(ANA, feature=feature)
    stream.state(3)
    await play.shows(3)
    for feature in ("counter", "todo"):
        check(play, of(ANA), None, of(ANA), feature=feature)
    check(play, of(ANA), feature="news")


@scenario(76)
async def presence_of_a_refused_store(play):
    """A stream that is refused because of its feature forgets its set."""
    stream = await play.live(retry=20)
    stream.presence(ANA)
    await sees(play, ANA)
    stream.cut()
    (await play.stream()).request.problem(403, "forbidden")
    await play.saw("denied", 32, "`denied` of counter", feature="counter")
    await forgets(play)


@scenario(76)
async def presence_of_an_ended_session(play):
    """With the session all sets end."""
    stream = await play.live("counter", "todo")
    for feature in ("counter", "todo"):
        stream.presence(ANA, feature=feature)
        await sees(play, ANA, feature=feature)
    stream.goaway("ended", 20)
    await forgets(play)
    await forgets(play, "todo")


@scenario(76)
async def presence_signed_out(play):
    """Who is signed out sees nobody."""
    stream = await play.live(identities=[], retry=20)
    stream.presence(ANA)
    await sees(play, ANA)
    stream.goaway("identity", 20)
    await play.condition("signedOut", rule=53)
    await forgets(play)


@scenario(76)
async def presence_of_another_session(play):
    """Another session forgets the sets of the one before."""
    stream = await play.live(retry=20)
    stream.presence(ANA)
    await sees(play, ANA)
    stream.cut()
    (await play.stream()).request.problem(404, "session-not-found")
    stream = await play.stream(rule=3)
    stream.accept(epoch="e2", cursor="e2.1", resumed=False)
    await forgets(play)
    stream.presence(ANA)
    stream.state(2)
    await play.shows(2)
    check(play, of(ANA), None, of(ANA))


@scenario(76)
async def presence_unwatched(play):
    """The set of a feature that is not watched is unknown, until it is watched again and one comes."""
    stream = await play.live("counter", "todo", retry=20)
    stream.presence(ANA, feature="todo")
    await sees(play, ANA, feature="todo")
    play.tell("unwatch", feature="todo")
    stream = await play.stream(rule=44)
    stream.accept()
    stream.presence(ANA, feature="todo")
    stream.state(2)
    await play.shows(2)
    play.tell("watch", feature="todo")
    stream = await play.stream(rule=44)
    stream.accept()
    stream.presence(ANA, feature="todo")
    stream.state(3)
    await play.shows(3)
    sets = [line["presence"] for line in play.said("presence", feature="todo") if line["presence"] is not None]
    play.check(76, sets == [of(ANA)] * 2, "the set once for each watch", f"{sets}")
