"""The queue of intents: order, offline, sessions that are renewed meanwhile."""

import asyncio

from kit.registry import scenario


@scenario(57)
async def intents_in_order(play):
    """One intent is on its way at a time, over all features, in the order of the calls."""
    await play.live("counter", "todo")
    tags = [f"t{number}" for number in range(12)]
    for number, tag in enumerate(tags):
        play.send(tag, feature=("counter", "todo")[number % 2])
    for number, tag in enumerate(tags):
        request = await play.intent(rule=57)
        play.check(57, request.json()["tag"] == tag, f"the intent {tag}", request.body.decode())
        if number % 4 == 0:
            await play.no_request("intent", 57, 0.15, "the next intent waits for the answer")
        play.accept(request, version=number + 2)
        await play.saw("sent", 57, f"{tag} is sent", tag=tag)


@scenario(61)
async def offline_queue(play):
    """Intents that are sent offline wait, and go once and in order when the client is online."""
    await play.live(retry=50)
    play.tell("offline")
    await play.condition("offline", rule=61)
    for tag in "abc":
        play.send(tag)
    await play.no_request("intent", 61, 0.5, "no intent while offline")
    play.check(61, not play.said("refused"), "none is refused", play.recent())
    play.tell("online")
    for tag in "abc":
        request = await play.intent(rule=61)
        play.check(61, request.json()["tag"] == tag, f"the intent {tag}", request.body.decode())
        play.accept(request)
        await play.saw("sent", 61, f"{tag} is sent", tag=tag)
    await play.no_request("intent", 61, 0.3, "each intent once")


@scenario(56, 61)
async def offline_during_an_intent(play):
    """An intent whose answer is lost as the client goes offline is sent again with its key when it is online."""
    await play.live(retry=50)
    play.send("a")
    first = await play.intent(rule=61)
    play.tell("offline")
    await play.condition("offline", rule=61)
    first.cut()
    await play.no_request("intent", 61, 0.5, "no intent while offline")
    play.tell("online")
    again = await play.intent(rule=61)
    play.check(56, again.key == first.key, f"the key {first.key}", again.key)
    play.accept(again)
    await play.saw("sent", 61, "the intent is sent", tag="a")


@scenario(62)
async def bounded_queue(play):
    """A thousand intents wait; more are refused at once."""
    await play.live()
    play.tell("offline")
    await play.condition("offline", rule=62)
    for number in range(1, 1011):
        play.send(f"t{number}")
    line = await play.saw("refused", 62, "the 1,010th intent is refused at once", tag="t1010")
    play.check(62, line.get("status") is None, "no status: the server was not asked", line)
    refused = [int(line["tag"][1:]) for line in play.said("refused")]
    play.check(62, min(refused) >= 1000, "a thousand intents wait", f"intent {min(refused)} was refused")


@scenario(56, 64)
async def intent_session_not_found(play):
    """404 session-not-found of an intent: a new session, and the intent goes there; the stream follows."""
    stream = await play.live(retry=50)
    play.send("a")
    first = await play.intent(rule=64)
    first.problem(404, "session-not-found")
    again = await play.intent(rule=64, expected="the intent in a new session")
    play.check(64, len(play.server.sessions) == 2, "one new session", f"{len(play.server.sessions)} sessions")
    play.check(56, again.key == first.key, f"the key {first.key}", again.key)
    play.accept(again)
    await play.saw("sent", 64, "the intent is sent", tag="a")
    after = await play.stream(rule=64, expected="a stream of the new session")
    play.check(64, after.request.last_event_id is None, "no cursor of the old session", after.request.last_event_id)
    after.accept(epoch="e2", cursor="e2.1")
    after.state(1, {"count": "new"})
    await play.saw("state", 64, "the state of the new session", state={"count": "new"})
    await play.within(64, stream.client_leaves(), "the stream of the old session is closed")


