"""Who is signed in: renewal, expiry, and what happens without an identity."""

import asyncio

from kit.registry import scenario

SESSION = {"id": "s1", "expiresAt": "2099-01-01T00:00:00Z",
           "identity": {"issuer": "i", "subject": "u", "expiresAt": "2099-01-01T00:00:00Z"}}


def check_identity(play, rule, request, *wanted):
    body = request.json()
    play.check(rule, isinstance(body, dict) and body.get("identity") in wanted, f"the identity {' or '.join(wanted)}", request.body.decode())
    play.check(rule, request.headers.get("content-type", "").startswith("application/json"), "Content-Type: application/json",
               request.headers.get("content-type", "none"))


@scenario(50)
async def identity_event(play):
    """The event identity leads to one PUT; the stream stays."""
    stream = await play.live(identities=["jwt1", "jwt2"])
    stream.event("identity", {"expiresIn": 30})
    request = await play.request("identity", 50, "PUT /sessions/current/identity")
    play.check_credential(request)
    check_identity(play, 50, request, "jwt1", "jwt2")
    request.respond(200, SESSION)
    stream.state(2)
    await play.shows(2, rule=50)
    await play.no_request("identity", 50, 0.3, "one PUT")
    await play.no_request("stream", 50, 0.3, "the same stream")


@scenario(51, 56)
async def intent_identity_expired(play):
    """401 identity-expired of an intent: the identity is renewed, then the intent is sent again with its key."""
    await play.live(identities=["jwt1", "jwt2"])
    play.send("a")
    first = await play.intent(rule=51)
    first.problem(401, "identity-expired")
    request = await play.request("identity", 51, "PUT /sessions/current/identity")
    check_identity(play, 51, request, "jwt1", "jwt2")
    play.check(51, play.server.queue("intent").qsize() == 0, "the intent waits for the identity", "it was sent again at once")
    request.respond(200, SESSION)
    again = await play.intent(rule=51)
    play.check(56, again.key == first.key, f"the key {first.key}", again.key)
    play.accept(again)
    await play.saw("sent", 51, "the intent is sent", tag="a")


@scenario(51)
async def stream_identity_expired(play):
    """401 identity-expired of a stream: the identity is renewed, then the stream is opened with its cursor."""
    stream = await play.live(identities=["jwt1", "jwt2"], retry=30)
    stream.cut()
    (await play.stream()).request.problem(401, "identity-expired")
    request = await play.request("identity", 51, "PUT /sessions/current/identity")
    request.respond(200, SESSION)
    stream = await play.stream(rule=51)
    play.check(51, stream.request.last_event_id == "e1.1", "the cursor e1.1", stream.request.last_event_id)
    play.check(51, len(play.server.sessions) == 1, "the same session", f"{len(play.server.sessions)} sessions")


@scenario(51)
async def one_renewal_at_a_time(play):
    """An intent and a stream that find the identity expired at the same time lead to one PUT."""
    stream = await play.live(identities=["jwt1", "jwt2"], retry=30)
    play.send("a")
    intent = await play.intent(rule=51)
    stream.cut()
    stream = await play.stream(rule=51)
    intent.problem(401, "identity-expired")
    stream.request.problem(401, "identity-expired")
    request = await play.request("identity", 51, "PUT /sessions/current/identity")
    await play.no_request("identity", 51, 0.4, "one PUT at a time")
    request.respond(200, SESSION)
    (await play.stream(rule=51)).accept()
    play.accept(await play.intent(rule=51))
    await play.saw("sent", 51, "the intent is sent", tag="a")
    await play.no_request("identity", 51, 0.2, "one PUT in all")


@scenario(50, 52)
async def new_credential(play):
    """The credential in the answer to PUT replaces the old one, for intents and streams."""
    stream = await play.live(identities=["jwt1"], retry=30)
    stream.event("identity", {"expiresIn": 30})
    request = await play.request("identity", 50, "PUT /sessions/current/identity")
    replace_token(play, request)
    # The driver does not say when it has read the answer. Until then intents have the old token.
    start = play.now
    while True:
        play.send("a")
        intent = await play.intent(rule=52, current=False)
        play.accept(intent)
        await play.saw("sent", 52, "the intent is sent", tag="a")
        if intent.credential == play.server.sessions[-1]:
            break
        play.check(52, play.now < start + 1 + play.lateness, "the new token", intent.credential)
        await asyncio.sleep(0.1)
    stream.goaway("rotate", 20)
    after = await play.stream(rule=52, current=False)
    play.check(52, after.request.credential == play.server.sessions[-1], "the new token", after.request.credential)


