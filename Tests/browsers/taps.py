"""Measures taps in Chromium over a slow network that loses answers: script/browsers --taps.

Prints how long a tap takes until the document shows it and until the server has confirmed it, how late the change of
another writer is shown, and what ten taps without a network become.
"""

import argparse
import http.client
import queue
import random
import socket
import statistics
import threading
import time

from deadline import until
from engines import ENGINES
from screen import Screen
from server import Server

DELAY = 0.15  # seconds, each way
LOST = 0.1  # the share of intents whose connection ends instead of an answer

# Clicks, and notes the milliseconds until the count is shown and until nothing is sent any more.
TAP = """(expected) => {
  window.tap = null;
  const card = document.querySelector("[data-feature=counter]");
  let shown;
  const look = () => {
    if (!shown && card.querySelector(".count")?.textContent === expected) shown = performance.now() - since;
    if (shown && !card.hasAttribute("data-pending")) {
      observer.disconnect();
      window.tap = [shown, performance.now() - since];
    }
  };
  const observer = new MutationObserver(look);
  observer.observe(card, { childList: true, subtree: true, characterData: true, attributes: true });
  const since = performance.now();
  card.querySelector("[aria-label=Increment]").click();
  look();
}"""

# Notes when the count passes each thousand, as another writer's additions have it do.
WATCH = """() => {
  window.thousands = [];
  new MutationObserver(() => {
    const now = Math.floor(Number(document.querySelector("[data-feature=counter] .count")?.textContent) / 1000);
    while (window.thousands.length < now) window.thousands.push(Date.now());
  }).observe(document.querySelector("[data-feature=counter]"), { childList: true, subtree: true, characterData: true });
}"""


class SlowRelay:
    """Passes TCP connections on, each byte after a delay. Ends some connections instead of passing an answer on."""

    def __init__(self, server):
        self._server = server
        self.cookie = None
        self.isCut = False
        self._ends = set()
        self._random = random.Random(1)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        self.isCut = True
        for end in list(self._ends):
            self._shut(end)

    def mend(self):
        self.isCut = False

    def _accept(self):
        while True:
            near, _ = self._listener.accept()
            if self.isCut:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._server.port))
            self._ends |= {near, far}
            state = {"loses": False}
            for source, target, is_request in ((near, far, True), (far, near, False)):
                waiting = queue.Queue()
                threading.Thread(target=self._read, args=(source, waiting, is_request, state), daemon=True).start()
                threading.Thread(target=self._write, args=(target, source, waiting, is_request, state), daemon=True).start()

    def _read(self, source, waiting, is_request, state):
        try:
            while data := source.recv(65536):
                if is_request:
                    for line in data.split(b"\r\n"):
                        if line.lower().startswith(b"cookie:"):
                            self.cookie = line.split(b":", 1)[1].strip().decode()
                    if b"/intents HTTP" in data and self._random.random() < LOST:
                        state["loses"] = True
                waiting.put((time.monotonic() + DELAY, data))
        except OSError:
            pass
        waiting.put((time.monotonic() + DELAY, None))

    def _write(self, target, source, waiting, is_request, state):
        while True:
            due, data = waiting.get()
            time.sleep(max(0, due - time.monotonic()))
            if data is None or (state["loses"] and not is_request):
                self._shut(target)
                self._shut(source)
                return
            try:
                target.sendall(data)
            except OSError:
                self._shut(source)
                return

    def _shut(self, end):
        self._ends.discard(end)
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def tap(screen, number):
    screen.tab.run(TAP, str(number))
    return until(f"tap {number} is confirmed", lambda: screen.tab.run("() => window.tap"))


def figures(name, milliseconds):
    ranked = sorted(milliseconds)
    print(f"{name:44} p50 {statistics.median(ranked):7.1f} ms   p99 {ranked[int(len(ranked) * 0.99)]:7.1f} ms   n {len(ranked)}")


def add_thousand(server, cookie):
    """Another writer's change, without the slow network."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("POST", "/features/counter/intents", '{"type":"add","amount":1000}',
                       {"Content-Type": "application/json", "Cookie": cookie})
    assert connection.getresponse().status == 202


def others(server, relay, screen, count, taps):
    """The milliseconds until the changes of another writer are shown, beside own taps or without."""
    screen.tab.run(WATCH)
    begin, sent = screen.count() // 1000, []
    screen.tab.run("(count) => { window.thousands = Array(count).fill(0); }", begin)
    for _ in range(count):
        sent.append(time.time() * 1000)
        add_thousand(server, relay.cookie)
        for _ in range(taps):
            screen.tab.run("() => document.querySelector('[data-feature=counter] [aria-label=Increment]').click()")
        time.sleep(0.7)
    until("all changes are shown", lambda: screen.count() // 1000 >= begin + count)
    shown = screen.tab.run("() => window.thousands")[begin:]
    screen.sent("Counter")
    return [after - before for after, before in zip(shown, sent)]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--server", required=True)
    options.add_argument("--taps", type=int, default=200)
    options.add_argument("--offline", type=float, default=60, help="seconds without a network")
    given = options.parse_args()
    server, browser = Server(given.server), None
    try:
        server.start()
        relay = SlowRelay(server)
        browser = ENGINES["chromium"]()
        screen = Screen(browser.new_tab()).open(relay.url)
        screen.shows("Counter", "0")
        times = [tap(screen, number + 1) for number in range(given.taps)]
        figures("tap to changed document", [shown for shown, _ in times])
        figures("tap to confirmed state (without predictions)", [confirmed for _, confirmed in times])
        figures("another writer's change, no taps", others(server, relay, screen, 30, 0))
        figures("another writer's change, two taps at once", others(server, relay, screen, 30, 2))

        begin = screen.count()
        relay.cut()
        browser.set_offline(screen.tab, True)
        screen.not_live()
        for _ in range(10):
            screen.button("Increment", "Counter")
        screen.shows("Counter", str(begin + 10))
        time.sleep(given.offline)
        relay.mend()
        browser.set_offline(screen.tab, False)
        screen.live().sent("Counter").shows("Counter", str(begin + 10))
        print(f"ten taps during {given.offline:.0f} s without a network: shown at once, each counted once")
    finally:
        if browser:
            browser.close()
        server.close()


main()
