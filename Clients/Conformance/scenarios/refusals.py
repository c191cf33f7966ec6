"""Answers to `GET /events` that are no stream."""

from kit.registry import scenario

OVER = ("ended", "closed")


async def comes_back(play, answer, least=0.0):
    """Answers a reconnect with something that is no stream; the client has to come back and keep its session."""
    stream = await play.live(retry=50)
    stream.cut()
    stream = await play.stream(rule=28)
    answer(stream.request)
    after = await play.stream(rule=28, expected="another try", seconds=least + play.patience)
    play.check_not_before(29, after.request, stream.request, least)
    play.check(28, after.request.last_event_id == "e1.1", "the cursor e1.1", after.request.last_event_id)
    after.accept()
    after.state(2)
    await play.shows(2, rule=28)
    play.does_not_show(99, 28, why="is in a page, not in a stream")


@scenario(28, 29)
async def proxy_503_html(play):
    """503 with a proxy's page is tried again."""
    await comes_back(play, lambda request: request.html(503))


@scenario(28, 29)
async def bad_gateway(play):
    """502 is tried again."""
    await comes_back(play, lambda request: request.html(502))


@scenario(28, 29)
async def too_many_requests(play):
    """429 with Retry-After is tried again, not before its time."""
    await comes_back(play, lambda request: request.problem(429, "too-many-connections", [("Retry-After", "2")]), 1.95)


@scenario(28, 29)
async def captive_portal(play):
    """200 with text/html is no stream: nothing of it is read, and it is tried again."""
    await comes_back(play, lambda request: request.html(200))


@scenario(28, 29)
async def stream_forbidden_by_proxy(play):
    """403 and 404 with a proxy's page say nothing about a feature: they are tried again."""
    await comes_back(play, lambda request: request.html(404))


async def ends(play, rule, conditions, expected):
    """The client reports one of the conditions and asks for nothing more."""
    async def wait():
        while not any(line["condition"] in conditions for line in play.said("condition")):
            play.driver.news.clear()
            await play.driver.news.wait()
    await play.within(rule, wait(), expected)
    await play.no_request("stream", rule, 1, "no further stream")


@scenario(30)
async def no_content(play):
    """204: the session has ended."""
    stream = await play.live(retry=20)
    stream.cut()
    (await play.stream()).request.respond(204)
    await ends(play, 30, OVER, "the condition ended")
    play.check(30, len(play.server.sessions) == 1, "no new session", f"{len(play.server.sessions)} sessions")


@scenario(30)
async def session_ended(play):
    """404 session-ended: the session has ended."""
    stream = await play.live(retry=20)
    stream.cut()
    (await play.stream()).request.problem(404, "session-ended")
    await ends(play, 30, OVER, "the condition ended")
    play.check(30, len(play.server.sessions) == 1, "no new session", f"{len(play.server.sessions)} sessions")


@scenario(31)
async def not_acceptable(play):
    """406 is no trouble that passes: the client stops, and says so."""
    await play.open()
    (await play.stream()).request.problem(406, "not-acceptable")
    await ends(play, 31, ("failed", *OVER), "the condition failed")


@scenario(31)
async def bad_request(play):
    """400 is no trouble that passes: the client stops, and says so."""
    await play.open()
    (await play.stream()).request.problem(400, "bad-request")
    await ends(play, 31, ("failed", *OVER), "the condition failed")


async def without_refused(play, status, problem, rule=32):
    """Refuses every stream that names `nope`, until one comes without it."""
    asked = 0
    while True:
        stream = await play.stream(rule=rule, expected="a stream without the refused feature")
        asked += 1
        play.check(rule, asked <= 6, "a stream without the refused feature, after a few tries", f"{asked} streams")
        if "nope" not in stream.request.features:
            return stream
        stream.request.problem(status, problem, detail="There is no feature `nope`.")


@scenario(32)
async def feature_not_found(play):
    """404 feature-not-found about one of two features: it is reported, and the other goes on."""
    play.server.refused_features["nope"] = (404, "feature-not-found")
    await play.open("counter", "nope")
    stream = await without_refused(play, 404, "feature-not-found")
    while stream.request.features != ["counter"]:
        play.check(32, not stream.request.features, "a stream of counter", stream.request.target)
        stream = await play.stream(rule=32)
    stream.accept()
    stream.state(2)
    await play.shows(2, rule=32)
    await play.saw("denied", 32, "`denied` for nope", feature="nope")
    play.check(32, not play.said("denied", feature="counter"), "no `denied` for counter", play.recent())


@scenario(32)
async def no_feature_allowed(play):
    """403 forbidden about the only feature: it is reported, and not asked for again and again."""
    stream = await play.live("admin", retry=50)
    stream.cut()
    (await play.stream()).request.problem(403, "forbidden")
    await play.saw("denied", 32, "`denied` for admin", feature="admin")
    await play.no_request("stream", 32, 1.2, "no further stream")
