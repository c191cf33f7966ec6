import assert from "node:assert/strict";
import { test } from "node:test";
import { Server, json, live, problem, settle, start, storing } from "./support.mjs";

test("an intent just after the end of the session runs in a new session and gets no 401", async () => {
  const { client, server, store, clock } = await live();
  let end;
  server.answer("DELETE /sessions/current", () => new Promise((resolve) => { end = resolve; }));
  const ended = client.endSession();
  const sent = store.send({ type: "increment" });
  await clock.advance();
  assert.equal(server.asked("POST /features/counter/intents").length, 0, "the intent waits for the end");

  server.session = null;
  end(json(204));
  await ended;
  assert.equal((await sent).session, "s2");
  assert.equal(server.asked("POST /features/counter/intents").length, 1);
  await clock.advance();
  assert.equal(server.stream.session, "s2", "the stream shows the new session");
  await server.stream.hello();
  assert.equal(client.condition, "live");
});

test("a session gets the platform's locale and time zone, those of the options, or none", async () => {
  const platform = { locale: "de-CH", timeZone: "Europe/Zurich" };
  for (const [options, settings] of [
    [{}, platform], [{ locale: "rm", timeZone: null }, { locale: "rm" }], [{ locale: null, timeZone: null }, {}],
  ]) {
    const { server } = await live({ platform, ...options });
    assert.deepEqual(server.asked("POST /sessions")[0].body, { credential: "bearer", ...settings });
  }
});

test("a stored session is told settings that it does not have, and an older server's refusal does no harm", async () => {
  for (const [known, body] of [
    [{ locale: "de-CH", timeZone: "UTC" }, undefined], [{ timeZone: "UTC" }, { locale: "de-CH", timeZone: "UTC" }],
    [{ locale: "fr", timeZone: "UTC" }, { locale: "de-CH", timeZone: "UTC" }],
  ]) {
    const before = start();
    await before.client.store("counter").send({ type: "increment" });
    const { storage } = storing([["mvi-client:", before.server.session]]);
    const { server } = before;
    server.answer("GET /sessions/current", () => json(200, { id: "s1", ...known }));
    server.answer("PUT /sessions/current", () => problem(405, "method-not-allowed"));
    const { client } = await live({ server, storage, platform: { locale: "de-CH" } });
    assert.deepEqual(server.asked("PUT /sessions/current")[0]?.body, body);
    assert.equal(client.condition, "live");
    assert.equal(server.asked("POST /sessions").length, 1);
  }
});

test("an intent after the end of the session makes another one", async () => {
  const { client, server, store, clock } = await live();
  await client.endSession();
  assert.equal(client.condition, "ended");
  assert.equal(server.asked("POST /sessions").length, 1, "nobody asked to go on");
  assert.equal((await store.send({ type: "increment" })).session, "s2");
  await clock.advance();
  assert.equal(client.condition, "connecting");
  assert.equal(server.stream.session, "s2");
});

test("the end of a session that answers late leaves the next session alone", async () => {
  const { client, server, clock } = await live();
  let end;
  server.answer("DELETE /sessions/current", () => new Promise((resolve) => { end = resolve; }));
  const ended = client.endSession();
  await clock.advance();
  server.stream.send("goaway", { reason: "ended" });
  await clock.advance();
  assert.equal(client.condition, "ended");

  client.reconnect();
  await clock.advance();
  await server.stream.hello();
  end(json(204));
  await ended;
  await clock.advance();
  assert.equal(server.stream.session, "s2");
  assert.equal(client.condition, "live");
});

test("another request just after the end of the session uses a new session", async () => {
  const { client, server } = await live();
  server.answer("GET /features/counter/state", ({ headers }) => json(200, { of: headers.Authorization }));
  const ended = client.endSession();
  assert.deepEqual(await client.request("GET", "/features/counter/state"), { of: "Bearer s2" });
  await ended;
});

test("another request that finds the session gone is made again in a new one", async () => {
  const { client, server } = await live();
  server.session = null;
  server.answer("GET /features/counter/state", () => problem(404, "session-not-found"), () => json(200, { count: 0 }));
  assert.deepEqual(await client.request("GET", "/features/counter/state"), { count: 0 });
});

