"""Faults to plant into the client of `mvi_client`, each with the scenario that finds it and the rule that it breaks.

A fault is an edit of the source text, made while the module is imported; the files stay as they are.
"""

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "mvi_client"


@dataclass
class Fault:
    """`edits` are (file, old text, new text); each old text stands in its file once."""

    rule: int
    scenario: str
    edits: tuple


FAULTS = {}


def fault(name, rule, scenario, *edits):
    FAULTS[name] = Fault(rule, scenario, edits)


def edited(edits, file):
    """The source of a file with its edits."""
    source = (FOLDER / file).read_text(encoding="utf-8")
    for name, old, new in edits:
        if name != file:
            continue
        if source.count(old) != 1:
            raise ValueError(f"{file} has {source.count(old)} times, not once: {old!r}")
        source = source.replace(old, new)
    return source


def load_client(name=None):
    """Imports `mvi_client`, with a fault if one is named. Each call returns modules of its own."""
    edits = FAULTS[name].edits if name else ()

    class Loader(SourceFileLoader):
        def get_code(self, fullname):
            return compile(edited(edits, Path(self.path).name), self.path, "exec")

    class Finder:
        @staticmethod
        def find_spec(fullname, path=None, target=None):
            package, _, module = fullname.partition(".")
            if package != "mvi_client":
                return None
            file = FOLDER / f"{module or '__init__'}.py"
            return importlib.util.spec_from_file_location(
                fullname, file, loader=Loader(fullname, str(file)),
                submodule_search_locations=None if module else [str(FOLDER)])

    for each in [each for each in sys.modules if each.partition(".")[0] == "mvi_client"]:
        del sys.modules[each]
    sys.meta_path.insert(0, Finder)
    try:
        return importlib.import_module("mvi_client")
    finally:
        sys.meta_path.remove(Finder)


# --- Sessions ---
ASK = 'answer = await connection.ask("GET", self.path(), {**headers, **self.stream_headers()})'
fault("token-in-url", 1, "bearer-session",
      ("stream.py", ASK, ASK.replace("self.path()", 'self.path() + "&token=" + headers["Authorization"][7:]')))
fault("stream-without-credential", 1, "cookie-session", ("stream.py", ASK, ASK.replace("**headers, ", "")))
fault("settings-untold", 76, "settings-of-a-new-session", ("session.py", '"credential": self.kind, **self.settings', '"credential": self.kind'))
fault("settings-stay-old", 76, "settings-of-a-kept-session", ("session.py", "                await self.update(answer.json)\n", ""))
fault("sessions-side-by-side", 2, "one-session-at-a-time",
      ("session.py", "        async with self.lock:\n            self.check()", "        if True:\n            self.check()"))
fault("sessions-side-by-side-again", 2, "one-session-for-all-refusals",
      ("session.py", "        async with self.lock:\n            self.check()", "        if True:\n            self.check()"))
fault("old-cursor-in-new-session", 3, "stream-session-not-found",
      ("stream.py", '        self.session.is_gone(stamp)\n        self.last_id = ""', "        self.session.is_gone(stamp)"))
fault("new-session-on-503", 4, "trouble-keeps-the-session",
      ("stream.py", "if problem in UNKNOWN_SESSION:", "if problem in UNKNOWN_SESSION or answer.status == 503:"))
fault("new-sessions-without-end", 5, "no-storm-of-sessions", ("session.py", "if not self.is_proven:", "if False:"))
fault("follows-redirects", 6, "stream-redirect",
      ("stream.py", ASK, ASK + '\n                if answer.status == 307:\n'
       '                    connection.close()\n'
       '                    connection = Connection(answer.headers["location"])\n'
       '                    ' + ASK))

# --- Reading a stream ---
CUT = "        # Lines are cut as bytes and decoded whole, so a piece may end inside a character.\n"
fault("decodes-pieces", 7, "split-anywhere", ("events.py", CUT, '        piece = piece.decode(errors="replace").encode()\n'))
fault("line-feed-is-a-second-end", 8, "carriage-return-alone", ("events.py", "if self.skips_line_feed and piece:", "if False:"))
fault("carriage-return-is-no-end", 8, "line-ends", ("events.py", '.replace(b"\\r", b"\\n").split', ".split"))
fault("waits-for-line-feed", 8, "carriage-return-alone",
      ("events.py", CUT, '        piece = getattr(self, "held", b"") + piece\n        self.held = b"\\r" if piece.endswith(b"\\r") else b""\n'
       '        piece = piece.removesuffix(b"\\r")\n'))
