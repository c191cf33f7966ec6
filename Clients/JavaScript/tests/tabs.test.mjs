import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../mvi-client.js";
import { Browser, Clock, Page, Server, problem, settle, start } from "./support.mjs";

/** Some tabs of one browser with one server; each watches its given features. */
async function tabs(...watched) {
  const shared = { browser: new Browser(), server: new Server(), clock: new Clock() };
  const opened = [];
  for (const features of watched) {
    const tab = start({ ...shared, page: new Page() });
    tab.labels = [];
    for (const feature of [features].flat()) {
      tab.client.store(feature).subscribe(() => {});
      tab.client.store(feature).onLabel((label) => tab.labels.push(label));
    }
    opened.push(tab);
    await shared.clock.advance();
  }
  return { ...shared, tabs: opened };
}

async function show(server, features = server.stream.features) {
  await server.stream.hello();
  for (const feature of features) await server.stream.state(feature, 1, { of: feature });
}

const open = (server) => server.streams.filter((stream) => stream.isOpen);

test("all tabs share one stream with all their features", async () => {
  const { server, tabs: [a, b, c] } = await tabs("counter", "counter", "order:1");
  await show(server);
  assert.equal(open(server).length, 1);
  assert.deepEqual(server.stream.features, ["counter", "order:1"]);
  assert.deepEqual([a, b, c].map(({ client }) => client.condition), ["live", "live", "live"]);
  assert.deepEqual(b.client.store("counter").state, { of: "counter" });
  assert.deepEqual(c.client.store("order:1").state, { of: "order:1" });
  assert.equal(server.asked("POST /sessions").length, 1);
});

test("a later tab gets the state at once, by the same stream", async () => {
  const { server, clock, browser, tabs: [a] } = await tabs("counter");
  await show(server);
  const late = start({ server, clock, browser, page: new Page() });
  late.client.store("counter").subscribe(() => {});
  await clock.advance();
  assert.equal(server.streams.length, 1);
  assert.deepEqual(late.client.store("counter").state, a.client.store("counter").state);
  assert.equal(late.client.condition, "live");
});

test("the leader's tab gets at once what another tab watches already, by the same stream", async () => {
  const { server, clock, tabs: [a] } = await tabs("counter", "order:1");
  await show(server);
  await server.stream.send("presence", { feature: "order:1", count: 1, viewers: [] });
  const store = a.client.store("order:1");
  const { length } = server.streams;
  let end;
  for (let times = 0; times < 2; times += 1) {
    end?.();
    await clock.advance();
    assert.equal(store.presence, undefined);
    end = store.subscribe(() => {});
    await clock.advance();
    assert.deepEqual(store.presence, { count: 1, viewers: [] });
  }
  assert.deepEqual([store.state, store.status], [{ of: "order:1" }, "ready"]);
  assert.equal(server.streams.length, length);
});

test("each tab posts its own intents", async () => {
  const { server, tabs: [, b] } = await tabs("counter", "counter");
  await show(server);
  assert.equal((await b.client.store("counter").send({ type: "increment" })).session, "s1");
  await settle();
  assert.equal(server.streams.length, 1, "the session is the stream's");
});

test("each tab gets labels once, even while another tab takes over", async () => {
  const { server, clock, tabs: [a, b] } = await tabs("counter", "counter");
  await show(server);
  const label = (n) => server.stream.send("label", { feature: "counter", id: `e1.${n}.0`, label: { n } }, `e1.${n}`);
  await label(2);
  a.client.close();
  await clock.advance();
  assert.equal(server.stream.request.headers["Last-Event-ID"], "e1.2", "it goes on where the other was");
  await server.stream.hello();
  await label(2);
  await label(3);
  assert.deepEqual(a.labels, [{ n: 2 }]);
  assert.deepEqual(b.labels, [{ n: 2 }, { n: 3 }]);
});

test("when the leader's tab closes, another one takes over the stream", async () => {
  const { server, clock, tabs: [a, b, c] } = await tabs("counter", "counter", "order:1");
  await show(server);
  a.client.close();
  await clock.advance();
  assert.equal(open(server).length, 1);
  assert.deepEqual(server.stream.features, ["counter", "order:1"]);
  await show(server);
  assert.deepEqual([b, c].map(({ client }) => client.condition), ["live", "live"]);
});

test("the features of a closed tab are no longer watched", async () => {
  const { server, clock, tabs: [, b] } = await tabs("counter", "order:1");
  await show(server);
  assert.deepEqual(server.stream.features, ["counter", "order:1"]);
  b.client.close();
  await clock.advance();
  assert.deepEqual(server.stream.features, ["counter"]);
});

test("when the browser freezes the leader's tab, another one takes over the stream", async () => {
  const { server, clock, tabs: [a, b] } = await tabs("counter", "counter");
  await show(server);
  await a.page.fire(a.page.document, "freeze");
  await clock.advance();
  assert.equal(server.streams[0].isOpen, false);
  assert.equal(open(server).length, 1);
  await show(server);
  assert.equal(b.client.condition, "live");

  await a.page.fire(a.page.document, "resume");
  await clock.advance();
  assert.equal(open(server).length, 1);
  assert.equal(a.client.condition, "live");
});