@scenario(64)
async def intent_unauthorized(play):
    """401 unauthorized of an intent: a new session, and the intent goes there."""
    await play.live(retry=50)
    play.send("a")
    (await play.intent(rule=64)).problem(401, "unauthorized")
    play.accept(await play.intent(rule=64, expected="the intent in a new session"))
    await play.saw("sent", 64, "the intent is sent", tag="a")
    play.check(64, not play.said("refused"), "a click never gets a 401", play.recent())


@scenario(60)
async def intent_session_ended(play):
    """404 session-ended of an intent: refused, and no new session in place of the one that the user left."""
    await play.live(retry=50)
    play.send("a")
    (await play.intent(rule=60)).problem(404, "session-ended")
    line = await play.saw("refused", 60, "`refused` for a", tag="a")
    play.check(60, line.get("status") == 404 and line.get("problem") == "/problems/session-ended", "404 and /problems/session-ended", line)
    await asyncio.sleep(0.5)
    play.check(60, len(play.server.sessions) == 1, "no new session", f"{len(play.server.sessions)} sessions")


@scenario(65)
async def click_while_renewing(play):
    """An intent that is sent while a new session is being made waits for it."""
    stream = await play.live(retry=20)
    make = play.server.automatic.pop("session")
    stream.goaway("expired", 20)
    request = await play.request("session", 65, "a new session")
    play.send("a")
    await play.no_request("intent", 65, 0.5, "the intent waits for the new session")
    make(request)
    play.server.automatic["session"] = make
    play.accept(await play.intent(rule=65))
    await play.saw("sent", 65, "the intent is sent", tag="a")


@scenario(65)
async def click_while_signing_in(play):
    """An intent that is sent while the identity is being renewed after its expiry waits for it."""
    stream = await play.live(retry=20, identities=["jwt1"])
    stream.goaway("identity", 20)
    request = await play.request("identity", 65, "PUT /sessions/current/identity")
    play.send("a")
    await play.no_request("intent", 65, 0.5, "the intent waits for the identity")
    request.respond(200, {"id": "s1", "expiresAt": "2099-01-01T00:00:00Z"})
    play.accept(await play.intent(rule=65))
    await play.saw("sent", 65, "the intent is sent", tag="a")


def check_session(play, rule, intent, wanted):
    named = intent.headers.get("mvi-session", "none")
    play.check(rule, named == wanted, f"MVI-Session: {wanted}", named)


async def intents_name_sessions(play, credential):
    await play.live(retry=50, credential=credential)
    play.send("a")
    first = await play.intent(rule=67)
    check_session(play, 67, first, "s1")
    first.problem(404, "session-not-found")
    again = await play.intent(rule=64, expected="the intent in a new session")
    check_session(play, 67, again, "s2")
    play.accept(again)
    await play.saw("sent", 67, "the intent is sent", tag="a")


@scenario(64, 67)
async def intents_name_their_session(play):
    """An intent names the session of its token in MVI-Session, the new one when it goes to a new one."""
    await intents_name_sessions(play, "bearer")


@scenario(64, 67)
async def intents_name_the_cookies_session(play):
    """With a cookie an intent names its session all the same: the cookie may be another tab's."""
    await intents_name_sessions(play, "cookie")


async def answered_late(play, rule):
    """The first of several intents. The driver has read the others when it is answered."""
    intent = await play.intent(rule=rule)
    # A driver reads its lines in order, so the stream shows that it has read those before.
    play.tell("watch", feature="read")
    while "read" not in (stream := await play.stream(rule=rule)).request.features:
        pass
    stream.accept()
    return intent


async def refused_unsent(play, rule, *tags):
    """Waits until these intents are refused without a status, and checks that none of them was sent."""
    for tag in tags:
        line = await play.saw("refused", rule, f"`refused` for {tag}", tag=tag)
        play.check(rule, line.get("status") is None, "no status: the server was not asked", line)
    sent = [request.json()["tag"] for request in play.server.received("intent")]
    play.check(rule, not set(tags) & set(sent), f"none of {', '.join(tags)} is sent", f"{sent}")