fault("keeps-mark", 9, "byte-order-mark", ("events.py", "piece = self.rest.removeprefix(MARK)", "piece = self.rest"))
fault("drops-later-marks", 9, "byte-order-mark", ("events.py", 'line.decode("utf-8",', 'line.decode("utf-8-sig",'))
fault("comment-is-data", 10, "comments", ("events.py", 'if name == "data":', 'if name in ("data", ""):'))
fault("field-names-in-any-case", 10, "comments", ("events.py", 'if name == "data":', 'if name.lower() == "data":'))
fault("joins-with-nothing", 11, "data-lines", ("events.py", '"\\n".join', '"".join'))
fault("takes-all-blanks-away", 11, "data-lines", ("events.py", 'value = value.removeprefix(" ")', "value = value.strip()"))
fault("type-stays", 12, "event-types", ("events.py", 'self.type, self.id = "", last_id', 'self.type, self.id = getattr(self, "type", ""), last_id'))
fault("event-without-data", 12, "event-types", ("events.py", "if self.data else None", "if True else None"))
fault("id-at-once", 13, "ids-without-data", ("events.py", "                self.id = value", "                self.id = self.last_id = value"))
fault("id-with-data-only", 13, "ids-without-data",
      ("events.py", "        self.last_id = self.id\n", "        self.last_id = self.id if self.data else self.last_id\n"))
fault("empty-id-is-none", 13, "empty-id", ("events.py", 'if "\\0" not in value:', 'if value and "\\0" not in value:'))
fault("id-with-nul", 13, "id-with-nul", ("events.py", 'if "\\0" not in value:', "if True:"))
fault("id-of-golden-files", 13, "golden-files", ("events.py", 'if "\\0" not in value:', "if value.strip():"))
fault("retry-of-other-digits", 14, "retry-field", ("events.py", "value.isascii() and value.isdigit()", "value.isdigit()"))
fault("dispatches-unfinished", 15, "cut-in-event",
      ("stream.py", "            watchdog.reschedule(loop.time() + 2.5 * self.heartbeat)\n",
       "            watchdog.reschedule(loop.time() + 2.5 * self.heartbeat)\n"
       '        for event in parser.feed(b"\\n\\n"):\n            await self.take(event)\n'))
fault("small-events", 16, "large-event",
      ("events.py", "        self.rest = pieces.pop()\n", "        self.rest = pieces.pop()\n        if len(self.rest) > 1 << 19:\n            raise EOFError\n"))
fault("one-media-type", 17, "unframed-stream",
      ("stream.py", 'answer.media == "text/event-stream"', 'answer.headers.get("content-type") == "text/event-stream; charset=utf-8"'))
fault("no-accept", 17, "asks-for-events", ("stream.py", 'headers = {"Accept": "text/event-stream"}', "headers = {}"))
fault("chunk-extensions", 17, "odd-chunks",
      ("http.py", '(await self.reader.readuntil(b"\\n")).split(b";")[0], 16)', '(await self.reader.readuntil(b"\\n")), 16)'))

