"""How many streams a real browser has at once: six over HTTP/1.1, all over HTTP/2."""

import pathlib
import sys

from processes import Failure, await_

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Tests" / "browsers"))

from engines.chromium import Chromium  # noqa: E402: the path is known now

_WANTED = 12
_OPEN = """(count, warming) => {
  window.sources = [];
  window.live = new Set();
  const post = fetch("/sessions", { method: "POST", headers: { "Content-Type": "application/json" },
    body: '{"credential":"cookie"}' });
  const pause = () => new Promise((done) => setTimeout(done, 150));
  post.then(async () => {
    for (let place = 0; place < warming; place += 1) await Promise.all([fetch("/health/live"), pause()]);
    for (let place = 0; place < count; place += 1) {
      const source = new EventSource("/features/counter/events");
      source.addEventListener("hello", () => live.add(place));
      sources.push(source);
    }
  });
}"""


def connections(server, proxies):
    """`proxies` are those that are tried. Over HTTP/1.1 the server is asked directly."""
    browser = Chromium(flags=["--ignore-certificate-errors"])
    try:
        tab = _page(browser, f"http://127.0.0.1:{server.port}/")
        await_("six streams are live", lambda: tab.run("() => live.size") == 6)
        # The seventh waits: it becomes live when one of the six is closed, and the next one with the next.
        for closed in range(_WANTED - 6):
            assert tab.run("() => live.size") == 6 + closed, "more than six streams at once"
            tab.run("() => { const place = [...live].find((each) => sources[each]); sources[place].close(); "
                    "sources[place] = null; }")
            await_("the next stream is live", lambda wanted=7 + closed: tab.run("() => live.size") == wanted)
        tab.close()
        print(f"{_WANTED} streams, HTTP/1.1      6 at once; each of the others when one before it is closed")
        for proxy in proxies:
            # Apache begins a connection with six requests at once, and doubles that, at most each 100 ms, when one ends.
            warming = 3 if proxy.kind == "apache" else 0
            tab = _page(browser, f"https://127.0.0.1:{proxy.port}/", warming)
            try:
                await_(f"all {_WANTED} streams are live", lambda: tab.run("() => live.size") == _WANTED)
            except Failure as reason:
                raise Failure(f"through {proxy.kind} only {tab.run('() => live.size')} are live: {reason}") from reason
            protocols = tab.run("""() => [...new Set(performance.getEntriesByType("resource")
                .map((entry) => entry.nextHopProtocol).filter((protocol) => protocol !== ""))]""")
            assert protocols == ["h2"], f"the browser spoke {protocols}"
            tab.close()
            print(f"{_WANTED} streams, HTTP/2        all at once through {proxy.kind}"
                  + (f", after {warming} requests that ended" if warming else ""))
    finally:
        browser.close()


def _page(browser, url, warming=0):
    tab = browser.new_tab()
    # The page itself, without the stream that its script opens.
    browser.driver.execute_cdp_cmd("Network.enable", {})
    browser.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/app.js", "*/client.js"]})
    tab.goto(url)
    tab.run(_OPEN, _WANTED, warming)
    return tab
