"""One intent: its request, its retries, its refusals."""

import re

from kit.registry import scenario

UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


@scenario(55)
async def intent_request(play):
    """The body is the intent as it was given, the key a UUID; `sent` has the version of the answer."""
    await play.live("counter", "todo:7")
    intent = {"type": "add", "text": "añ→😀 \"\\ \u2028", "amount": 12.5, "none": None, "deep": {"list": [1, True, {}]}}
    play.send("a", intent=intent)
    request = await play.intent()
    play.check(55, request.path == "/features/counter/intents", "/features/counter/intents", request.path)
    play.check(55, request.json() == intent, f"{intent}", request.body.decode(errors="replace"))
    play.check(55, request.headers.get("content-type", "").startswith("application/json"), "Content-Type: application/json",
               request.headers.get("content-type", "none"))
    play.check(55, UUID.fullmatch(request.key), "a UUID as Idempotency-Key", request.headers.get("idempotency-key", "none"))
    play.check(55, "intent-seq" not in request.headers, "no Intent-Seq beside the key", "Intent-Seq")
    play.accept(request, version=17)
    line = await play.saw("sent", 55, "the intent is sent", tag="a")
    play.check(55, line.get("version") == 17, "the version 17", line)
    play.send("b", feature="todo:7")
    other = await play.intent()
    play.check(55, other.path in ("/features/todo:7/intents", "/features/todo%3A7/intents"), "/features/todo:7/intents", other.path)
    play.check(55, other.key != request.key, "another key for another intent", other.key)
    play.accept(other)
    await play.saw("sent", 55, "the second intent is sent", tag="b")


async def retried(play, rule, answer, least=0.0, headers=()):
    """Lets an intent fail once; it has to come again with its key, before the one behind it."""
    await play.live(retry=50)
    play.send("a")
    play.send("b")
    first = await play.intent(rule=rule)
    answer(first)
    again = await play.intent(rule=rule, expected="the intent again", seconds=4 + play.patience)
    play.check(rule, again.json() == first.json(), "the intent `a` again, before `b`", again.body.decode())
    play.check(56, again.key == first.key, f"the key {first.key} again", again.key)
    play.check_not_before(rule, again, first, least)
    play.accept(again, headers=headers)
    await play.saw("sent", rule, "the intent is sent", tag="a")
    last = await play.intent(rule=57)
    play.check(56, last.key != first.key, "another key for another intent", last.key)
    play.accept(last)
    await play.saw("sent", 57, "the intent behind it is sent", tag="b")
    play.check(rule, len(play.server.received("intent")) == 3 and not play.said("refused"), "three requests, none refused", play.recent())


@scenario(56, 57, 58)
async def intent_cut_before(play):
    """A connection that is cut before the answer, the intent not taken: the intent is sent again with its key."""
    await retried(play, 58, lambda intent: intent.cut())


@scenario(56, 57, 58)
async def intent_cut_after(play):
    """The server took the intent and its answer was lost: the same key again, which the server answers as a replay."""
    await retried(play, 58, lambda intent: intent.close(), headers=[("Idempotency-Replayed", "true")])


@scenario(56, 57, 58)
async def intent_answer_cut(play):
    """An answer that ends in its middle is none: the intent is sent again."""
    def answer(intent):
        intent.head(202, [("Content-Type", "application/json"), ("Content-Length", "80")])
        intent.raw(b'{"intent":"i1","session":"s1"')
        intent.close()
    await retried(play, 58, answer)


@scenario(56, 57, 58)
async def intent_502(play):
    """502 of a proxy is tried again."""
    await retried(play, 58, lambda intent: intent.html(502))


@scenario(56, 57, 58)
async def intent_504(play):
    """504 of a proxy is tried again: the intent may have run, and its key says so."""
    await retried(play, 58, lambda intent: intent.html(504))


@scenario(56, 57, 58)
async def intent_503(play):
    """503 of the server is tried again."""
    await retried(play, 58, lambda intent: intent.problem(503, "journal-unavailable"))


@scenario(56, 57, 58)
async def intent_captive_portal(play):
    """200 with a page is no answer of the server: the intent is tried again, and not taken for sent."""
    await retried(play, 58, lambda intent: intent.html(200))


@scenario(56, 57, 59)
async def intent_429(play):
    """429 is tried again after Retry-After."""
    await retried(play, 59, lambda intent: intent.problem(429, "too-many-requests", [("Retry-After", "1")]), 0.95)