# --- Health and coming back ---
READ = "                    await self.read(connection, answer, watchdog)"
fault("live-with-the-head", 18, "live-with-hello", ("stream.py", READ, '                    self.set_condition("live")\n' + READ))
fault("constant-backoff", 19, "backoff-grows", ("waiting.py", "2 ** min(self.attempts, 30)", "1"))
fault("comes-back-at-once", 19, "first-base", ("waiting.py", "def __init__(self, base=3.0):", "def __init__(self, base=0.5):"))
fault("accept-resets-backoff", 20, "accept-is-no-health", ("stream.py", READ, "                    self.backoff.reset()\n" + READ))
fault("hello-resets-nothing", 20, "hello-resets-backoff", ("stream.py", "        self.backoff.reset()\n        self.session", "        self.session"))
fault("no-jitter", 21, "jitter", ("waiting.py", "whole * random.uniform(0.5, 1)", "whole"))
fault("no-cap", 22, "huge-retry-is-capped", ("waiting.py", "LONGEST = 30.0", "LONGEST = 1e9"))
fault("timer-overflows", 22, "huge-numbers", ("stream.py", "parser.retry / 1000", "(parser.retry if parser.retry < 2**31 else 1) / 1000"))
fault("no-shortest-wait", 23, "no-storm-closed-at-once", ("waiting.py", "SHORTEST = 0.1", "SHORTEST = 0.0"))
fault("no-shortest-wait-after-hello", 23, "no-storm-after-hello", ("waiting.py", "SHORTEST = 0.1", "SHORTEST = 0.0"))
fault("no-shortest-wait-after-goaway", 23, "no-storm-goaway", ("waiting.py", "SHORTEST = 0.1", "SHORTEST = 0.0"))
WATCH = "watchdog.reschedule(loop.time() + 2.5 * self.heartbeat)"
fault("no-watchdog", 24, "silence", ("stream.py", WATCH, "watchdog.reschedule(None)"))
fault("pings-are-no-life", 25, "pings-keep-alive", ("stream.py", WATCH, 'if b"event: ping" not in piece:\n                ' + WATCH))
fault("comments-are-no-life", 25, "comments-keep-alive", ("stream.py", WATCH, 'if piece[:1] != b":":\n                ' + WATCH))
fault("events-are-the-only-life", 25, "bytes-keep-alive", ("stream.py", WATCH, 'if b"\\n\\n" in piece:\n                ' + WATCH))
FOREGROUND = "        self.network.wake()\n        self.try_now()"
fault("foreground-waits", 26, "foreground-comes-back-at-once", ("client.py", FOREGROUND, "        pass"))
fault("foreground-always-reopens", 26, "live-stays",
      ("client.py", "        if not self.stream.is_live:\n            self.stream.reopen()", "        self.stream.reopen()"))
fault("foreground-resets-backoff", 26, "attempts-are-kept", ("client.py", FOREGROUND, "        self.stream.backoff.reset()\n" + FOREGROUND))
fault("answer-says-nothing", 26, "answer-comes-back-at-once", ("intents.py", "                self.network.answered()\n", ""))
fault("answer-shortens-goaway", 26, "answer-does-not-shorten-goaway", ("stream.py", "        self.is_named = True\n", ""))
fault("no-cursor", 27, "resume-with-cursor", ("stream.py", "if self.last_id:", "if False:"))

# --- Refused streams ---
fault("reads-any-page", 28, "captive-portal", ("stream.py", ' and answer.media == "text/event-stream"', ""))
fault("gives-up-on-502", 28, "bad-gateway", ("stream.py", "answer.status in (400, 406) and problem", "answer.status in (400, 406, 502)"))
fault("ignores-retry-after", 29, "too-many-requests", ("waiting.py", ", asked(answer))", ")"))
fault("ignores-dates", 29, "retry-after-date", ("waiting.py", "parsedate_to_datetime(text).timestamp() - time.time()", "float(text)"))
fault("no-content-is-trouble", 30, "no-content", ("stream.py", 'if answer.status == 204 or problem ==', "if problem =="))
fault("ended-comes-back", 30, "goaway-ended", ("stream.py", '                self.session.is_ended = True\n                self.stop("ended")', "                pass"))
fault("bad-request-is-trouble", 31, "bad-request", ("stream.py", "if answer.status in (400, 406) and problem:", "if False:"))
fault("one-refused-all-refused", 32, "feature-not-found", ("stream.py", "if len(wanted) == 1 or await self.is_refused(feature):", "if True:"))
fault("asks-for-the-forbidden", 32, "no-feature-allowed", ("stream.py", "                self.denied.add(feature)\n", ""))
GOAWAY = "        raise Left(soon(retry))"
fault("ignores-goaway-retry", 33, "goaway-drain", ("stream.py", GOAWAY, "        raise Left(self.backoff.next())"))
fault("goaway-is-a-failure", 33, "goaway-is-no-failure", ("stream.py", GOAWAY, "        self.backoff.attempts += 1\n" + GOAWAY))
fault("waits-for-the-close", 33, "nothing-behind-goaway", ("stream.py", GOAWAY, "        return"))
fault("superseded-comes-back", 34, "goaway-superseded", ("stream.py", 'self.stop("paused")', "pass"))
fault("expired-keeps-the-session", 35, "goaway-expired", ("stream.py", "self.lose_session(self.session.stamp)", "pass"))

