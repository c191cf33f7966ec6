// Tabs of one browser with several sessions: nothing of one session reaches a store of another one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser, Clock, Page, Sessions, settle, start } from "./support.mjs";

const key = "mvi-client:";

/** Waits for late messages, and the answers to them. */
async function calm({ clock }) {
  for (let round = 0; round < 8; round += 1) await clock.advance();
}

/** A browser and a function that opens tabs in it. Each tab records what its store gets. */
function world(order) {
  const shared = { browser: new Browser(order), server: new Sessions(), clock: new Clock() };
  const open = async (kind, { user, duplicates, tab = shared.browser.tab({ duplicates }), ...options } = {}) => {
    const credential = kind === "cookie" ? kind : "bearer";
    const setup = start({ ...shared, tab, page: new Page(), credential, storage: tab[kind], ...options });
    const { client } = setup;
    const store = client.store("counter");
    // The session of the tab's credential, not what the client says of it. Scripts cannot read the cookie.
    const own = () => tab[kind] ? shared.server.of(tab[kind].getItem(key))?.id : client.session;
    const seen = { states: [], labels: [] };
    store.subscribe(() => { if (store.state) seen.states.push([own(), store.state.of]); });
    store.onLabel((label) => seen.labels.push([own(), label.of]));
    if (user) await client.signIn(user);
    await calm(shared);
    return { ...setup, store, seen, storage: tab[kind] };
  };
  return { ...shared, open };
}

const openStreams = (server) => server.streams.filter(({ isOpen }) => isOpen);

/** Sends in each tab; then every state and label of a store is of the session that its tab had, and so is each intent. */
async function checkOwn(all, ...tabs) {
  for (const { client, store } of tabs) {
    const before = store.state;
    assert.equal(before?.of, client.session);
    const { session } = await store.send({ type: "add", amount: 1 });
    await calm(all);
    assert.equal(session, client.session, "the intent ran in the tab's session");
    assert.deepEqual(store.state, { of: session, count: before.count + 1 });
    assert.deepEqual(await client.request("GET", "/features/counter/state"), store.state, "it is the credential's state");
  }
  for (const { seen } of tabs) {
    assert.ok(seen.labels.length > 0);
    for (const [session, of] of [...seen.states, ...seen.labels]) assert.equal(of, session);
  }
}

for (const kind of ["sessionStorage", "memory"]) {
  for (const [name, one, two] of [["two anonymous", null, null], ["two users'", "ann", "bob"], ["a user's and an anonymous", "ann", null],
    ["one user's", "ann", "ann"]]) {
    test(`tabs with ${name} tokens of their own each have their own stream (${kind})`, async () => {
      const all = world();
      const a = await all.open(kind, { user: one });
      const b = await all.open(kind, { user: two });
      assert.notEqual(a.client.session, b.client.session);
      assert.equal(openStreams(all.server).length, 2);
      await checkOwn(all, a, b);
    });
  }
}

test("tabs that start with tokens of their own in storage have their own streams", async () => {
  const all = world();
  const a = await all.open("sessionStorage", { user: "ann" });
  const b = await all.open("sessionStorage", { user: "bob" });
  const reloaded = [];
  for (const { tab, client } of [a, b]) {
    client.close();
    reloaded.push(await all.open("sessionStorage", { tab }));
  }
  assert.equal(openStreams(all.server).length, 2);
  await checkOwn(all, ...reloaded);
});

