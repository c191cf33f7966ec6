"""Sessions and credentials."""

import asyncio

from kit.registry import scenario


@scenario(1)
async def bearer_session(play):
    """A session is made once, and its token goes with streams and intents."""
    await play.live()
    request = play.server.received("session")[0]
    play.check(1, request.json() in ({"credential": "bearer"}, None), 'the body {"credential":"bearer"}, or none', request.body.decode())
    if request.body:
        play.check(1, request.headers.get("content-type", "").startswith("application/json"), "Content-Type: application/json",
                   request.headers.get("content-type", "none"))
    play.send("a")
    intent = await play.intent(rule=1)
    play.check(1, intent.headers.get("authorization", "").startswith("Bearer "), "Authorization: Bearer", intent.headers.get("authorization"))
    play.accept(intent)
    await play.saw("sent", 1, "the intent is sent", tag="a")
    play.check(1, len(play.server.sessions) == 1, "one session", f"{len(play.server.sessions)}")


@scenario(1)
async def cookie_session(play):
    """With a cookie the session is in the cookie of streams and intents, and no token is sent."""
    await play.live(credential="cookie")
    request = play.server.received("session")[0]
    play.check(1, request.json() == {"credential": "cookie"}, 'the body {"credential":"cookie"}', request.body.decode())
    play.send("a")
    intent = await play.intent(rule=1)
    play.check(1, "authorization" not in intent.headers, "no Authorization", intent.headers.get("authorization", ""))
    play.accept(intent)
    await play.saw("sent", 1, "the intent is sent", tag="a")


SETTINGS = {"locale": "de-CH", "timeZone": "Europe/Zurich"}


@scenario(76)
async def settings_of_a_new_session(play):
    """A new session gets the client's locale and time zone."""
    await play.live(**SETTINGS)
    body = play.server.received("session")[0].json()
    play.check(76, body == {"credential": "bearer", **SETTINGS}, f"the members {SETTINGS}", body)


@scenario(76)
async def settings_of_a_kept_session(play):
    """The session of an earlier run gets the client's present locale and time zone, once."""
    await play.live_with_folder()
    await play.kill()
    answer = play.server.automatic.pop("settings")
    await play.open(folder=play.folder.name, **SETTINGS)
    request = await play.request("settings", 76, "PUT /sessions/current")
    answer(request)
    (await play.stream(rule=76)).accept()
    play.check(76, request.json() == SETTINGS, f"the body {SETTINGS}", request.body.decode())
    play.check(76, request.credential == play.server.sessions[-1], "the kept credential", request.credential)
    await play.no_request("settings", 76, 0.3, "PUT /sessions/current once")
    play.check(76, len(play.server.sessions) == 1, "one session", len(play.server.sessions))


@scenario(2)
async def one_session_at_a_time(play):
    """An intent and a stream that need a session at the same time lead to one POST /sessions."""
    make = play.server.automatic.pop("session")
    await play.open()
    play.send("a")
    first = await play.request("session", 2, "a session is made")
    await play.no_request("session", 2, 0.4, "one POST /sessions at a time")
    make(first)
    stream = await play.stream(rule=2)
    stream.accept()
    intent = await play.intent(rule=2)
    play.accept(intent)
    await play.saw("sent", 2, "the intent is sent", tag="a")
    play.server.automatic["session"] = make


@scenario(2)
async def one_session_for_all_refusals(play):
    """An intent and a stream that both find the session gone lead to one new session."""
    stream = await play.live(retry=30)
    play.send("a")
    intent = await play.intent(rule=2)
    stream.cut()
    stream = await play.stream(rule=2)
    make = play.server.automatic.pop("session")
    intent.problem(404, "session-not-found")
    stream.request.problem(404, "session-not-found")
    first = await play.request("session", 2, "a new session")
    await play.no_request("session", 2, 0.4, "one POST /sessions at a time")
    make(first)
    play.server.automatic["session"] = make
    stream = await play.stream(rule=2)
    stream.accept(epoch="e2", cursor="e2.1")
    intent = await play.intent(rule=2)
    play.accept(intent)
    await play.saw("sent", 2, "the intent is sent", tag="a")
    play.check(2, len(play.server.sessions) == 2, "two sessions in all", f"{len(play.server.sessions)}")


async def lost_session(play, status, problem):
    stream = await play.live(retry=30)
    stream.cut()
    stream = await play.stream(rule=3)
    stream.request.problem(status, problem)
    stream = await play.stream(rule=3, expected="a stream of a new session")
    play.check(3, len(play.server.sessions) == 2, "a second session", f"{len(play.server.sessions)} sessions")
    play.check(3, stream.request.last_event_id is None, "no cursor of the old session", stream.request.last_event_id)
    stream.accept(epoch="e2", cursor="e2.1")
    stream.state(1, {"count": "new"})
    await play.saw("state", 38, "the first state of the new session", state={"count": "new"})


