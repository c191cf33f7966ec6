// Intents belong to one session: an intent of one user never runs as the next user.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser, Clock, Page, Server, json, live, problem, settle, start, storing } from "./support.mjs";

const path = "POST /features/counter/intents";
const put = "PUT /sessions/current/identity";
const add = (amount) => ({ type: "add", amount });
/** The result of an intent: the session that it ran in, or the reason why it did not run. */
const outcome = (sent) => sent.then(({ session }) => session, ({ name, reason, kind }) => `${name} ${reason ?? kind}`);
const ran = (server) => server.asked(path).map(({ body }) => body.amount);
const replaced = "SendError other-session";

/** A page with ann's session s1 and a cookie; `jwt` is the result of its identity callback. */
async function pageOfAnn(options) {
  const server = new Server();
  server.become("s1", "ann");
  return live({ server, credential: "cookie", identity: () => "ann", ...options });
}

for (const credential of ["bearer", "cookie"]) {
  test(`each intent names its session (${credential})`, async () => {
    const { server, store } = await live({ credential });
    await store.send(add(1));
    await store.send(add(2));
    assert.deepEqual(server.asked(path).map(({ headers }) => headers["MVI-Session"]), ["s1", "s1"]);
  });

  test(`an intent that another session refuses is not repeated, nor are waiting ones sent (${credential})`, async () => {
    const { server, store, clock } = await live({ credential });
    server.answer(path, () => problem(409, "other-session"));
    const sent = [1, 2, 3].map((amount) => outcome(store.send(add(amount))));
    await clock.advance(60_000);
    assert.deepEqual(await Promise.all(sent), ["Problem other-session", replaced, replaced]);
    assert.deepEqual(ran(server), [1]);
    assert.equal((await store.send(add(4))).session, "s1", "the next one runs where the client is now");
    assert.equal(server.asked("POST /sessions").length, 1, "no session was made for it");
  });
}

test("intents that wait offline do not run in the next user's session", async () => {
  const { client, server, store, clock, page } = await pageOfAnn();
  await page.fire(page.window, "offline");
  const sent = [1, 2].map((amount) => outcome(store.send(add(amount))));
  server.become("s2", "bob");
  await page.fire(page.window, "online");
  await clock.advance(1_000);
  const [first, second] = await Promise.all(sent);
  assert.ok([replaced, "Problem other-session"].includes(first), first);
  assert.equal(second, replaced);
  assert.ok(server.asked(path).every(({ headers }) => headers["MVI-Session"] === "s1"));
  assert.equal(server.subject, "bob", "bob's session is as it was");
  await server.stream.hello();
  assert.equal(client.session, "s2");
  assert.equal((await store.send(add(3))).session, "s2");
});

test("the same user's next session is another one", async () => {
  const { server, store, clock } = await pageOfAnn();
  server.become("s2", "ann");
  const sent = [1, 2].map((amount) => outcome(store.send(add(amount))));
  await clock.advance(1_000);
  assert.deepEqual(await Promise.all(sent), ["Problem other-session", replaced]);
});

test("a stream of another session rejects waiting intents before they are sent", async () => {
  const { server, store, clock } = await pageOfAnn();
  server.answer(path, () => problem(503, "busy", { "Retry-After": "20" }));
  const sent = [1, 2].map((amount) => outcome(store.send(add(amount))));
  await settle();
  server.become("s2", "bob");
  await server.stream.send("hello", { session: "s2", epoch: "e2", cursor: "e2.1", heartbeat: 20 }, "e2.1");
  await clock.advance(30_000);
  assert.deepEqual(await Promise.all(sent), [replaced, replaced]);
  assert.deepEqual(ran(server), [1]);
});

test("intents of a lost anonymous session run in its anonymous replacement", async () => {
  const { server, store } = await live();
  server.become(null);
  const sent = [1, 2, 3].map((amount) => outcome(store.send(add(amount))));
  assert.deepEqual(await Promise.all(sent), ["s2", "s2", "s2"]);
  assert.deepEqual(server.asked(path).map(({ headers }) => headers["MVI-Session"]), ["s1", "s2", "s2", "s2"]);
});