# --- States and labels ---
OLDER = "if feature in self.fresh and version < self.versions[feature]:"
fault("shows-older-states", 36, "older-states", ("screen.py", OLDER, "if False:"))
fault("one-version-for-all", 36, "versions-are-per-feature", ("screen.py", OLDER, "if feature in self.fresh and version < max(self.versions.values()):"))
fault("never-back", 37, "first-state-after-hello", ("screen.py", OLDER, "if version < self.versions.get(feature, 0):"))
fault("ignores-the-epoch", 38, "epoch-changed", ("screen.py", "if self.life == (session, epoch):", "if self.life and self.life[0] == session:"))
fault("no-dedupe", 39, "labels-once", ("screen.py", "if label_id in self.labels:", "if False:"))
fault("hello-forgets-labels", 39, "labels-once", ("screen.py", "        self.fresh.clear()", "        self.fresh.clear()\n        self.labels.clear()"))
fault("remembers-few-labels", 39, "thousand-labels", ("screen.py", "MOST_LABELS = 1000", "MOST_LABELS = 100"))
fault("labels-outlive-their-life", 75, "unread-labels", ("screen.py", "            if now < end:\n", "            if True:\n"))
fault("drops-unread-labels", 75, "unread-labels", ("screen.py", "        self.unread[feature].append((end, members))", "        pass"))
fault("drops-replays", 40, "labels-once", ("screen.py", "if label_id in self.labels:", "if replay or label_id in self.labels:"))
fault("unknown-events-are-broken", 41, "unknown-events", ("stream.py", "        if handler is None:\n            return", "        if handler is None:\n            raise Left(1)"))
fault("any-name-is-a-handler", 41, "unknown-events", ("stream.py", " if event.type in KNOWN else None", " or (lambda data: None)"))
BROKEN = "            raise Left(self.backoff.next()) from None"
fault("ignores-broken-json", 42, "broken-json", ("stream.py", BROKEN, "            return"))
fault("broken-json-at-once", 42, "broken-json", ("stream.py", BROKEN, "            raise Left from None"))
fault("keeps-reset", 43, "handed-on", ("stream.py", 'self.show("reset", reason=data["reason"], labelsLost=data["labelsLost"])', "pass"))
fault("denied-leaves", 43, "handed-on", ("stream.py", '        self.show("denied", feature=data["feature"])', "        raise Left(1)"))
fault("watches-later", 44, "watch-reopens",
      ("client.py", "            self.stream.denied.discard(feature)\n            self.stream.reopen()", "            self.stream.denied.discard(feature)"))
fault("unwatches-later", 44, "unwatch-reopens",
      ("client.py", "        if self.stream.features.pop(feature, None):\n            self.stream.reopen()", "        self.stream.features.pop(feature, None)"))

fault("reopens-for-nothing", 44, "same-features", ("client.py", "        if self.stream.features.pop(feature, None):\n            self.stream.reopen()",
      "        self.stream.features.pop(feature, None)\n        self.stream.reopen()"))
fault("finishes-what-it-began", 44, "unwatch-while-connecting",
      ("stream.py", "            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)",
       "            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED if self.is_live else asyncio.ALL_COMPLETED)"))
fault("leaves-streams-behind", 44, "flapping-network", ("stream.py", "        finally:\n            connection.close()\n        return self.backoff.next()",
      "        finally:\n            vars(self).setdefault(\"left\", []).append(connection)\n        return self.backoff.next()"))

