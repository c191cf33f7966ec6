"""What is measured of each proxy, and what must hold."""

import statistics
import time
import uuid

from links import Way
from processes import Failure, Proxy, await_

# Heartbeats of the server on trial, and what replaces the page's timeout of 75 s. Seconds.
HEARTBEAT, TIMEOUT = 1, 3


def delays(kind, server, proxy, certificate, count):
    """From the first byte of an intent sent until its state is read from the stream, on each way in turn."""
    ways = [Way("direct", server.port), Way(f"{kind}, HTTP/1.1", proxy.port, certificate),
            Way(f"{kind}, HTTP/2", proxy.port, certificate, "2")]
    times = {way: [] for way in ways}
    for way in ways:
        way.open()
    for turn in range(count + 20):
        for way in ways:
            key = str(uuid.uuid4())
            began = time.perf_counter()
            answer = way.add(1, key)
            way.event("state", intent=key)
            took = time.perf_counter() - began
            way.wait("the answer", lambda: answer.has_ended)
            assert answer.status == 202, f"{way.name}: an intent got {answer.status}"
            # The first ones make connections, and warm up.
            if turn >= 20:
                times[way].append(took * 1000)
    base = None
    for way in ways:
        median, p99 = statistics.median(times[way]), statistics.quantiles(times[way], n=100)[98]
        base = base or (median, p99)
        print(f"delay, {way.name:18} median {median:6.2f} ms ({median / base[0]:4.1f} x direct)   "
              f"p99 {p99:6.2f} ms ({p99 / base[1]:4.1f} x direct)   of {count}")
        way.close()


def resume(kind, server, proxy, certificate):
    """A restarted proxy: what came meanwhile comes once. A reloaded one keeps the stream."""
    for protocol in ("1.1", "2"):
        way = Way(f"{kind}, HTTP/{protocol}", proxy.port, certificate, protocol)
        way.open()
        way.wait("an answer", lambda answer=way.add(10): answer.has_ended)
        first = way.event("label")
        proxy.stop()
        way.wait("the end of the stream", lambda: way.stream.has_ended)
        direct = Way("direct", server.port, token=way.token)
        for _ in range(3):
            assert direct.ask("POST", "/features/counter/intents", {"type": "add", "amount": 10}).status == 202
        proxy.start()
        back = Way(way.name, proxy.port, certificate, protocol, token=way.token)
        assert back.open(Last_Event_ID=first["id"])["resumed"], "the stream did not resume"
        counts = [back.event("label")["data"] for _ in range(3)]
        assert [each["label"]["count"] for each in counts] == [20, 30, 40], f"labels after the restart: {counts}"
        assert all(each["replay"] for each in counts), "a label that came meanwhile is no replay"
        back.wait("an answer", lambda answer=back.add(10): answer.has_ended)
        assert back.event("label")["data"]["label"]["count"] == 50, "a label came twice"

        print(f"restarted, HTTP/{protocol:9} 3 of 3 labels of meanwhile, each once")
        _reload(kind, proxy, certificate, back)
        for each in (way, direct, back):
            each.close()


def _reload(kind, proxy, certificate, way):
    """A reload keeps the stream or ends it in good order: then it is resumed, and nothing is lost."""
    proxy.reload()

    def add(key):
        try:
            other = Way(kind, proxy.port, certificate, token=way.token)
            answer = other.add(10, key)
            other.wait("an answer", lambda: answer.has_ended, 5)
            other.close()
            return answer.status == 202
        except (OSError, AssertionError):
            return False

    outcome = "the stream stays"
    for amount in (60, 70):
        await_("the reloaded proxy answers", lambda key=str(uuid.uuid4()): add(key))
        try:
            way.event("label")
        except AssertionError:
            assert way.stream.has_ended, "the stream stays and carries nothing"
            outcome = "the stream ends, and resumes"
            again = Way(way.name, proxy.port, certificate, way.protocol, token=way.token)
            assert again.open(Last_Event_ID=way.last_id)["resumed"], "the stream did not resume after the reload"
            assert again.event("label")["data"]["label"]["count"] == amount, "a label is lost"
            way.close()
            way.__dict__.update(again.__dict__)
    print(f"reloaded, HTTP/{way.protocol:10} {outcome}")


