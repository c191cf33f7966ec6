import assert from "node:assert/strict";
import { test } from "node:test";
import { live, problem, settle, start } from "./support.mjs";

test("the state is one object until it changes, and listeners are called after each change", async () => {
  const { server, store, shown } = await live();
  const first = store.state;
  assert.equal(store.state, first);
  await server.stream.state("counter", 2, { count: 1 });
  assert.notEqual(store.state, first);
  assert.deepEqual(shown, [{ count: 0 }, { count: 1 }]);
  assert.equal(store.version, 2);
});

test("a stream of another session than the token's shows nothing and is opened again; a cookie's is followed", async () => {
  for (const credential of ["bearer", "cookie"]) {
    const { client, server, clock, store, shown } = await live({ credential });
    await server.stream.end();
    await clock.advance(3_000);
    server.id = credential === "cookie" ? "s9" : null;
    const events = { hello: { session: "s9", epoch: "e9" }, state: { feature: "counter", version: 50, state: { count: 50 } } };
    server.stream.write(Object.entries(events).map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join(""));
    await clock.advance(10_000);
    if (credential === "cookie") {
      assert.equal(client.session, "s9");
      continue;
    }
    assert.deepEqual(shown, [{ count: 0 }]);
    assert.equal(server.streams.length, 3);
    await server.stream.hello();
    await server.stream.state("counter", 2, { count: 2 });
    assert.deepEqual([client.condition, store.state], ["live", { count: 2 }]);
  }
});

test("features watched within one turn share one stream, and watching one again opens none", async () => {
  const { client, server, clock, store } = await live();
  const ends = ["order:1", "order:2"].map((id) => client.store(id).subscribe(() => {}));
  await clock.advance();
  assert.equal(server.streams.length, 2);
  assert.deepEqual(server.stream.features, ["counter", "order:1", "order:2"]);
  ends[0]();
  client.store("order:1").subscribe(() => {});
  await clock.advance();
  assert.equal(server.streams.length, 2);
  assert.equal(client.store("counter"), store);
});

test("without watchers there is no stream", async () => {
  const { client, server, clock } = start();
  const end = client.store("counter").subscribe(() => {});
  await clock.advance();
  end();
  await clock.advance();
  assert.equal(client.condition, "idle");
  assert.equal(server.stream.isOpen, false);
});

test("each listener gets labels once, and labels without a listener wait for the first one", async () => {
  const { server, store } = await live();
  const label = (id, text) => server.stream.send("label", { feature: "counter", version: 2, id, replay: false, label: { text } });
  await label("a", "one");
  await label("a", "one again");
  const heard = [];
  store.onLabel(({ text }, { id }) => heard.push([id, text]));
  assert.deepEqual(heard, [["a", "one"]]);
  await label("b", "two");
  assert.deepEqual(heard, [["a", "one"], ["b", "two"]]);
});

test("labels can be read with for await, and the loop's end stops the watching", async () => {
  const { client, server, clock } = start();
  const store = client.store("counter");
  const heard = [];
  const loop = (async () => {
    for await (const label of store.labels) {
      heard.push(label.n);
      if (label.n === 2) break;
    }
  })();
  await clock.advance();
  await server.stream.hello();
  for (const n of [1, 2, 3]) await server.stream.send("label", { feature: "counter", id: `${n}`, label: { n } });
  await loop;
  assert.deepEqual(heard, [1, 2]);
  assert.equal(store.isWatched, false);
});

test("a listener that throws is reported and does not stop others", async () => {
  const { server, store, shown, reports } = await live();
  store.subscribe(() => { throw new Error("mine"); });
  await server.stream.state("counter", 2, { count: 2 });
  assert.deepEqual(reports.map(({ message }) => message), ["mine"]);
  await server.stream.state("counter", 3, { count: 3 });
  assert.equal(shown.length, 3);
});