# --- Patches ---
fault("patch-keeps-version", 45, "json-patch", ("screen.py", "self.keep(feature, to, state)", "self.keep(feature, start, state)"))
fault("applies-without-from", 46, "patch-from-newer", ("screen.py", " or self.versions[feature] != start", ""))
fault("applies-to-the-last-connection", 46, "patch-after-reconnect", ("screen.py", "feature not in self.fresh or self.versions", "self.versions"))
fault("skips-bad-patches", 46, "patch-failed-test", ("screen.py", "            raise Stale from error", "            return"))
fault("asks-again-later", 46, "patch-remove-missing", ("stream.py", "raise Left(0 if self.stale_streams <= 3 else self.backoff.next())", "raise Left(self.backoff.next())"))
fault("lenient-indices", 46, "patch-index-zeros", ("patches.py", 'r"0|[1-9][0-9]{0,9}"', 'r"[0-9]{1,9}"'))
fault("always-delta", 47, "patches-never-apply", ("stream.py", "if self.delta and self.stale_streams < 3:", "if self.delta:"))
fault("escapes-in-the-wrong-order", 48, "odd-json-patches", ("patches.py", '.replace("~1", "/").replace("~0", "~")', '.replace("~0", "~").replace("~1", "/")'))
fault("inserts-by-replacing", 48, "odd-json-patches",
      ("patches.py", 'parent.insert(len(parent) if last == "-" else index_of(last, len(parent) + 1), value)',
       'parent[index_of(last, len(parent)):index_of(last, len(parent)) + 1] = [value]'))
fault("null-is-a-value", 49, "odd-merge-patches", ("patches.py", "if value is None:", "if value is ...:"))

# --- Identity ---
fault("ignores-identity-event", 50, "identity-event", ("stream.py", "        self.renewing = asyncio.create_task(self.session.renew_now())", "        pass"))
fault("identity-event-leaves", 50, "identity-event",
      ("stream.py", "        self.renewing = asyncio.create_task(self.session.renew_now())",
       "        self.renewing = asyncio.create_task(self.session.renew_now())\n        raise Left(0.1)"))
fault("identity-is-not-renewed", 51, "goaway-identity", ("stream.py", "self.session.has_expired(self.session.stamp)", "pass"))
fault("renewals-side-by-side", 51, "one-renewal-at-a-time",
      ("session.py", "        async with self.lock:\n            self.check()", "        if True:\n            self.check()"))
fault("keeps-the-old-token", 52, "new-credential", ("session.py", 'if token := answer.json.get("token"):', 'if (token := answer.json.get("token")) and not self.headers:'))
fault("never-signed-out", 53, "signed-out-without-identity", ("stream.py", '            self.stopped = "signedOut"', "            pass"))
fault("anonymous-in-its-place", 53, "signed-out-when-refused",
      ("session.py", "        elif answer.status == 404:\n", "        elif answer.status in (401, 404):\n"))
fault("renews-once", 54, "renewal-is-retried", ("session.py", "answer.status != 429 and answer.status < 500 and ", ""))
fault("session-without-identity", 54, "identity-required", ("session.py", 'wish["identity"] = await self.new_identity()', 'wish["other"] = await self.new_identity()'))

# --- Intents ---
fault("no-key", 55, "intent-request", ("intents.py", """, "Idempotency-Key": f'"{pending.key}"'}""", "}"))
fault("ascii-intents", 55, "intent-request", ("intents.py", "json.dumps(intent).encode()", 'json.dumps(intent, ensure_ascii=False).encode("ascii", "replace")'))
fault("new-key-on-retry", 56, "intent-503", ("intents.py", """f'"{pending.key}"'""", """f'"{uuid.uuid4()}"'"""))
fault("one-key-for-all", 56, "intent-503", ("intents.py", "default_factory=lambda: str(uuid.uuid4())", 'default="00000000-0000-4000-8000-000000000000"'))
QUEUE = "        self.queue.append(pending)\n        self.news.set()\n        self.save()\n        return await pending.result"
fault("intents-side-by-side", 57, "intents-in-order", ("intents.py", QUEUE, "        return await self.deliver(pending)"))
fault("newest-intent-first", 57, "intents-in-order", ("intents.py", "self.queue.append(pending)", "self.queue.appendleft(pending)"))
fault("network-failure-refuses", 58, "intent-cut-after",
      ("intents.py", "                await self.network.pause(backoff.next())\n                continue", "                raise Refused from None"))