def quiet(kind, server, slow_server, folder, certificate):
    """With a timeout of 3 s: a stream with heartbeats of 1 s stays, one with heartbeats of 20 s does not."""
    proxy, lame = Proxy(kind, server, folder, certificate, TIMEOUT), Proxy(kind, slow_server, folder, certificate, TIMEOUT)
    try:
        for protocol in ("1.1", "2"):
            way = Way(f"{kind}, HTTP/{protocol}", proxy.port, certificate, protocol)
            way.open()
            began = time.monotonic()
            while time.monotonic() - began < 3 * TIMEOUT:
                way.event("ping")
            key = str(uuid.uuid4())
            way.wait("an answer", lambda answer=way.add(1, key): answer.has_ended)
            way.event("state", intent=key)
            way.close()
            without = Way(f"{kind}, HTTP/{protocol}", lame.port, certificate, protocol)
            without.open()
            began = time.monotonic()
            without.wait("the timeout", lambda: without.stream.has_ended, 4 * TIMEOUT)
            without.close()
        print(f"quiet for {3 * TIMEOUT} s             stays, with heartbeats of {HEARTBEAT} s and a timeout of {TIMEOUT} s; "
              f"without heartbeats cut after {time.monotonic() - began:.1f} s")
    finally:
        proxy.close()
        lame.close()


def gone(kind, server, proxy, certificate):
    """A client that goes: the server has its stream no more. By the end of the connection, and of one stream in it."""
    for protocol, how in (("1.1", "closed"), ("2", "closed"), ("2", "cancelled")):
        way = Way(f"{kind}, HTTP/{protocol}", proxy.port, certificate, protocol)
        direct = Way("direct", server.port, token=way.token)
        way.open()
        assert _streams(direct) == 1, "the stream is not counted"
        began = time.monotonic()
        if how == "cancelled":
            way.streams.cancel(way.stream)
        else:
            way.close()
        await_("the server sees that the client is gone", lambda: _streams(direct) == 0, 4 * HEARTBEAT)
        print(f"{how} over HTTP/{protocol:5} {' ' * (10 - len(how))}the server's stream ended after {(time.monotonic() - began) * 1000:5.0f} ms")
        way.close()
        direct.close()


def _streams(way):
    return way.ask("GET", "/sessions/current").json()["streams"]


def heads(kind, counting, folder, certificate):
    """The server, which gives an address two streams, sees each client's own address and the browser's fields."""
    proxy = Proxy(kind, counting, folder, certificate)
    forged = {"Forwarded": "for=203.0.113.9", "X_Forwarded_For": "203.0.113.9"}
    try:
        for protocol, first, second in (("1.1", "127.0.0.7", "127.0.0.8"), ("2", "127.0.0.9", "127.0.0.10")):
            ways = []
            for source in (first, first, second):
                ways.append(Way(f"{kind}, HTTP/{protocol}", proxy.port, certificate, protocol, source=source))
                ways[-1].open(**forged)
            third = Way(f"{kind}, HTTP/{protocol}", proxy.port, certificate, protocol, source=first)
            answer = third.ask("GET", "/features/counter/events", Accept="text/event-stream", Prefer="problem", **forged)
            assert answer.status == 429, f"a third stream of {first} got {answer.status}"
            for origin, status in (("https://mvi.example.com", 202), ("https://other.example", 403)):
                answer = third.ask("POST", "/features/counter/intents", {"type": "increment"}, Origin=origin)
                assert answer.status == status, f"an intent from {origin} got {answer.status}: {answer.body}"
            for way in (*ways, third):
                way.close()
        print("addresses                 each client counts by its own, forged fields do not; Host and Origin arrive")
    finally:
        proxy.close()


def away(kind, server, proxy, certificate):
    """While the server is away a stream gets a 200 that ends and says when to come back, an intent a 503."""
    for protocol in ("1.1", "2"):
        way = Way(f"{kind}, HTTP/{protocol}", proxy.port, certificate, protocol)
        server.kill()
        for attempt in range(5):
            answer = way.ask("GET", "/features/counter/events", Accept="text/event-stream")
            assert answer.status == 200, f"a stream got {answer.status} while the server was away ({attempt})"
            left = answer.body + b"".join(str(event).encode() for event in answer.events)
            assert answer.fields["content-type"].startswith("text/event-stream"), answer.fields
            assert left or answer.events, "nothing said when to come back"
            answer = way.ask("POST", "/features/counter/intents", {"type": "increment"})
            assert answer.status == 503, f"an intent got {answer.status} while the server was away"
            assert answer.fields.get("retry-after"), "a 503 without Retry-After"
        server.start()
        await_("the proxy finds the server again", lambda: way.ask("GET", "/health/live").status == 200, 10)
        way.close()
    print("the server away           streams get a 200 that ends, intents a 503 with Retry-After")