test("the wait grows with failures and is 0 only after hello", async () => {
  const { client, server, clock } = await live();
  const waits = [];
  client.onCondition(() => {
    const { condition, retryAt, problem: reason } = client.conditionDetails;
    if (condition === "reconnecting" && reason) waits.push(retryAt - clock.now());
  });
  server.answer("GET /events", ...Array(5).fill(() => problem(500, "state-unavailable")));
  await server.stream.end();
  await clock.advance(80_000);
  // With a random value of 0.5: three quarters of 3 s, 6 s and so on, up to three quarters of 30 s.
  assert.deepEqual(waits, [2_250, 4_500, 9_000, 18_000, 22_500, 22_500]);
  await server.stream.hello();
  await server.stream.end();
  assert.equal(waits.at(-1), 2_250);
});

test("a silent connection is cut after two and a half heartbeats, and any byte is a sign of life", async () => {
  const { server, clock } = await live();
  await clock.advance(40_000);
  server.stream.write(":\n");
  await clock.advance(49_999);
  assert.equal(server.streams.length, 1);
  await clock.advance(1);
  assert.equal(server.streams.length, 2);
  assert.equal(server.streams[0].isOpen, false);
});

test("after sleep the stream is reopened when the page is visible", async () => {
  const { server, clock, page } = await live();
  clock.ahead += 3_600_000;
  await page.fire(page.window, "focus");
  assert.equal(server.streams.length, 2);
});

test("after an offline event that was wrong, reconnect opens the stream and frees the intents", async () => {
  const { client, server, page, store } = await live();
  await page.fire(page.window, "offline");
  const sent = store.send({ type: "increment" });
  await settle();
  assert.deepEqual(client.pending.map(({ feature, intent }) => [feature, intent]), [["counter", { type: "increment" }]]);
  client.reconnect();
  await settle();
  await sent;
  assert.equal(server.streams.length, 2);
  assert.deepEqual(client.pending, []);
});

test("after an offline event that was wrong, reconnect also frees the intents of a client without a stream", async () => {
  const { client, page, server } = start();
  await page.fire(page.window, "offline");
  const sent = client.store("counter").send({ type: "increment" });
  await settle();
  client.reconnect();
  await sent;
  assert.equal(server.streams.length, 0);
});

test("a store whose listener is replaced in one task keeps its stream and its predictions", async () => {
  const { client, server, clock } = await live();
  const store = client.store("tally", { predict: { add: (state, { amount }) => ({ count: state.count + amount }) } });
  const leave = store.subscribe(() => {});
  await clock.advance();
  await server.stream.hello();
  await server.stream.state("tally", 1, { count: 0 });
  await store.send({ type: "add", amount: 5 });
  const streams = server.streams.length;
  const seen = [];
  leave();
  store.subscribe(() => seen.push(store.state?.count));
  await clock.advance();
  assert.equal(store.state?.count, 5);
  assert.ok(seen.every((count) => count === 5), `${seen}`);
  assert.equal(server.streams.length, streams);
});

test("a Retry-After date is compared with the answer's Date, since the device's clock may be wrong", async () => {
  const { client, server, clock } = await live();
  const headers = { Date: "Thu, 01 Jan 2026 00:00:00 GMT", "Retry-After": "Thu, 01 Jan 2026 00:00:10 GMT" };
  server.answer("GET /events", () => problem(503, "draining", headers));
  await server.stream.end();
  await clock.advance(5_000);
  // With a random value of 0.5: a tenth longer.
  assert.equal(Math.round(client.conditionDetails.retryAt - clock.wallTime()), 11_000 - (5_000 - 2_250));
});

test("a page in the back-forward cache holds no stream, and has one when it is shown again", async () => {
  const { client, server, page } = await live({ platform: { document: new EventTarget() } });
  await page.fire(page.window, "pagehide", { persisted: true });
  assert.equal(server.stream.isOpen, false);
  assert.equal(client.condition, "paused");
  await page.fire(page.window, "pageshow", { persisted: true });
  await settle();
  assert.equal(server.streams.length, 2);
});

