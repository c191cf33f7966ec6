"""Two tabs with every kind of credential: no state, label or intent of one session reaches a store of another one."""

from deadline import until
from identities import jwt

KINDS = ("cookie", "localStorage", "sessionStorage", "memory")
# Tabs have the same credential: the cookie, or a token in the storage of all.
SHARED = ("cookie", "localStorage")

# `own` asks with the tab's credential: no stream and no other tab has a part in its answer.
_BEGIN = """(kind) => {
  const client = createClient({
    credential: kind === "cookie" ? "cookie" : "bearer", storage: { localStorage, sessionStorage }[kind],
  });
  const store = client.store("counter");
  const got = [];
  store.subscribe(() => { if (store.state) got.push([client.session, store.state.count]); });
  store.onLabel(({ count }) => got.push([client.session, count, "label"]));
  const own = async () => {
    const [{ id }, { count }] = await Promise.all(
      ["/sessions/current", "/features/counter/state"].map((path) => client.request("GET", path)));
    return [id, count];
  };
  // Looks after each event; the time is the bound of a hang.
  const until = (what, isTrue) => new Promise((resolve, reject) => {
    const ends = [];
    const over = (call, value) => {
      ends.forEach((end) => end());
      call(value);
    };
    const look = () => { if (isTrue()) over(resolve); };
    const timer = setTimeout(() => over(reject, new Error(
      `${what}, but it is ${JSON.stringify([client.condition, client.session, store.state, got])}`)), 45_000);
    ends.push(client.onEvent(look), client.onCondition(look), store.subscribe(look), () => clearTimeout(timer));
    look();
  });
  const settled = async () => {
    const [session, count] = await own();
    await until(`the tab shows ${count} of its own session ${session}`,
      () => client.condition === "live" && client.session === session && store.state?.count === count);
    return session;
  };
  Object.assign(window, { client, store, got, until, settled });
}"""

_ADD = """async (amount) => {
  await settled();
  const count = store.state.count + amount;
  const { session } = await store.send({ type: "add", amount });
  await until("the intent's state and label are there", () => store.state?.count === count
    && got.some(([of, at, label]) => label && of === session && at === count));
  return [session, await settled(), count];
}"""

_LOOK = """async (kind) => [got, globalThis[kind]?.getItem("mvi-client:") ?? null,
  (await navigator.locks.query()).held.map(({ name }) => name).filter((name) => name.startsWith("mvi-client"))]"""


class _Origin:
    """An origin with tabs of one kind, and what each session has had."""

    def __init__(self, visit, kind):
        self.visit, self.kind, self.url = visit, kind, visit.front().url
        self.is_shared = kind in SHARED
        # By session, the counts that its states may have.
        self.counts = {}

    def tab(self, user=None):
        tab = self.visit.tab()
        tab.goto(self.url)
        until("the client is loaded", lambda: tab.run("() => Boolean(window.createClient)"))
        tab.run(_BEGIN, self.kind)
        if user:
            self.sign_in(tab, user)
        return tab

    def settled(self, tab):
        """The session of the tab's credential, when the tab shows its state."""
        session = tab.result("() => settled()")
        self.counts.setdefault(session, {0})
        return session

    def sign_in(self, tab, user):
        tab.result("(identity) => client.signIn(identity)", jwt(user))
        return self.settled(tab)

    def sign_out(self, tab):
        tab.result("() => client.endSession()")
        self.signed_out(tab)

    def signed_out(self, tab):
        tab.result("""() => until("the tab is signed out and empty",
          () => client.condition === "ended" && store.state === undefined)""")

    def add(self, tab, amount):
        """Sends an intent in the tab, and waits until its state and its label are there."""
        self.settled(tab)
        sent, shown, count = tab.result(_ADD, amount)
        assert sent == shown, f"{self.kind}: an intent of session {shown} ran in {sent}"
        self.counts[sent].add(count)

    def check(self, *tabs, groups=None):
        """Sends in each tab. Then compares all that the tabs got with what their sessions had."""
        for place, tab in enumerate(tabs):
            self.add(tab, 10 * 100 ** place)
        sessions = {self.settled(tab) for tab in tabs}
        assert len(sessions) == (1 if self.is_shared else len(tabs)), f"{self.kind}: the sessions are {sessions}"
        seen = [tab.result(_LOOK, self.kind) for tab in tabs]
        for got, token, locks in seen:
            for session, count, *_ in got:
                assert count in self.counts.get(session, ()), f"{self.kind}: {count} came in {session} of {self.counts}"
            assert not token or all(token not in name for name in locks), f"a token is in {locks}"
        leaders = [name for name in seen[0][2] if " tab " not in name]
        expected = 0 if self.kind == "memory" else len(sessions) if groups is None else groups
        assert len(leaders) == expected, f"{self.kind}: {expected} groups have the locks {leaders}"


def _each(check):
    """A check with each kind of credential, in an origin of its own."""
    def run(visit):
        # An ended session and a replaced token are refused once.
        visit.refusals = (401, 404, 409)
        for kind in KINDS:
            before = len(visit.tabs)
            check(_Origin(visit, kind))
            errors = visit.unexpected_errors()
            assert not errors, f"{kind}: errors in the console: {errors}"
            for tab in visit.tabs[before:]:
                visit.tabs.remove(tab)
                tab.close()
    return run


@_each
def two_users(origin):
    first, second = origin.tab("ann"), origin.tab()
    origin.add(first, 1000)
    if origin.is_shared:
        # The browser has one user at a time.
        origin.sign_out(second)
        origin.signed_out(first)
    origin.sign_in(second, "bob")
    origin.check(first, second)


@_each
def signed_in(origin):
    first, second = origin.tab(), origin.tab()
    origin.check(first, second)
    origin.sign_in(second, "ann")
    origin.check(first, second)


@_each
def signed_out(origin):
    first, second = origin.tab("ann"), origin.tab("ann")
    origin.check(first, second)
    origin.sign_out(second)
    if origin.is_shared:
        origin.signed_out(first)
    else:
        # The second tab stays in its group until it has another token.
        origin.check(first, groups=2)
    origin.sign_in(second, "cleo")
    origin.check(first, second)


@_each
def closed(origin):
    def close(tab):
        origin.visit.tabs.remove(tab)
        tab.close()
    _without_first(origin, close)


@_each
def crashed(origin):
    _without_first(origin, origin.visit.crash)


def _without_first(origin, end):
    """The first tab leads, and goes."""
    first, second = origin.tab("ann"), origin.tab("ann" if origin.is_shared else "bob")
    origin.check(first, second)
    session = origin.settled(second)
    end(first)
    origin.check(second)
    assert origin.settled(second) == session, "the session is another one"


CHECKS = {
    "a sign-in in one of two anonymous tabs moves the tabs with its credential only": signed_in,
    "a sign-out in one of a user's two tabs empties the tabs with its credential only": signed_out,
    "two tabs of two users show their own credentials' sessions": two_users,
    "when the leading tab is closed, the tabs with its credential continue": closed,
    "when the leading tab crashes, the tabs with its credential continue": crashed,
}