for (const kind of ["cookie", "localStorage"]) {
  test(`tabs with one credential share its stream (${kind})`, async () => {
    const all = world();
    const a = await all.open(kind);
    const b = await all.open(kind);
    assert.equal(a.client.session, b.client.session);
    assert.equal(openStreams(all.server).length, 1);
    await checkOwn(all, a, b);
  });

  test(`a sign-in in one tab is followed by the others (${kind})`, async () => {
    const all = world();
    const tabs = [await all.open(kind), await all.open(kind), await all.open(kind)];
    for (const { client } of tabs.slice(0, 1)) await client.signIn("ann");
    await all.clock.advance();
    assert.equal(openStreams(all.server).length, 1);
    await checkOwn(all, ...tabs);
  });

  test(`a sign-in in a tab without the stream is followed by the others (${kind})`, async () => {
    const all = world();
    const tabs = [await all.open(kind), await all.open(kind), await all.open(kind)];
    await tabs[2].client.signIn("ann");
    await all.clock.advance();
    assert.equal(openStreams(all.server).length, 1);
    await checkOwn(all, ...tabs);
  });

  // What is late: nothing, the news of credentials, or the events.
  for (const [late, isLate] of [["nothing", () => false], ["news", (name) => name === key], ["events", (name) => name !== key]]) {
    test(`a sign-out in one tab empties all; then another user signs in there (${kind}, late: ${late})`, async () => {
      const all = world({ isLate });
      const [a, b] = [await all.open(kind, { user: "ann" }), await all.open(kind)];
      const anns = a.client.session;
      assert.equal(b.client.session, anns);
      await b.client.endSession();
      await calm(all);
      for (const { client, store } of [a, b]) {
        assert.equal(client.condition, "ended");
        assert.equal(store.state, undefined);
        assert.equal(store.status, "loading");
      }
      await b.client.signIn("bob");
      await calm(all);
      assert.notEqual(b.client.session, anns);
      assert.equal(openStreams(all.server).length, 1);
      await checkOwn(all, a, b);
    });
  }

  test(`when the leader crashes, a tab with its credential continues (${kind})`, async () => {
    const all = world();
    const [a, b] = [await all.open(kind), await all.open(kind)];
    const { session } = a.client;
    const [old] = all.server.streams;
    a.tab.crash();
    await all.clock.advance();
    assert.equal(old.isOpen, false);
    assert.equal(openStreams(all.server).length, 1);
    assert.equal(b.client.session, session);
    await checkOwn(all, b);
  });
}

test("a sign-in in one tab leaves tabs with other tokens as they are", async () => {
  const all = world();
  const [a, b] = [await all.open("sessionStorage"), await all.open("sessionStorage")];
  const { session } = b.client;
  await a.client.signIn("ann");
  await all.clock.advance();
  assert.equal(b.client.session, session);
  assert.equal(openStreams(all.server).length, 2);
  await checkOwn(all, a, b);
});

test("a sign-out in one tab leaves tabs with other tokens as they are", async () => {
  const all = world();
  const [a, b] = [await all.open("sessionStorage", { user: "ann" }), await all.open("sessionStorage", { user: "bob" })];
  await a.client.endSession();
  await all.clock.advance();
  assert.equal(a.store.state, undefined);
  assert.equal(b.client.condition, "live");
  await checkOwn(all, b);
  await b.client.endSession();
  await all.clock.advance();
  await a.client.signIn("cleo");
  await all.clock.advance();
  assert.equal(b.client.condition, "ended");
  assert.equal(b.store.state, undefined);
  await checkOwn(all, a);
});

test("when a leader crashes, tabs with other tokens do not lead for its group", async () => {
  const all = world();
  const [a, b] = [await all.open("sessionStorage", { user: "ann" }), await all.open("sessionStorage", { user: "bob" })];
  a.tab.crash();
  await all.clock.advance(60_000);
  assert.equal(openStreams(all.server).length, 1);
  await checkOwn(all, b);
});

test("a duplicated tab shares the stream; after a sign-in there, each has its own", async () => {
  const all = world();
  const a = await all.open("sessionStorage");
  const b = await all.open("sessionStorage", { duplicates: a.tab });
  assert.equal(openStreams(all.server).length, 1);
  await checkOwn(all, a, b);
  await b.client.signIn("ann");
  await all.clock.advance(5_000);
  assert.equal(b.client.condition, "live");
  assert.equal(a.client.condition, "ended", "the server has replaced its token");
  assert.equal(a.store.state, undefined);
  await checkOwn(all, b);
  await a.store.send({ type: "add", amount: 1 });
  await all.clock.advance();
  await checkOwn(all, a, b);
});

test("tabs that open at the same time without a token share one session", async () => {
  const all = world();
  const [a, b] = await Promise.all([all.open("localStorage"), all.open("localStorage")]);
  assert.equal(all.server.asked("POST /sessions").length, 1);
  assert.equal(openStreams(all.server).length, 1);
  await checkOwn(all, a, b);
});