fault("page-is-an-answer", 58, "intent-captive-portal", ("intents.py", " and (answer.status == 204 or answer.json):", ":"))
fault("half-an-answer", 58, "intent-answer-cut",
      ("http.py", '            yield await self.reader.readexactly(int(answer.headers["content-length"]))',
       '            try:\n                yield await self.reader.readexactly(int(answer.headers["content-length"]))\n'
       '            except asyncio.IncompleteReadError as half:\n                yield half.partial + b"}"'))
fault("in-progress-is-a-refusal", 59, "intent-in-progress", ("intents.py", ' or answer.problem == "/problems/intent-in-progress"', ""))
fault("intent-ignores-retry-after", 59, "intent-429", ("waiting.py", ", asked(answer))", ")"))
fault("retries-refusals", 60, "intent-422-intent-refused", ("intents.py", "(200, 202, 408, 429,", "(200, 202, 422, 408, 429,"))
fault("refusals-of-a-fault-are-retried", 60, "intent-500-intent-failed", ("intents.py", "(200, 202, 408, 429,", "(200, 202, 500, 408, 429,"))
for limit, name in (("intent-limited", "429"), ("check-timeout", "503")):
    fault(f"retries-{limit}", 60, f"intent-{name}-{limit}", ("intents.py", f'"/problems/{limit}"', '""'))
fault("new-session-for-an-ended-one", 60, "intent-session-ended",
      ("intents.py", '"/problems/session-not-found", "/problems/unauthorized")', '"/problems/session-not-found", "/problems/session-ended")'))
fault("sends-offline", 61, "offline-queue", ("intents.py", "            await self.network.online()\n", ""))
fault("offline-refuses", 61, "offline-queue", ("intents.py", "if len(self.queue) >= MOST_INTENTS:", "if not self.network.is_online:"))
fault("endless-queue", 62, "bounded-queue", ("intents.py", "MOST_INTENTS = 1000", "MOST_INTENTS = 100_000"))
fault("short-queue", 62, "bounded-queue", ("intents.py", "MOST_INTENTS = 1000", "MOST_INTENTS = 100"))
fault("endless-patience", 63, "no-answer-at-all", ("intents.py", "async with asyncio.timeout_at(pending.deadline):", "if True:"))
fault("lost-session-refuses", 64, "intent-unauthorized",
      ("intents.py", 'if answer.problem in ("/problems/session-not-found", "/problems/unauthorized"):', "if False:"))
fault("stream-stays-in-the-old-session", 64, "intent-session-not-found", ("client.py", '        self.stream.last_id = ""\n        self.stream.reopen()', "        pass"))
fault("clicks-do-not-wait", 65, "click-while-renewing",
      ("session.py", 'self.headers = {"Authorization"', 'self.headers = self.kept = {"Authorization"'),
      ("intents.py", "credential, stamp = await self.session.ready()", "credential, stamp = self.session.kept, self.session.stamp"))
fault("intents-in-a-storm", 66, "intent-backoff-grows", ("intents.py", "await self.network.pause(backoff.next(answer))", "await self.network.pause(0.02)"))

fault("intents-name-no-session", 67, "intents-name-their-session", ("intents.py", '            headers["MVI-Session"] = self.session.id\n', ""))
fault("intents-name-the-first-session", 67, "intents-name-the-cookies-session",
      ("intents.py", '["MVI-Session"] = self.session.id', '["MVI-Session"] = self.first = getattr(self, "first", self.session.id)'))
fault("other-session-is-trouble", 68, "other-session",
      ("intents.py", '            elif answer.problem == "/problems/other-session":\n                await self.session.is_other(stamp)\n'
       '                self.on_new_session()\n                raise Refused(answer.status, answer.problem)\n', ""),
      ("intents.py", 'answer.problem == "/problems/intent-in-progress"', "answer.status == 409"))
fault("other-session-refuses-one", 68, "other-session", ("session.py", "        async with self.lock:\n            self.life += 1", "        async with self.lock:"))
fault("other-session-for-ever", 68, "other-session",
      ("session.py", "        async with self.lock:\n            self.life += 1", "        self.life += 1\n        self.is_ended = True\n        async with self.lock:"))