@scenario(52)
async def intent_during_replacement(play):
    """404 session-ended of an intent while the PUT that replaces its credential has no answer yet."""
    stream = await play.live(identities=["jwt1"], retry=30)
    play.send("a")
    intent = await play.intent(rule=52)
    stream.event("identity", {"expiresIn": 30})
    put = await play.request("identity", 52, "PUT /sessions/current/identity")
    intent.problem(404, "session-ended")
    await play.no_request("intent", 52, 0.3, "no intent before the answer to the PUT")
    replace_token(play, put)
    again = await play.intent(rule=52)
    play.check(56, again.key == intent.key, f"the key {intent.key}", again.key)
    play.accept(again)
    await play.saw("sent", 52, "the intent is sent", tag="a")


@scenario(52)
async def stream_during_replacement(play):
    """204 of a stream while the PUT that replaces its credential has no answer yet."""
    stream = await play.live(identities=["jwt1"], retry=30)
    play.send("a")
    intent = await play.intent(rule=52)
    stream.cut()
    stream = await play.stream(rule=52)
    intent.problem(401, "identity-expired")
    put = await play.request("identity", 52, "PUT /sessions/current/identity")
    stream.request.respond(204)
    await play.no_request("stream", 52, 0.3, "no stream before the answer to the PUT")
    replace_token(play, put)
    (await play.stream(rule=52)).accept()
    await play.condition("live", rule=52)


@scenario(52, 54)
async def answer_lost_at_replacement(play):
    """The PUT replaces the credential, but its answer is lost; then a stream with the old one gets 204."""
    stream = await play.live(identities=["jwt1", "jwt2"], retry=30)
    stream.event("identity", {"expiresIn": 30})
    put = await play.request("identity", 52, "PUT /sessions/current/identity")
    put.cut()
    stream.cut()
    # Some clients open a stream first, others repeat the PUT first.
    while True:
        wanted = [asyncio.create_task(play.server.queue(kind).get()) for kind in ("stream", "identity")]
        done, waiting = await asyncio.wait(wanted, timeout=15 + play.patience, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        play.check(54, done, "the PUT is repeated", "nothing is asked")
        # Both may be there.
        requests = [task.result() for task in done]
        for request in requests:
            if request.method != "PUT":
                request.respond(204)
        if puts := [request for request in requests if request.method == "PUT"]:
            break
    replace_token(play, puts[0])
    (await play.stream(rule=52)).accept()
    await play.condition("live", rule=52)


def replace_token(play, put):
    """Answers the PUT with a token that replaces the session's."""
    token = "s1~signed-in-0123456789"
    play.server.sessions.append(token)
    put.respond(200, {**SESSION, "token": token})


@scenario(53)
async def signed_out_without_identity(play):
    """goaway identity and no identity to be had: signed out, and nothing more is asked for."""
    stream = await play.live(identities=[], retry=20)
    stream.goaway("identity", 20)
    await play.condition("signedOut", rule=53)
    await play.no_request("stream", 53, 1, "no further stream")
    play.check(53, len(play.server.sessions) == 1, "no anonymous session in place of it", f"{len(play.server.sessions)} sessions")


@scenario(53)
async def signed_out_when_refused(play):
    """An identity that is rejected: signed out, and no loop."""
    stream = await play.live(identities=["jwt1"], retry=20)
    stream.goaway("identity", 20)
    request = await play.request("identity", 53, "PUT /sessions/current/identity")
    request.problem(401, "identity-rejected")
    await play.condition("signedOut", rule=53)
    await play.no_request("stream", 53, 1, "no further stream")


@scenario(54)
async def renewal_is_retried(play):
    """A PUT that is cut, or refused with 503, is repeated."""
    stream = await play.live(identities=["jwt1", "jwt2", "jwt3", "jwt4"], retry=30)
    stream.goaway("identity", 20)
    refused = await play.request("identity", 54, "PUT /sessions/current/identity")
    refused.problem(503, "identity-unavailable", [("Retry-After", "1")])
    request = await play.request("identity", 54, "the PUT is repeated after 503", 2 + play.patience)
    play.check_not_before(54, request, refused, 0.95)
    request.cut()
    request = await play.request("identity", 54, "the PUT is repeated after a cut")
    request.respond(200, SESSION)
    stream = await play.stream(rule=54)
    stream.accept()
    await play.condition("live", rule=54)


@scenario(54)
async def identity_required(play):
    """A server without anonymous sessions: the session is made with an identity."""
    make = play.server.automatic.pop("session")
    await play.open(identities=["jwt1", "jwt2"])
    request = await play.request("session", 54, "a session is asked for")
    if not (request.json() or {}).get("identity"):
        request.problem(401, "identity-required")
        request = await play.request("session", 54, "a session is asked for with an identity")
    check_identity(play, 54, request, "jwt1", "jwt2")
    make(request)
    stream = await play.stream(rule=54)
    stream.accept()
    await play.condition("live", rule=54)


@scenario(53)
async def identity_required_and_none(play):
    """A server without anonymous sessions, and no identity: signed out."""
    del play.server.automatic["session"]
    await play.open(identities=[])
    request = await play.request("session", 53, "a session is asked for")
    request.problem(401, "identity-required")
    await play.condition("signedOut", rule=53)
    await play.no_request("session", 53, 1, "no further session")