test("intents that were sent before the end of the session run in it", async () => {
  const { client, server, store } = await live();
  const sent = store.send({ type: "increment" });
  await client.endSession();
  assert.equal((await sent).session, "s1");
  assert.deepEqual(server.requests.map(({ kind }) => kind).slice(-2), [
    "POST /features/counter/intents", "DELETE /sessions/current",
  ]);
});

test("if the server refuses to end the session, the caller is told and the session stays", async () => {
  const { client, server } = await live();
  server.answer("DELETE /sessions/current", () => problem(403, "cross-site"));
  await assert.rejects(client.endSession(), { status: 403, kind: "cross-site" });
  assert.equal(client.condition, "live");
});

test("an intent that finds the session ended is refused, and the client reports the end", async () => {
  const { client, server, store } = await live();
  server.answer("POST /features/counter/intents", () => problem(404, "session-ended"));
  await assert.rejects(store.send({ type: "increment" }), { status: 404, type: "/problems/session-ended" });
  assert.equal(client.condition, "ended");
});

test("reconnect after the end makes a new session", async () => {
  const { client, server, clock } = await live();
  await client.endSession();
  client.reconnect();
  await clock.advance();
  assert.equal(server.stream.session, "s2");
});

test("sessions that are refused at once are not created at full speed", async () => {
  const { server, client, clock } = start();
  client.store("counter").subscribe(() => {});
  const refuse = () => problem(401, "unauthorized");
  server.answer("GET /events", ...Array(100).fill(refuse));
  await clock.advance(10_000);
  assert.ok(server.asked("POST /sessions").length <= 3, `${server.asked("POST /sessions").length} sessions`);
  assert.equal(client.condition, "reconnecting");
});

test("the token is kept in the given storage, and reused", async () => {
  const { values, storage } = storing();
  const first = await live({ storage });
  first.client.close();
  assert.deepEqual([...values.values()], ["s1"]);
  const { server } = await live({ storage, server: first.server });
  assert.equal(server.asked("POST /sessions").length, 1);
  assert.equal(server.stream.request.headers.Authorization, "Bearer s1");
});

test("a token that another tab stored is used, and not removed with the old one", async () => {
  const { values, storage } = storing();
  const { server, store } = await live({ storage });
  server.session = "of another tab";
  values.set("mvi-client:", "of another tab");
  assert.equal((await store.send({ type: "increment" })).session, "of another tab");
  assert.equal(server.asked("POST /sessions").length, 1);
});

test("a stored token that is refused is forgotten", async () => {
  const { values, storage } = storing([["mvi-client:", "old"]]);
  const { server } = await live({ storage });
  assert.equal(server.stream.session, "s1");
  assert.deepEqual([...values.values()], ["s1"]);
});

test("signing in sends the identity, and opens the stream with the new credential", async () => {
  const { client, server, clock } = await live();
  server.answer("PUT /sessions/current/identity", ({ body }) => {
    assert.deepEqual(body, { identity: "jwt" });
    Object.assign(server, { session: "signed-in", id: "s1" });
    return json(200, { id: "s1", token: "signed-in", identity: { subject: "u" } });
  });
  await client.signIn("jwt");
  await clock.advance();
  assert.equal(server.stream.request.headers.Authorization, "Bearer signed-in");
  assert.equal(server.stream.request.headers["Last-Event-ID"], "e1.1", "the session is the same");
});

test("a stored session with a user is not replaced by an anonymous one either", async () => {
  const server = new Server();
  server.session = "s1";
  server.answer("POST /sessions", () => json(200, { id: "s1", identity: { subject: "u" } }));
  const { client, clock } = await live({ server, credential: "cookie" });
  server.session = null;
  await server.stream.end();
  await clock.advance(5_000);
  assert.equal(client.condition, "signedOut");
});

test("an intent that was running during the sign-in runs with the new credential", async () => {
  const { client, server, store } = await live();
  let [refuse, answer] = [];
  server.answer("POST /features/counter/intents", () => new Promise((resolve) => { refuse = resolve; }));
  server.answer("PUT /sessions/current/identity", () => new Promise((resolve) => { answer = resolve; }));
  const sent = store.send({ type: "increment" });
  await settle();
  const signedIn = client.signIn("jwt");
  await settle();
  Object.assign(server, { session: "signed-in", id: "s1" });
  refuse(problem(404, "session-ended"));
  await settle();
  answer(json(200, { id: "s1", token: "signed-in", identity: { subject: "u" } }));
  await signedIn;
  await sent;
  assert.notEqual(client.condition, "ended");
  const [first, second] = server.asked("POST /features/counter/intents").map(({ headers }) => headers);
  assert.equal(second.Authorization, "Bearer signed-in");
  assert.equal(second["Idempotency-Key"], first["Idempotency-Key"]);
});

