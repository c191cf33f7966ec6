"""goaway, with and without hello before it."""

from kit.registry import scenario


async def goes_away(play, reason, retry, with_hello, **options):
    """Sends goaway on a stream with or without hello, and returns that stream."""
    await play.open(**options)
    stream = await play.stream()
    if with_hello:
        stream.accept(retry=20)
        stream.state(1, id="e1.1")
        await play.shows(1)
    else:
        stream.head()
        stream.send(": ok\n")
    # Only the data has this time: a client that reads the field `retry:` alone comes too early.
    stream.goaway(reason, retry, field=not with_hello)
    return stream


def after_retry(reason, with_hello):
    async def play_it(play):
        stream = await goes_away(play, reason, 1000, with_hello)
        after = await play.stream(rule=33, expected="a stream after `retry`")
        play.check_wait(33, after, stream, 0.48, 1.5, f"goaway {reason} with `retry` 1000")
        play.check(33, after.request.last_event_id == ("e1.1" if with_hello else None),
                   "the cursor as it was", after.request.last_event_id)
        after.accept(retry=100)
        after.state(2)
        await play.shows(2, rule=33)
    play_it.__doc__ = f"goaway {reason}: back after `retry`, with the cursor."
    scenario(33, name=name_of(reason, with_hello))(play_it)


def superseded(with_hello):
    async def play_it(play):
        await goes_away(play, "superseded", 100, with_hello)
        await play.condition("paused", rule=34)
        await play.no_request("stream", 34, 1.2, "no stream before the client is looked at")
        play.tell("foreground")
        stream = await play.stream(rule=34, expected="a stream when it is looked at")
        stream.accept()
        stream.state(2)
        await play.shows(2, rule=34)
        await play.condition("live", rule=34)
    play_it.__doc__ = "goaway superseded: paused until the client is looked at."
    scenario(34, name=name_of("superseded", with_hello))(play_it)


def expired(with_hello):
    async def play_it(play):
        await goes_away(play, "expired", 20, with_hello)
        stream = await play.stream(rule=35, expected="a stream of a new session")
        play.check(35, len(play.server.sessions) == 2, "a second session", f"{len(play.server.sessions)} sessions")
        play.check(35, stream.request.last_event_id is None, "no cursor of the old session", stream.request.last_event_id)
        stream.accept(epoch="e2", cursor="e2.1")
        stream.state(1, {"count": "new"})
        await play.saw("state", 35, "the state of the new session", state={"count": "new"})
    play_it.__doc__ = "goaway expired: a new session, and a stream without the old cursor."
    scenario(35, name=name_of("expired", with_hello))(play_it)


def ended(with_hello):
    async def play_it(play):
        await goes_away(play, "ended", 20, with_hello)
        await play.condition("ended", rule=30)
        await play.no_request("stream", 30, 1, "no further stream")
        play.check(30, len(play.server.sessions) == 1, "no new session", f"{len(play.server.sessions)} sessions")
    play_it.__doc__ = "goaway ended: the session has ended."
    scenario(30, name=name_of("ended", with_hello))(play_it)


def identity(with_hello):
    async def play_it(play):
        await goes_away(play, "identity", 20, with_hello, identities=["jwt1", "jwt2"])
        request = await play.request("identity", 51, "PUT /sessions/current/identity")
        play.check_credential(request)
        play.check(51, request.json() in ({"identity": "jwt1"}, {"identity": "jwt2"}), '{"identity":"jwt1"}', request.body.decode())
        play.check(51, not play.server.queue("stream").qsize(), "no stream before the identity is renewed", "a stream")
        request.respond(200, {"id": "s1", "expiresAt": "2099-01-01T00:00:00Z"})
        stream = await play.stream(rule=51)
        stream.accept()
        stream.state(2)
        await play.shows(2, rule=51)
    play_it.__doc__ = "goaway identity: the identity is renewed, then a stream."
    scenario(51, name=name_of("identity", with_hello))(play_it)


def name_of(reason, with_hello):
    return f"goaway-{reason}" + ("" if with_hello else "-without-hello")


for each in (True, False):
    for why in ("drain", "rotate", "busy"):
        after_retry(why, each)
    superseded(each)
    expired(each)
    ended(each)
    identity(each)


@scenario(33, name="goaway-unknown-reason")
async def goaway_unknown_reason(play):
    """goaway with a reason that is not known yet: back after `retry`."""
    stream = await goes_away(play, "solar-flare", 600, True)
    after = await play.stream(rule=33)
    play.check_wait(33, after, stream, 0.28, 0.9, "goaway with `retry` 600")


@scenario(33, name="goaway-is-no-failure")
async def goaway_is_no_failure(play):
    """Streams that end with goaway do not let the back-off grow."""
    stream = await play.live(retry=50)
    for _ in range(6):
        stream.goaway("busy", 50)
        stream = await play.stream(rule=33)
        stream.head()
    # If those were failures, the wait after this one would be the longest.
    stream.send("retry: 1000\n\n")
    stream.finish()
    after = await play.stream(rule=33, expected="a stream after at most 2 s", seconds=2 + play.at_once)
    play.check_wait(33, after, stream, 0.45, 2, "the first failure, with `retry: 1000`")


@scenario(33, name="nothing-behind-goaway")
async def nothing_behind_goaway(play):
    """A server that says goaway and does not close is left."""
    stream = await play.live(retry=50)
    stream.event("goaway", {"reason": "rotate", "retry": 50})
    after = await play.stream(rule=33, expected="another stream, though the server did not close this one")
    await play.within(33, stream.client_leaves(), "the old stream is closed")
    after.accept()
    after.state(2)
    await play.shows(2, rule=33)