test("an intent that finds the token replaced by another tab runs with the stored one", async () => {
  const all = world();
  const [a, b] = [await all.open("localStorage"), await all.open("localStorage")];
  a.tab.isFrozen = true;
  await b.client.signIn("ann");
  assert.equal((await a.store.send({ type: "add", amount: 1 })).session, b.client.session);
  a.tab.isFrozen = false;
  assert.equal((await a.client.request("GET", "/features/counter/state")).of, b.client.session);
  await all.clock.advance(60_000);
  await checkOwn(all, a, b);
});

test("a request of an ended session is not made in the next user's", async () => {
  const all = world();
  const [a, b] = [await all.open("localStorage", { user: "ann" }), await all.open("localStorage")];
  a.tab.isFrozen = true;
  await b.client.endSession();
  await b.client.signIn("bob");
  const asked = a.client.request("POST", "/features/counter/intents", { body: { amount: 5 } });
  await assert.rejects(asked, { kind: "session-ended" });
  assert.equal((await b.client.request("GET", "/features/counter/state")).count, 0);
});

test("a request that finds the token replaced by another tab is made with the stored one", async () => {
  const all = world();
  const [a, b] = [await all.open("localStorage"), await all.open("localStorage")];
  a.tab.isFrozen = true;
  await b.client.signIn("ann");
  assert.equal((await a.client.request("GET", "/features/counter/state")).of, b.client.session);
});

for (const isAsked of [false, true]) test(`the cookie of another session, from elsewhere, moves all tabs (known: ${isAsked})`, async () => {
  // The tab without the stream learns of it from the stream.
  const all = world({ isLate: (name) => name === key });
  const [a, b] = [await all.open("cookie"), await all.open("cookie")];
  await checkOwn(all, a, b);
  const { session } = a.client;
  const elsewhere = start({ ...all, page: new Page(), share: false });
  await elsewhere.client.request("POST", "/sessions", { body: { credential: "cookie", identity: "bob" } });
  if (isAsked) await assert.rejects(a.store.send({ type: "add", amount: 1 }), { kind: "other-session" });
  else await all.server.stream.end();
  await all.clock.advance(5_000);
  await calm(all);
  assert.notEqual(a.client.session, session);
  assert.equal(b.client.session, a.client.session);
  assert.equal(openStreams(all.server).length, 1);
  await checkOwn(all, a, b);
});

test("a tab that replaces a lost session does not begin at its cursor", async () => {
  const all = world();
  const [a, b] = [await all.open("localStorage"), await all.open("localStorage")];
  const { session } = a.client;
  all.server.lose(b.storage.getItem(key));
  await b.client.request("GET", "/features/counter/state");
  await calm(all);
  assert.notEqual(b.client.session, session);
  assert.equal(openStreams(all.server).filter((stream) => stream.session !== session).length, 1);
  assert.equal(all.server.stream.request.headers["Last-Event-ID"], undefined);
  await checkOwn(all, a, b);
});

test("a stream of a replacement does not begin at the lost session's cursor", async () => {
  const all = world();
  const a = await all.open("sessionStorage");
  all.server.lose(a.storage.getItem(key));
  const [old] = all.server.streams;
  await old.end();
  await all.clock.advance(5_000);
  assert.notEqual(all.server.stream.session, old.session);
  assert.equal(all.server.stream.request.headers["Last-Event-ID"], undefined);
  await checkOwn(all, a);
});

test("a tab that was parked during a sign-in in another one has its session after that", async () => {
  const all = world();
  const [a, b] = [await all.open("localStorage"), await all.open("localStorage")];
  await b.page.fire(b.page.document, "freeze");
  b.tab.isFrozen = true;
  await a.client.signIn("ann");
  await all.clock.advance();
  b.tab.isFrozen = false;
  await b.page.fire(b.page.document, "resume");
  await all.clock.advance(5_000);
  await b.store.send({ type: "add", amount: 1 }).catch(() => {});
  await all.clock.advance(5_000);
  await checkOwn(all, a, b);
});