test("a stream that was opened during the sign-in is opened again with the new credential", async () => {
  const { client, server, clock } = await live();
  let [refuse, answer] = [];
  server.answer("GET /events", () => new Promise((resolve) => { refuse = resolve; }));
  server.answer("PUT /sessions/current/identity", () => new Promise((resolve) => { answer = resolve; }));
  await server.stream.end();
  await clock.advance(5_000);
  const signedIn = client.signIn("jwt");
  await settle();
  Object.assign(server, { session: "signed-in", id: "s1" });
  refuse(new Response(null, { status: 204 }));
  await settle();
  assert.notEqual(client.condition, "ended");
  answer(json(200, { id: "s1", token: "signed-in", identity: { subject: "u" } }));
  await signedIn;
  await clock.advance();
  assert.equal(server.stream.request.headers.Authorization, "Bearer signed-in");
});

test("a sign-in whose answer is lost is repeated when its credential is refused", async () => {
  const { client, server, clock } = await live();
  server.answer("PUT /sessions/current/identity", () => Promise.reject(new TypeError("network")));
  await assert.rejects(client.signIn("jwt"));
  server.answer("GET /events", () => new Response(null, { status: 204 }));
  server.answer("PUT /sessions/current/identity", ({ body }) => {
    assert.equal(body.identity, "jwt");
    Object.assign(server, { session: "signed-in", id: "s1" });
    return json(200, { id: "s1", token: "signed-in", identity: { subject: "u" } });
  });
  await server.stream.end();
  await clock.advance(5_000);
  assert.notEqual(client.condition, "ended");
  assert.equal(server.stream.request.headers.Authorization, "Bearer signed-in");
});

test("a sign-in while a session is created is sent after its answer, as it was wanted", async () => {
  const { client, server, clock } = start();
  let answer;
  server.answer("POST /sessions", () => new Promise((resolve) => { answer = resolve; }));
  server.answer("PUT /sessions/current/identity", () => json(200, { id: "s1", token: "signed-in", identity: { subject: "u" } }));
  client.store("counter").subscribe(() => {});
  await clock.advance();
  const signedIn = client.signIn("jwt", { keep: false });
  await settle();
  answer(json(201, { id: "s1", token: "anonymous" }));
  await signedIn;
  assert.deepEqual(server.requests.filter(({ body }) => body).map(({ kind, body }) => [kind, body]), [
    ["POST /sessions", { credential: "bearer" }], ["PUT /sessions/current/identity", { identity: "jwt", keep: false }],
  ]);
});

test("signing in without a session creates one for the subject", async () => {
  const { client, server } = start();
  await client.signIn("jwt");
  assert.deepEqual(server.requests.map(({ kind, body }) => [kind, body]), [
    ["POST /sessions", { credential: "bearer", identity: "jwt" }],
  ]);
});

test("a signed-in session that is lost is replaced by one of the same subject, or by none", async () => {
  const identities = ["jwt"];
  const { client, server, clock } = await live({ identity: () => identities.shift() });
  server.answer("PUT /sessions/current/identity", () => json(200, { id: "s1", identity: { subject: "u" } }));
  await server.stream.send("identity", { expiresIn: 30 });
  assert.equal(server.asked("PUT /sessions/current/identity").length, 1);
  server.session = null;
  await server.stream.end();
  await clock.advance(5_000);
  assert.equal(client.condition, "signedOut");
  assert.equal(server.asked("POST /sessions").length, 1, "no anonymous session");
  await settle();
});

for (const [name, storage] of Object.entries({
  full: { getItem: () => null, setItem() { throw new DOMException("quota", "QuotaExceededError"); }, removeItem() {} },
  blocked: Object.fromEntries(["getItem", "setItem", "removeItem"].map(
    (method) => [method, () => { throw new DOMException("denied", "SecurityError"); }])),
})) {
  test(`with a storage that is ${name} the session is in memory`, async () => {
    const { client, store, server } = await live({ storage });
    await store.send({ type: "increment" });
    assert.equal(client.condition, "live");
    assert.equal(server.asked("POST /sessions").length, 1);
  });
}