fault("queue-outlives-the-session", 69, "ended-session-refuses-the-queue",
      ("intents.py", "                self.session.is_ended = True\n                self.on_new_session()\n", ""))
fault("queue-of-the-next-user", 69, "lost-session-of-another-user", ("session.py", "if lost is not None and user != self.user:", "if False:"))
fault("queue-of-somebody", 69, "lost-anonymous-session-of-somebody",
      ("session.py", "if lost is not None and user != self.user:", "if lost is not None and user not in (self.user, (None, None)):"))
fault("lost-session-refuses-its-user", 69, "lost-session-of-the-same-user", ("session.py", "if lost is not None and user != self.user:", "if lost is not None:"))

# --- Presence ---
CHANGED = "        if presence != self.presences.get(feature):"
fault("shows-nobody", 76, "presence", ("stream.py", "            self.screen.presence(data)", "            pass"))
fault("repeats-presence", 76, "presence", ("screen.py", CHANGED, "        if True:"))
fault("shows-strangers", 76, "presence", ("stream.py", '        if data["feature"] in self.features:\n            self.screen.presence', "        if True:\n            self.screen.presence"))
fault("counts-the-shown", 76, "presence", ("screen.py", '{"count": count,', '{"count": len(viewers),'))
fault("adds-viewers", 76, "presence",
      ("screen.py", '"viewers": viewers}', '"viewers": (self.presences.get(data["feature"]) or {"viewers": []})["viewers"] + viewers}'))
fault("hello-forgets-presence", 76, "presence-over-reconnects",
      ("screen.py", "        self.fresh.clear()", "        self.fresh.clear()\n        self.forget_presences()"))
fault("epoch-forgets-presence", 76, "presence-over-reconnects", ("screen.py", "if is_another and self.life[0] != session:", "if is_another:"))
fault("presence-of-another-session", 76, "presence-of-another-session", ("screen.py", "if is_another and self.life[0] != session:", "if False:"))
SET_END = '        self.show("{0}", feature=data["feature"])\n        self.screen.set_presence(data["feature"], None)'
for name in ("end", "denied"):
    fault(f"presence-outlives-{name}", 76, "presence-of-a-lost-store", ("stream.py", SET_END.format(name), SET_END.format(name).split("\n")[0]))
fault("presence-outlives-refusal", 76, "presence-of-a-refused-store", ("stream.py", "                self.screen.set_presence(feature, None)\n", ""))
fault("presence-outlives-session", 76, "presence-of-an-ended-session", ("stream.py", 'in ("ended", "signedOut")', 'in ("signedOut",)'))
fault("presence-outlives-sign-out", 76, "presence-signed-out", ("stream.py", 'in ("ended", "signedOut")', 'in ("ended",)'))
fault("presence-outlives-watch", 76, "presence-unwatched", ("client.py", "        self.stream.screen.set_presence(feature, None)\n", ""))
fault("shows-broken-presence", 42, "broken-presence", ("screen.py", "if not isinstance(viewers, list):", "if False:"))

# --- Other sessions ---
fault("stale-stream-is-taken-over", 70, "stale-stream",
      ("client.py", '        self.stream.last_id = ""\n        self.stream.reopen()', "        pass"),
      ("stream.py", 'self.session.kind == "bearer" and', "False and"))
fault("foreign-stream-is-shown", 70, "foreign-hello", ("stream.py", 'self.session.kind == "bearer" and', "False and"))
fault("foreign-cursor", 70, "foreign-hello", ("stream.py", "            self.last_id = self.opened_with\n", ""))
fault("foreign-stream-is-kept", 70, "foreign-hello",
      ("stream.py", "            self.last_id = self.opened_with\n            raise Left(self.backoff.next())", "            return"))

# --- Streams of several logs ---
SHOWS_END, SHOWS_DENIED = ('        self.show("end", feature=data["feature"])', '        self.show("denied", feature=data["feature"])')
fault("one-log-in-the-cursor", 27, "shared-stream",
      ("stream.py", '            headers["Last-Event-ID"] = self.last_id', '            headers["Last-Event-ID"] = self.last_id.partition("~")[0]'))