test("when the leader does not answer, another one steals its lock, and it follows when it is back", async () => {
  const { server, clock, tabs: [a, b] } = await tabs("counter", "counter");
  await show(server);
  a.tab.isFrozen = true;
  const [old] = server.streams;
  await clock.advance(40_000);
  await old.send("ping", { t: 1 });
  await clock.advance(10_000);
  assert.equal(server.streams.length, 1, "the other tab asks first");
  await clock.advance(5_000);
  assert.equal(server.streams.length, 2, "the other tab has a stream");
  await show(server);
  assert.equal(b.client.condition, "live");
  assert.equal(old.isOpen, false, "the old leader has lost its lock, and its stream with it");

  a.tab.isFrozen = false;
  await server.stream.state("counter", 5, { count: 5 });
  assert.deepEqual(a.client.store("counter").state, { count: 5 });
  assert.equal(open(server).length, 1);
});

test("a leader that answers keeps the stream after any silence", async () => {
  const { server, clock, tabs: [a, b] } = await tabs("counter", "counter");
  await show(server);
  await b.page.fire(b.page.window, "focus");
  await clock.advance(6_000);
  assert.equal(server.streams.length, 1);
  assert.equal(a.client.condition, "live");
});

test("the end of the session in one tab ends it in all, and the next intent continues for all", async () => {
  const { server, clock, tabs: [a, b] } = await tabs("counter", "counter");
  await show(server);
  await b.client.endSession();
  await clock.advance();
  assert.deepEqual([a, b].map(({ client }) => client.condition), ["ended", "ended"]);
  assert.equal(open(server).length, 0);

  assert.equal((await b.client.store("counter").send({ type: "increment" })).session, "s2");
  await clock.advance();
  assert.equal(server.stream.session, "s2");
  await show(server);
  assert.deepEqual([a, b].map(({ client }) => client.condition), ["live", "live"]);
  assert.equal((await a.client.store("counter").send({ type: "increment" })).session, "s2");
});

test("tabs that have a token in one storage share its session and its stream, also after its end", async () => {
  const browser = new Browser();
  const storage = browser.localStorage;
  const shared = { browser, server: new Server(), clock: new Clock(), credential: "bearer", storage };
  const [a, b] = [start({ ...shared, page: new Page() }), start({ ...shared, page: new Page() })];
  for (const { client } of [a, b]) client.store("counter").subscribe(() => {});
  const { server, clock } = shared;
  await clock.advance();
  await show(server);
  assert.equal(open(server).length, 1);
  assert.equal((await b.client.store("counter").send({ type: "increment" })).session, "s1");

  await a.client.endSession();
  await clock.advance();
  assert.equal(b.client.condition, "ended");
  assert.equal((await b.client.store("counter").send({ type: "increment" })).session, "s2");
  assert.equal(server.asked("POST /features/counter/intents").length, 2, "none was sent with the old token");
  await clock.advance();
  assert.equal(server.stream.request.headers.Authorization, "Bearer s2");
  assert.equal(open(server).length, 1);
  await show(server);
  assert.deepEqual([a, b].map(({ client }) => client.condition), ["live", "live"]);
});

test("a session that is created and ended before the leader hears of it is handled as the same one", async () => {
  const browser = new Browser();
  const storage = browser.localStorage;
  const shared = { browser, server: new Server(), clock: new Clock(), credential: "bearer", storage };
  const [a, b] = [start({ ...shared, page: new Page() }), start({ ...shared, page: new Page() })];
  const { server, clock } = shared;
  for (const { client } of [a, b]) client.store("counter").subscribe(() => {});
  await clock.advance();
  await show(server);
  await a.client.endSession();
  await clock.advance();
  a.tab.isFrozen = true;
  await b.client.store("counter").send({ type: "increment" });
  storage.removeItem("mvi-client:");
  a.tab.isFrozen = false;
  b.client.reconnect();
  await clock.advance();
  assert.ok(server.asked("GET /events").every(({ headers }) => headers.Authorization !== undefined));
});

test("a frame without permission for locks has a stream of its own", async () => {
  const locks = { request: () => Promise.reject(new DOMException("sandboxed", "SecurityError")) };
  const { client, server, clock } = start({ browser: new Browser(), platform: { locks } });
  client.store("counter").subscribe(() => {});
  await clock.advance();
  await show(server);
  assert.equal(client.condition, "live");
});

test("without Web Locks each tab has its own stream", async () => {
  const server = new Server();
  const clock = new Clock();
  for (let tab = 0; tab < 2; tab += 1) {
    const { client } = start({ server, clock, browser: new Browser(), page: new Page(), platform: { locks: undefined } });
    client.store("counter").subscribe(() => {});
    await clock.advance();
  }
  assert.equal(open(server).length, 2);
});

test("errors keep their class between tabs", async () => {
  const { server, clock, tabs: [a, b] } = await tabs("counter", "counter");
  await show(server);
  server.answer("GET /events", () => problem(503, "draining", { "Retry-After": "30" }), () => Promise.reject(new TypeError("network")));
  await server.stream.end();
  await clock.advance(3_000);
  for (const { client } of [a, b]) {
    const { problem: reason } = client.conditionDetails;
    assert.ok(reason instanceof Problem);
    assert.deepEqual([reason.status, reason.kind, reason.message], [503, "draining", "draining"]);
  }
  a.client.reconnect();
  await clock.advance();
  for (const { client } of [a, b]) {
    assert.ok(client.conditionDetails.problem instanceof Error);
    assert.equal(client.conditionDetails.problem.message, "network");
  }
});