@scenario(68)
async def other_session(play):
    """409 other-session of an intent: refused once, and so is what waits behind it; the next one goes on."""
    await play.live(retry=50)
    for tag in "abc":
        play.send(tag)
    (await answered_late(play, 68)).problem(409, "other-session")
    line = await play.saw("refused", 68, "`refused` for a", tag="a")
    play.check(68, line.get("status") == 409 and line.get("problem") == "/problems/other-session",
               "409 and /problems/other-session", line)
    await refused_unsent(play, 68, "b", "c")
    await play.no_request("intent", 68, 0.7, "none is sent again")
    play.send("d")
    request = await play.intent(rule=68, expected="the next intent")
    play.check(68, request.json()["tag"] == "d", "the next intent", request.body.decode())
    play.accept(request)
    await play.saw("sent", 68, "the next intent is sent", tag="d")


@scenario(69)
async def ended_session_refuses_the_queue(play):
    """404 session-ended of an intent: what waits behind it was meant for that session, and is refused."""
    await play.live(retry=50)
    for tag in "abc":
        play.send(tag)
    (await answered_late(play, 69)).problem(404, "session-ended")
    await play.saw("refused", 69, "`refused` for a", tag="a")
    await refused_unsent(play, 69, "b", "c")
    await play.no_request("intent", 69, 0.5, "none is sent in another session")


ANNA, BOB = ({"issuer": "i", "subject": subject} for subject in ("anna", "bob"))


async def lose_annas_session(play, user):
    """Signs anna in, loses her session with two intents waiting, and makes the next one for a user."""
    await play.live(retry=50, identities=["jwt1", "jwt2", "jwt3"])
    # An intent that waits for the identity shows that the client has read who it is.
    play.send("before")
    (await play.intent(rule=69)).problem(401, "identity-expired")
    request = await play.request("identity", 69, "PUT /sessions/current/identity")
    request.respond(200, {"id": "s1", "expiresAt": "2099-01-01T00:00:00Z", "identity": ANNA})
    play.accept(await play.intent(rule=69))
    await play.saw("sent", 69, "an intent is sent", tag="before")
    make = play.server.automatic.pop("session")
    play.send("a")
    play.send("b")
    first = await answered_late(play, 69)
    first.problem(404, "session-not-found")
    make(await play.request("session", 69, "a new session"), user)
    return first


@scenario(69)
async def lost_session_of_the_same_user(play):
    """The next session is the same user's: what waits goes there, with its keys."""
    first = await lose_annas_session(play, ANNA)
    again = await play.intent(rule=69, expected="the intent in the new session")
    play.check(69, again.key == first.key, f"the key {first.key}", again.key)
    for tag, request in (("a", again), ("b", None)):
        play.accept(request or await play.intent(rule=69))
        await play.saw("sent", 69, f"{tag} is sent", tag=tag)


@scenario(69)
async def lost_session_of_another_user(play):
    """The next session is another user's: what waits is refused, and what follows is sent there."""
    await lose_annas_session(play, BOB)
    line = await play.saw("refused", 69, "`refused` for a", tag="a")
    play.check(69, line.get("status") is None, "no status: it was not sent there", line)
    await refused_unsent(play, 69, "b")
    await play.no_request("intent", 69, 0.5, "none is sent in the other user's session")
    play.send("c")
    play.accept(await play.intent(rule=69, expected="the next intent"))
    await play.saw("sent", 69, "the next intent is sent", tag="c")


@scenario(69)
async def lost_anonymous_session_of_somebody(play):
    """In place of a lost anonymous session the server wants a signed-in one: what waits is refused."""
    await play.live(retry=50, identities=["jwt1", "jwt2"])
    make = play.server.automatic.pop("session")
    play.send("a")
    (await play.intent(rule=69)).problem(404, "session-not-found")
    (await play.request("session", 69, "a new session")).problem(401, "identity-required")
    make(await play.request("session", 69, "a session with an identity"), ANNA)
    line = await play.saw("refused", 69, "`refused` for a", tag="a")
    play.check(69, line.get("status") is None, "no status: it was not sent there", line)
    await play.no_request("intent", 69, 0.5, "it is not sent in the user's session")