test("messages of another session change nothing", async () => {
  const all = world();
  const [a, b] = [await all.open("cookie"), await all.open("cookie")];
  await checkOwn(all, a, b);
  const { BroadcastChannel } = all.browser.tab();
  const conditions = [];
  for (const { client } of [a, b]) client.onCondition(() => conditions.push(client.condition));
  const before = [a.store.state, b.store.state, b.seen.labels.length, b.client.session];
  const events = [
    ["hello", { session: "x", epoch: "e1", heartbeat: 20 }], ["state", { feature: "counter", version: 90, state: { of: "x" } }],
    ["label", { feature: "counter", id: "x.1", label: { of: "x" } }], ["condition", { condition: "ended", session: "x" }],
  ];
  for (const name of all.browser.names) {
    const channel = new BroadcastChannel(name);
    for (const event of events) channel.postMessage({ type: "events", session: "x", epoch: "e1", events: [event], cursor: "x" });
    channel.postMessage({ type: "events", session: a.client.session, epoch: "e0", events: [events[1], events[2]], cursor: "x" });
    channel.postMessage({ type: "order", session: "x", epoch: "e1", what: "ended" });
    channel.postMessage({ id: "x", user: "", group: "x" });
    await settle();
  }
  await all.clock.advance();
  assert.deepEqual([a.store.state, b.store.state, b.seen.labels.length, b.client.session], before);
  assert.deepEqual(conditions.filter((condition) => condition !== "live"), []);
  await checkOwn(all, a, b);
});

test("an old session's last events reach no tab that is in the next one", async () => {
  const all = world();
  const [a, b] = [await all.open("cookie", { user: "ann" }), await all.open("cookie")];
  const [stream] = all.server.streams;
  await stream.send("ping", {});
  a.tab.isFrozen = true;
  await b.client.endSession();
  await b.client.signIn("bob");
  a.tab.isFrozen = false;
  await all.clock.advance(30_000);
  await checkOwn(all, b);
  for (const [session, of] of b.seen.states) assert.equal(of, session);
});

test("names of locks and channels do not contain the token", async () => {
  const all = world();
  const tabs = [await all.open("sessionStorage"), await all.open("sessionStorage")];
  const tokens = tabs.map(({ storage }) => storage.getItem(key));
  const names = [...all.browser.names];
  assert.ok(names.length >= 6);
  for (const token of tokens) assert.ok(names.every((name) => !name.includes(token)));
});

test("a request names its session, and another one refuses it", async () => {
  const all = world();
  const a = await all.open("cookie", { share: false });
  const { session } = a.client;
  await start({ ...all, page: new Page(), share: false }).client.request("POST", "/sessions", { body: { credential: "cookie", identity: "bob" } });
  await assert.rejects(a.client.request("POST", "/features/counter/intents", { body: { amount: 5 } }), { kind: "other-session" });
  assert.equal(all.server.requests.findLast(({ kind }) => kind === "POST /features/counter/intents").headers["MVI-Session"], session);
  await all.clock.advance();
  await checkOwn(all, a);
});

test("a signed-out tab shows nothing, and the same user's state after the next sign-in", async () => {
  const all = world();
  const a = await all.open("sessionStorage", { user: "ann" });
  const b = await all.open("sessionStorage", { duplicates: a.tab });
  const kept = a.store.state;
  all.server.answer("GET /events", () => new Response(null, { status: 401, headers: {} }));
  await all.server.stream.end();
  await all.clock.advance(5_000);
  for (const { client, store } of [a, b]) {
    assert.equal(client.condition, "signedOut");
    assert.equal(store.state, undefined);
    assert.equal(store.confirmed, undefined);
  }
  await a.client.signIn("ann");
  await all.clock.advance();
  assert.equal(a.client.condition, "live");
  assert.deepEqual(kept.count, a.store.state.count);
});

test("a sign-in waits for the answer of a request that may set the older cookie", async () => {
  const all = world();
  const a = await all.open("cookie");
  let answer;
  all.server.answer("POST /sessions", () => new Promise((resolve) => { answer = resolve; }));
  const b = start({ ...all, tab: all.browser.tab(), page: new Page(), credential: "cookie" });
  const asked = b.client.request("GET", "/sessions/current");
  b.client.store("counter").subscribe(() => {});
  await calm(all);
  // The other tab has said which session it is; the own request is unanswered.
  assert.equal(b.client.session, a.client.session);
  const signedIn = b.client.signIn("ann");
  await calm(all);
  const puts = () => all.server.asked("PUT /sessions/current/identity").length;
  assert.equal(puts(), 0);
  answer(Response.json({ id: a.client.session }, { status: 200 }));
  await Promise.all([signedIn, asked]);
  assert.equal(puts(), 1);
});