test("an unknown feature is missing, and the others are shown", async () => {
  const { client, server, clock } = start();
  for (const id of ["counter", "nope"]) client.store(id).subscribe(() => {});
  server.answer("GET /events", () => problem(404, "feature-not-found"));
  server.answer("HEAD /events", () => new Response(null, { status: 200 }), () => new Response(null, { status: 404 }));
  await clock.advance();
  assert.equal(client.store("nope").status, "missing");
  assert.deepEqual(server.stream.features, ["counter"]);
  client.reconnect();
  await clock.advance();
  assert.deepEqual(server.stream.features, ["counter", "nope"], "it may be there now");
});

test("with patches the state shares unchanged parts, and three failures end the patches", async () => {
  const { server, store } = await live({ delta: "json-patch" });
  await server.stream.state("counter", 2, { a: { deep: 1 }, b: { deep: 2 } });
  const { a } = store.state;
  await server.stream.send("patch", { feature: "counter", from: 2, to: 3, patch: [{ op: "replace", path: "/b/deep", value: 3 }] });
  assert.deepEqual(store.state, { a: { deep: 1 }, b: { deep: 3 } });
  assert.equal(store.state.a, a);
  for (const version of [1, 2, 3]) {
    await server.stream.hello();
    await server.stream.send("patch", { feature: "counter", from: 9, to: 10, patch: [] });
    await server.stream.hello();
    await server.stream.state("counter", version, {});
    await server.stream.send("patch", { feature: "counter", from: version, to: version + 1, patch: [] });
  }
  for (let doubt = 0; doubt < 4; doubt += 1) {
    assert.equal(server.stream.request.query.get("delta"), "json-patch");
    await server.stream.hello();
    await server.stream.send("patch", { feature: "counter", from: 9, to: 10, patch: [] });
  }
  assert.equal(server.stream.request.query.get("delta"), null);
});

/** An EventSource that a test controls. */
function eventSources(made) {
  return class extends EventTarget {
    readyState = 0;
    constructor(url) {
      super();
      this.url = url;
      made.push(this);
    }
    close() { this.readyState = 2; }
    send(name, data, lastEventId = "") {
      this.dispatchEvent(Object.assign(new Event(name), { data: JSON.stringify(data), lastEventId }));
    }
  };
}

test("with a cookie an EventSource reads the stream, from the last id on", async () => {
  const made = [];
  const { client, clock, server } = start({ credential: "cookie", platform: { EventSource: eventSources(made) } });
  client.store("counter").subscribe(() => {});
  await clock.advance();
  assert.equal(made[0].url, "/events?feature=counter");
  made[0].send("hello", { session: "s1", epoch: "e1", cursor: "e1.4", heartbeat: 20 }, "e1.4");
  assert.equal(client.condition, "live");
  made[0].send("state", { feature: "counter", version: 4, state: { count: 4 } });
  assert.deepEqual(client.store("counter").state, { count: 4 });
  made[0].onerror();
  await clock.advance(3_000);
  assert.equal(made[1].url, "/events?feature=counter&last_event_id=e1.4");
  assert.equal(server.asked("GET /events").length, 0);
});

test("the reason why an EventSource failed is determined, and a new session created", async () => {
  const made = [];
  const { client, clock, server } = start({ credential: "cookie", platform: { EventSource: eventSources(made) } });
  client.store("counter").subscribe(() => {});
  await clock.advance();
  server.session = null;
  made[0].readyState = 2;
  made[0].onerror();
  await clock.advance();
  assert.equal(server.asked("GET /events").length, 1);
  assert.equal(server.asked("POST /sessions").length, 2);
  assert.equal(made.length, 2);
});

test("a label that waited for a listener beyond its life is not shown", async () => {
  const { store, server, clock } = await live();
  for (const [id, expiresIn] of [["e1.2.0", 1], ["e1.2.1", 60], ["e1.2.2", undefined]]) {
    await server.stream.send("label", { feature: "counter", version: 2, id, replay: false, expiresIn, label: { id } });
  }
  await clock.advance(5_000);
  const got = [];
  store.onLabel(({ id }) => got.push(id));
  assert.deepEqual(got, ["e1.2.1", "e1.2.2"]);
});
