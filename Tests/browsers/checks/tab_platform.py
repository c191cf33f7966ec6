"""Facts on tabs that the doubles of Clients/JavaScript/tests/support.mjs imitate; each double names its check."""

_HOLD = """async (name) => {
  window.stolen = new Promise((resolve) => {
    navigator.locks.request(name, () => new Promise(() => {})).catch((error) => resolve(error.name));
  });
  while (!(await navigator.locks.query()).held.some((lock) => lock.name === name)) await new Promise((next) => setTimeout(next));
}"""
# Begins a request; `result` waits for what it became.
_ASK = """(name, steal) => {
  window.granted = new Promise((resolve) => {
    navigator.locks.request(name, steal ? { steal } : {}, () => {
      resolve("granted");
      return new Promise(() => {});
    });
  });
}"""
_REFUSED = """async (name) => {
  const outcome = (request) => request.then((value) => value, (error) => error.name);
  const controller = new AbortController();
  const waiting = outcome(navigator.locks.request(name, { signal: controller.signal }, () => {}));
  // Chromium loses an abort in the task of the request, which is granted later.
  while (!(await navigator.locks.query()).pending.some((lock) => lock.name === name)) await new Promise((next) => setTimeout(next));
  controller.abort();
  const { signal } = new AbortController();
  const both = outcome(navigator.locks.request(name, { steal: true, signal }, () => {}));
  const held = new AbortController();
  const holding = outcome(navigator.locks.request(`${name} more`, { signal: held.signal }, async () => {
    held.abort();
    return "held";
  }));
  return [await waiting, await both, await holding];
}"""
_LISTEN = """() => {
  window.heard = [];
  window.channel = new BroadcastChannel("checks");
  window.message = new Promise((resolve) => {
    channel.onmessage = ({ data }) => {
      heard.push(data);
      if (data === "last") resolve(heard);
    };
  });
}"""
_SAY = """() => {
  const refusal = (call) => { try { call(); } catch (error) { return error.name; } };
  const refused = refusal(() => channel.postMessage({ call() {} }));
  channel.postMessage({ date: new Date(5), none: undefined });
  channel.postMessage("last");
  const other = new BroadcastChannel("checks");
  other.close();
  return [refused, refusal(() => other.postMessage("closed")), heard.length];
}"""
_OPEN = """async () => {
  sessionStorage.setItem("key", "first");
  const other = open("/");
  // Blocked without a click, in Firefox and WebKit.
  if (!other) return "blocked";
  await new Promise((resolve) => { other.onload = resolve; });
  const copied = other.sessionStorage.getItem("key");
  other.sessionStorage.setItem("key", "second");
  other.close();
  return [copied, sessionStorage.getItem("key")];
}"""


def _tabs(visit):
    url = visit.front().url
    tabs = visit.tab(), visit.tab()
    for tab in tabs:
        tab.goto(url)
    return tabs


def storages(visit):
    first, second = _tabs(visit)
    first.run("() => { for (const each of [localStorage, sessionStorage]) each.setItem('key', 5); }")
    read = "() => [localStorage, sessionStorage].map((each) => each.getItem('key'))"
    assert first.run(read) == ["5", "5"], first.run(read)
    assert second.run(read) == ["5", None], second.run(read)
    opened = first.result(_OPEN)
    assert opened in ("blocked", ["first", "first"]), opened


def locks(visit):
    first, second = _tabs(visit)
    first.result(_HOLD, "one")
    assert second.result(_REFUSED, "one") == ["AbortError", "NotSupportedError", "held"]
    second.run(_ASK, "one", True)
    assert second.result("() => granted") == "granted"
    assert first.result("() => stolen") == "AbortError"


def closed(visit):
    _gone(visit, lambda tab: (visit.tabs.remove(tab), tab.close()))


def crashed(visit):
    _gone(visit, visit.crash)


def _gone(visit, end):
    first, second = _tabs(visit)
    first.result(_HOLD, "one")
    second.run(_ASK, "one", False)
    waiting = second.result("async () => (await navigator.locks.query()).pending.map(({ name }) => name)")
    assert waiting == ["one"], waiting
    end(first)
    assert second.result("() => granted") == "granted"


def messages(visit):
    first, second = _tabs(visit)
    for tab in (first, second):
        tab.run(_LISTEN)
    assert first.run(_SAY) == ["DataCloneError", "InvalidStateError", 0], "what is refused, and heard by the sender"
    second.result("() => message")
    assert second.run("() => [heard.length, heard[0].date.getTime(), 'none' in heard[0]]") == [2, 5, True]


CHECKS = {
    "tabs have a sessionStorage each and one localStorage": storages,
    "a lock has one holder, can be stolen, and a signal ends a request that waits": locks,
    "a closed tab's locks pass on": closed,
    "a crashed tab's locks pass on": crashed,
    "a message between tabs is a structured clone": messages,
}