fault("label-of-a-space-once-a-stream", 40, "shared-stream", ("screen.py", "if label_id in self.labels:", "if label_id in self.labels or replay and self.labels:"))
fault("one-count-for-all-logs", 36, "shared-stream", ("screen.py", OLDER, "if feature in self.fresh and version < max(self.versions.values()):"))
fault("id-before-data-only", 13, "shared-id-behind-the-data", ("events.py", 'if "\\0" not in value:', 'if "\\0" not in value and not self.data:'))
fault("id-line-ends-the-event", 13, "shared-id-behind-the-data",
      ("events.py", "                self.id = value", "                self.id = value\n                if self.data:\n                    return self.dispatch()"))
fault("short-cursors", 27, "shared-cursor-of-many-logs",
      ("stream.py", '            headers["Last-Event-ID"] = self.last_id', '            headers["Last-Event-ID"] = self.last_id[:128]'))
SHOWS_RESET = '        self.show("reset", reason=data["reason"], labelsLost=data["labelsLost"])'
fault("reset-drops-the-cursor", 27, "shared-reset", ("stream.py", "                await self.take(event)",
      '                await self.take(event)\n                if event.type == "reset":\n                    parser.last_id = parser.id = ""'))
fault("reset-of-one-is-for-all", 39, "shared-reset", ("stream.py", SHOWS_RESET, SHOWS_RESET + "\n        self.screen.labels.clear()"))
fault("reset-of-one-log-is-trouble", 43, "shared-reset",
      ("stream.py", SHOWS_RESET, '        if "features" in data:\n            raise KeyError\n' + SHOWS_RESET))
fault("reset-keeps-versions", 37, "shared-reset", ("screen.py", OLDER, "if version < self.versions.get(feature, 0):"))
fault("spaces-keep-the-epoch", 38, "shared-own-log-lost", ("screen.py", "if self.life == (session, epoch):", "if self.life and self.life[0] == session:"))
fault("features-of-hello-only", 36, "shared-part-that-is-late",
      ("stream.py", "        heartbeat = float(data[\"heartbeat\"])\n", "        heartbeat = float(data[\"heartbeat\"])\n        self.named = data[\"features\"]\n"),
      ("stream.py", "        self.screen.state(data)", '        if data["feature"] in self.named:\n            self.screen.state(data)'))
fault("end-has-no-id", 27, "shared-end",
      ("events.py", "        self.last_id = self.id\n", '        self.last_id = self.last_id if self.type == "end" else self.id\n'))
fault("end-is-for-ever", 27, "shared-end", ("stream.py", SHOWS_END, SHOWS_END + '\n        self.denied.add(data["feature"])'))
fault("denied-leaves-the-stream", 43, "shared-denied", ("stream.py", SHOWS_DENIED, SHOWS_DENIED + "\n        raise Left(0.1)"))
fault("denied-is-for-ever", 36, "shared-denied",
      ("stream.py", SHOWS_DENIED, SHOWS_DENIED + '\n        self.denied.add(data["feature"])'),
      ("stream.py", "        self.screen.state(data)", '        if data["feature"] in self.wanted:\n            self.screen.state(data)'))

# --- The driver ---
fault("does-not-end", 71, "close-while-waiting", ("client.py", "            task.cancel()", "            pass"))
fault("stream-outlives-close", 71, "close-is-quiet", ("client.py", "        for task in self.tasks:", "        for task in self.tasks[1:]:"))

# --- Kept intents ---
fault("keeps-nothing", 72, "kept-intents", ("intents.py", "        if self.storage.folder is None:\n", "        if True:\n"))
fault("keeps-no-keys", 72, "kept-intents", ("intents.py", 'each["key"], each["may_have_run"]', 'str(uuid.uuid4()), each["may_have_run"]'))
fault("keeps-what-is-answered", 72, "kept-intents", ("intents.py", "            self.queue.popleft()\n            self.save()\n", "            self.queue.popleft()\n"))
fault("patience-begins-anew", 73, "kept-intents-lose-patience",
      ("intents.py", 'left = min(self.patience, each["until"] - time.time())', "left = self.patience"))
fault("kept-for-anybody", 74, "kept-intents-of-another-session",
      ("intents.py", "self.session.life if each.owner == self.session.id else -1", "self.session.life"))