@scenario(3, 38)
async def stream_session_not_found(play):
    """404 session-not-found of a stream leads to a new session and a stream without the old cursor."""
    await lost_session(play, 404, "session-not-found")


@scenario(3, 38)
async def stream_unauthorized(play):
    """401 unauthorized of a stream leads to a new session and a stream without the old cursor."""
    await lost_session(play, 401, "unauthorized")


@scenario(70)
async def stale_stream(play):
    """A stream of the session before, which is answered when the client has another one, shows nothing."""
    stream = await play.live(retry=20)
    stream.cut()
    stale = await play.stream(rule=70)
    play.send("a")
    (await play.intent(rule=70)).problem(404, "session-not-found")
    again = await play.intent(rule=70, expected="the intent in a new session")
    stale.accept(session="s1", resumed=True)
    stale.state(50, {"count": "foreign"})
    stale.label("foreign")
    stale.finish()
    play.accept(again)
    stream = await play.stream(rule=70, expected="a stream of the new session")
    stream.accept(epoch="e2", cursor="e2.1")
    stream.state(1, {"count": "new"})
    stream.label("new")
    await play.saw("state", 70, "the first state of the new session", state={"count": "new"})
    await shows_nothing_foreign(play)


@scenario(70)
async def foreign_hello(play):
    """A stream whose hello names another session than the token's shows nothing, and is opened again."""
    stream = await play.live(retry=20)
    stream.cut()
    stream = await play.stream(rule=70)
    stream.accept(session="s9", epoch="e9", cursor="e9.1")
    stream.state(50, {"count": "foreign"}, id="e9.50")
    stream.label("foreign")
    stream = await play.stream(rule=70, expected="the stream is opened again")
    play.check(70, stream.request.last_event_id == "e1.1", "the cursor from before, e1.1", stream.request.last_event_id)
    stream.accept()
    stream.state(2)
    stream.label("new")
    await play.shows(2, rule=70)
    await shows_nothing_foreign(play)


async def shows_nothing_foreign(play):
    await play.saw("label", 70, "a label behind it", id="new")
    foreign = play.said("state", state={"count": "foreign"}) + play.said("label", id="foreign")
    play.check(70, not foreign, "nothing of another session", foreign)


@scenario(5)
async def making_a_session_fails(play):
    """A session that cannot be made now is asked for again, after Retry-After."""
    make = play.server.automatic.pop("session")
    await play.open()
    refused = await play.request("session", 5, "a session is asked for")
    refused.problem(503, "too-many-sessions", [("Retry-After", "1")])
    request = await play.request("session", 5, "it is asked for again", 6 + play.patience)
    play.check_not_before(5, request, refused, 0.95)
    make(request)
    stream = await play.stream(rule=5)
    stream.accept()
    await play.condition("live", rule=5)


@scenario(4)
async def trouble_keeps_the_session(play):
    """503, 500, 429 and cuts of streams do not lead to a new session."""
    stream = await play.live(retry=20)
    stream.cut()
    for fail in (lambda request: request.problem(503, "journal-unavailable", [("Retry-After", "0")]),
                 lambda request: request.problem(500, "state-unavailable"),
                 lambda request: request.problem(429, "too-many-connections", [("Retry-After", "0")]),
                 lambda request: request.cut()):
        stream = await play.stream(rule=4)
        fail(stream.request)
    stream = await play.stream(rule=4)
    stream.accept()
    stream.state(2)
    await play.shows(2)
    play.check(4, len(play.server.sessions) == 1, "one session", f"{len(play.server.sessions)}")


@scenario(6, 28)
async def stream_redirect(play):
    """A redirect of a stream to another origin gets no credential."""
    other = await play.another_server()
    stream = await play.live(retry=100)
    stream.cut()
    stream = await play.stream()
    stream.request.respond(307, headers=[("Location", f"{other.url}/events?feature=counter")])
    await asyncio.sleep(0.5)
    leaked = [str(request) for request in other.requests if request.credential]
    play.check(6, not leaked, "no credential at another origin", leaked)
    stream = await play.stream(rule=28, expected="the stream is asked for again here")
    stream.accept()
    stream.state(2)
    await play.shows(2, rule=28)


@scenario(6)
async def intent_redirect(play):
    """A redirect of an intent to another origin gets no credential and no intent."""
    other = await play.another_server()
    await play.live()
    play.send("a")
    intent = await play.intent()
    intent.respond(308, headers=[("Location", f"{other.url}/features/counter/intents")])
    await asyncio.sleep(0.5)
    leaked = [str(request) for request in other.requests if request.credential or request.body]
    play.check(6, not leaked, "no credential and no intent at another origin", leaked)