for (const [next, expected] of [["ann", ["s2", "s2"]], ["bob", [replaced, replaced]]]) {
  test(`intents of ann's lost session, when ${next} is signed in to the next`, async () => {
    const { server, store } = await live({ identity: () => next });
    server.answer(put, () => json(200, { id: "s1", identity: { issuer: "i", subject: "ann" } }));
    await server.stream.send("identity", { expiresIn: 30 });
    server.become(null);
    server.answer("POST /sessions", () => {
      server.become("s2", next);
      return json(201, { id: "s2", token: "s2", identity: { issuer: "i", subject: next } });
    });
    const sent = [1, 2].map((amount) => outcome(store.send(add(amount))));
    assert.deepEqual(await Promise.all(sent), expected);
    assert.equal((await store.send(add(3))).session, "s2");
    assert.equal(server.asked("POST /sessions").length, 2);
  });
}

test("intents of a lost anonymous session do not run as a signed-in user", async () => {
  const { client, server, store, page } = await live();
  await page.fire(page.window, "offline");
  const sent = outcome(store.send(add(1)));
  server.become(null);
  server.answer("GET /features/counter/state", () => problem(404, "session-not-found"), () => json(200, {}));
  server.answer("POST /sessions", () => problem(401, "identity-required"));
  const asked = client.request("GET", "/features/counter/state");
  await assert.rejects(asked, /No identity/);
  await client.signIn("bob");
  assert.equal(await sent, replaced);
  await page.fire(page.window, "online");
  assert.equal((await store.send(add(2))).session, "s2");
});

test("after an intent finds the session ended, waiting ones are rejected", async () => {
  const { server, store } = await live();
  server.answer(path, () => problem(404, "session-ended"));
  const sent = [1, 2].map((amount) => outcome(store.send(add(amount))));
  assert.deepEqual(await Promise.all(sent), ["Problem session-ended", replaced]);
  assert.equal((await store.send(add(3))).session, "s2");
});

test("a waiting end of the session does not end the next user's", async () => {
  const { client, server, page, clock } = await pageOfAnn();
  await page.fire(page.window, "offline");
  const ended = client.endSession();
  server.become("s2", "bob");
  await page.fire(page.window, "online");
  await clock.advance(1_000);
  await ended;
  assert.equal(server.session, "s2");
  assert.ok(server.asked("DELETE /sessions/current").every(({ headers }) => headers["MVI-Session"] === "s1"));
});

test("an identity is not sent for another tab's session", async () => {
  const { client, server } = await live({ credential: "cookie" });
  server.become("s2");
  await assert.rejects(client.signIn("ann"), { status: 409, kind: "other-session" });
  assert.equal(server.asked(put)[0].headers["MVI-Session"], "s1");
});

test("a token that another tab stored does not run earlier intents of this tab", async () => {
  const { values, storage } = storing([["mvi-client:", "ann's"]]);
  const server = new Server();
  server.become("bob's", "bob");
  const { client, page, clock } = start({ server, storage });
  await page.fire(page.window, "offline");
  const sent = outcome(client.store("counter").send(add(1)));
  values.set("mvi-client:", "bob's");
  await page.fire(page.window, "online");
  await clock.advance(1_000);
  assert.equal(await sent, replaced);
  assert.deepEqual(ran(server), []);
});

test("a stored token of another user is not used for waiting intents", async () => {
  const { values, storage } = storing();
  const { server, store } = await live({ storage });
  server.become("bob's", "bob");
  values.set("mvi-client:", "bob's");
  const sent = [1, 2].map((amount) => outcome(store.send(add(amount))));
  assert.deepEqual(await Promise.all(sent), [replaced, replaced]);
  assert.equal((await store.send(add(3))).session, "bob's");
});

// ---------------------------------------------------------------- signing in

/** An anonymous page whose server signs it in. */
async function anonymous() {
  const setup = await live();
  setup.server.answer(put, () => {
    Object.assign(setup.server, { session: "signed-in", id: "s1", subject: "ann" });
    return json(200, { id: "s1", token: "signed-in", identity: { issuer: "i", subject: "ann" } });
  });
  return setup;
}

test("signing in keeps waiting intents, and does not mention stores", async () => {
  const { client, server, store, page } = await anonymous();
  await page.fire(page.window, "offline");
  const sent = outcome(store.send(add(1)));
  await client.signIn("jwt");
  assert.deepEqual(server.asked(put).map(({ body }) => body), [{ identity: "jwt" }]);
  await page.fire(page.window, "online");
  assert.equal(await sent, "s1");
});