@scenario(56, 57, 59)
async def intent_503_retry_after(play):
    """503 with Retry-After is tried again after it."""
    await retried(play, 59, lambda intent: intent.problem(503, "draining", [("Retry-After", "2")]), 1.95)


@scenario(56, 57, 59)
async def intent_in_progress(play):
    """409 intent-in-progress is tried again after Retry-After."""
    await retried(play, 59, lambda intent: intent.problem(409, "intent-in-progress", [("Retry-After", "1")]), 0.95)


async def refused(play, status, problem):
    await play.live(retry=50)
    play.send("a")
    play.send("b")
    first = await play.intent(rule=60)
    first.problem(status, problem)
    line = await play.saw("refused", 60, "`refused` for a", tag="a")
    play.check(60, line.get("status") == status and line.get("problem") == f"/problems/{problem}",
               f"status {status} and the problem /problems/{problem}", line)
    other = await play.intent(rule=60, expected="the intent behind it")
    play.check(60, other.json()["tag"] == "b", "the intent behind it, the refused one not again", other.body.decode())
    play.accept(other)
    await play.saw("sent", 60, "the intent behind it is sent", tag="b")
    play.check(60, len(play.said("refused")) == 1, "one refusal", play.recent())


def refusal(status, problem):
    async def play_it(play):
        await refused(play, status, problem)
    play_it.__doc__ = f"{status} {problem}: refused once, and the next intent goes on."
    scenario(60, name=f"intent-{status}-{problem}")(play_it)


for each in ((400, "bad-request"), (403, "forbidden"), (404, "feature-not-found"), (409, "intent-conflict"), (410, "store-disposed"),
             (413, "body-too-large"), (422, "intent-refused"), (429, "intent-limited"), (500, "intent-failed"), (503, "check-timeout")):
    refusal(*each)


@scenario(60)
async def intent_404_html(play):
    """A refusal without a problem document: refused with its status alone."""
    await play.live(retry=50)
    play.send("a")
    (await play.intent(rule=60)).html(403)
    line = await play.saw("refused", 60, "`refused` for a", tag="a")
    play.check(60, line.get("status") == 403 and line.get("problem") is None, "status 403 and no problem", line)


@scenario(63)
async def patience_runs_out(play):
    """An intent that never gets an answer is given up when its patience is over; the next one goes on."""
    await play.live(retry=50, patience=2)
    start = play.now
    play.server.automatic["intent"] = lambda request: request.problem(503, "journal-unavailable")
    play.send("a")
    line = await play.saw("refused", 63, "`refused` for a after 2 s of patience", 2 + play.lateness, tag="a")
    play.check(63, line["at"] - start >= 1.95, "patience of 2 s", f"given up after {line['at'] - start:.2f} s")
    del play.server.automatic["intent"]
    play.send("b")
    request = await play.intent(rule=63)
    play.check(63, request.json()["tag"] == "b", "the next intent", request.body.decode())
    play.accept(request)
    await play.saw("sent", 63, "the next intent is sent", tag="b")


@scenario(63)
async def no_answer_at_all(play):
    """A server that takes an intent and never answers: it is given up when its patience is over."""
    await play.live(retry=50, patience=2)
    # A slow client may give an intent up before it sends it. Then the next one is the test.
    for number in range(5):
        before = len(play.server.received("intent"))
        play.send(f"a{number}")
        await play.saw("refused", 63, "`refused` after 2 s of patience", 2 + play.lateness, tag=f"a{number}")
        if len(play.server.received("intent")) > before:
            return
    play.check(63, False, "the intent is sent", play.recent())


@scenario(66)
async def intent_backoff_grows(play):
    """The waits between tries of an intent grow, and are no storm."""
    await play.live(retry=100)
    play.send("a")
    before = await play.intent(rule=66)
    for number in range(5):
        before.problem(503, "journal-unavailable")
        after = await play.intent(rule=66, expected="another try", seconds=4 + play.lateness)
        play.check_not_before(66, after, before, 0.045 * 2**number)
        before = after


@scenario(60)
async def no_version_in_answer(play):
    """204 for an intent is taken for sent too."""
    await play.live()
    play.send("a")
    (await play.intent(rule=60)).respond(204)
    await play.saw("sent", 60, "the intent is sent", tag="a")