test("signing in without keeping the stores says so and rejects waiting intents; later ones run after it", async () => {
  const { client, server, store, page, clock } = await anonymous();
  await page.fire(page.window, "offline");
  const before = outcome(store.send(add(1)));
  const signedIn = client.signIn("jwt", { keep: false });
  const after = outcome(store.send(add(2)));
  await signedIn;
  assert.deepEqual(server.asked(put).map(({ body }) => body), [{ identity: "jwt", keep: false }]);
  await clock.advance(1_000);
  assert.equal(await before, replaced);
  await page.fire(page.window, "online");
  assert.equal(await after, "s1");
  assert.deepEqual(ran(server), [2]);
  assert.equal(server.asked(path)[0].headers.Authorization, "Bearer signed-in");
});

test("a sign-in whose answer was lost is repeated unchanged", async () => {
  const { client, server } = await live();
  server.answer(put, () => Promise.reject(new TypeError("network")), ...Array(2).fill(() => json(200, {
    id: "s1", identity: { issuer: "i", subject: "ann" },
  })));
  await assert.rejects(client.signIn("jwt", { keep: false }), /network/);
  await server.stream.send("identity", { expiresIn: 30 });
  await server.stream.send("identity", { expiresIn: 30 });
  await client.signIn("jwt");
  assert.deepEqual(server.asked(put).map(({ body }) => body), [
    { identity: "jwt", keep: false }, { identity: "jwt", keep: false }, { identity: "jwt" },
  ]);
});

test("a session that storage kept is signed in too", async () => {
  const { storage } = storing([["mvi-client:", "kept"]]);
  const server = new Server();
  server.become("kept");
  server.answer(put, () => json(200, { id: "kept", token: "signed-in", identity: { issuer: "i", subject: "ann" } }));
  const { client } = start({ server, storage });
  await client.signIn("jwt", { keep: false });
  assert.deepEqual(server.asked(put).map(({ body }) => body), [{ identity: "jwt", keep: false }]);
  assert.equal(server.asked("POST /sessions").length, 0);
});

// ---------------------------------------------------------------- tabs

async function twoTabs() {
  const shared = { browser: new Browser(), server: new Server(), clock: new Clock() };
  const tabs = [];
  for (let tab = 0; tab < 2; tab += 1) {
    tabs.push(start({ ...shared, page: new Page() }));
    tabs[tab].store = tabs[tab].client.store("counter");
    tabs[tab].store.subscribe(() => {});
    await shared.clock.advance();
  }
  await shared.server.stream.hello();
  return { ...shared, tabs };
}

test("the end of the session in one tab rejects waiting intents of another, even if that is offline", async () => {
  const { server, clock, tabs: [a, b] } = await twoTabs();
  await b.page.fire(b.page.window, "offline");
  const sent = [1, 2].map((amount) => outcome(b.store.send(add(amount))));
  await a.client.endSession();
  await clock.advance();
  assert.deepEqual(await Promise.all(sent), [replaced, replaced]);
  await b.page.fire(b.page.window, "online");
  assert.deepEqual(ran(server), []);
});

for (const [next, expected] of [[undefined, ["s2", "s2"]], ["bob", [replaced, replaced]]]) {
  test(`a lost session is replaced in one tab; intents of another, with ${next ?? "nobody"} signed in`, async () => {
    const { server, clock, tabs: [a, b] } = await twoTabs();
    await b.page.fire(b.page.window, "offline");
    const sent = [1, 2].map((amount) => outcome(b.store.send(add(amount))));
    server.become(null);
    if (next) server.answer("POST /sessions", () => {
      server.become("s2", next);
      return json(201, { id: "s2", identity: { issuer: "i", subject: next } });
    });
    await server.stream.end();
    await clock.advance(5_000);
    assert.equal(server.stream.session, "s2");
    await server.stream.hello();
    assert.equal(a.client.session, "s2");
    await b.page.fire(b.page.window, "online");
    await clock.advance(1_000);
    assert.deepEqual(await Promise.all(sent), expected);
  });
}
