import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Server, json, live, problem, settle, start } from "./support.mjs";

const path = "POST /features/counter/intents";
const cut = () => Promise.reject(new TypeError("network"));

test("an intent keeps its key over all tries", async () => {
  const { server, store, clock } = await live();
  server.answer(path, cut, () => problem(503, "draining"), cut);
  const sent = store.send({ type: "increment" });
  await clock.advance(10_000);
  await sent;
  const keys = server.asked(path).map(({ headers }) => headers["Idempotency-Key"]);
  assert.equal(keys.length, 4);
  assert.match(keys[0], /^"[0-9a-f-]{36}"$/);
  assert.equal(new Set(keys).size, 1);
});

test("text is sent unchanged, so that large numbers stay exact", async () => {
  const bodies = [];
  const server = new Server();
  const { client } = start({ server, platform: { fetch: (url, request) => {
    bodies.push(request.body);
    return server.fetch(url, request);
  } } });
  await client.store("counter").send('{"type":"add","amount":9007199254740993}');
  assert.equal(bodies.at(-1), '{"type":"add","amount":9007199254740993}');
});

test("an intent fails after its patience, and reports whether it may have run", async () => {
  const { server, store, clock } = await live({ patience: 2_000 });
  server.answer(path, ...Array(20).fill(cut));
  const sent = assert.rejects(store.send({ type: "increment" }), { name: "SendError", reason: "no-answer", mayHaveRun: true });
  await clock.advance(3_000);
  await sent;
});

test("an intent that only met 429 did not run", async () => {
  const { server, store, clock } = await live({ patience: 2_000 });
  server.answer(path, ...Array(20).fill(() => problem(429, "too-many-requests", { "Retry-After": "1" })));
  const sent = assert.rejects(store.send({ type: "increment" }), { reason: "no-answer", mayHaveRun: false });
  await clock.advance(3_000);
  await sent;
});

test("the time offline does not count as patience", async () => {
  const { server, store, clock, page } = await live({ patience: 2_000 });
  await page.fire(page.window, "offline");
  const sent = store.send({ type: "increment" });
  await clock.advance(3_600_000);
  assert.equal(server.asked(path).length, 0);
  await page.fire(page.window, "online");
  assert.equal((await sent).session, "s1");
});

test("a hello ends the wait of an intent that had no answer", async () => {
  const { server, store, clock } = await live();
  server.answer(path, cut, cut, cut, cut, cut, cut);
  const sent = store.send({ type: "increment" });
  await clock.advance(12_000);
  const tries = server.asked(path).length;
  assert.equal(tries, 6);
  await server.stream.hello();
  assert.equal(server.asked(path).length, tries + 1);
  await sent;
});

test("after a thousand waiting intents the next is refused at once", async () => {
  const { client, store, page } = await live();
  await page.fire(page.window, "offline");
  const sent = Array.from({ length: 1000 }, () => store.send({ type: "increment" }).catch((error) => error.reason));
  await assert.rejects(store.send({ type: "increment" }), { reason: "queue-full", mayHaveRun: false });
  client.close();
  assert.ok((await Promise.all(sent)).every((reason) => reason === "closed"));
});

test("close ends a running intent, and reports that it may have run", async () => {
  const { client, server, store } = await live();
  server.answer(path, () => new Promise(() => {}));
  const sent = assert.rejects(store.send({ type: "increment" }), { reason: "closed", mayHaveRun: true });
  await settle();
  client.close();
  await sent;
  await assert.rejects(store.send({ type: "increment" }), { reason: "closed", mayHaveRun: false });
});

test("send can wait until the store shows the effect of the intent", async () => {
  const { server, store } = await live();
  server.answer(path, () => json(202, { intent: "i", session: "s1", version: 7 }));
  let isShown = false;
  const sent = store.send({ type: "increment" }, { until: "shown" }).then(() => { isShown = true; });
  await server.stream.state("counter", 6, { count: 6 });
  assert.equal(isShown, false);
  await server.stream.state("counter", 8, { count: 8 });
  await sent;
});

test("waiting for a version ends if it will never be shown", async () => {
  const { client, server, store } = await live();
  const shown = store.shown(9);
  await server.stream.send("reset", { reason: "overflow", labelsLost: true });
  assert.equal(await shown, false);
  const other = store.shown(9);
  await server.stream.send("end", { feature: "counter" });
  assert.equal(await other, false);
  assert.equal(await store.shown(0), false, "the store has no version now");
  const end = client.store("order:1").subscribe(() => {});
  const third = client.store("order:1").shown(9);
  end();
  assert.equal(await third, false);
});

test("a store is disposed of after the intents that were sent before, also after a lost answer", async () => {
  const { server, store, clock } = await live();
  const target = "DELETE /features/counter/state";
  server.answer(path, cut);
  server.answer(target, cut, () => new Response(null, { status: 204 }));
  const sent = store.send({ type: "increment" });
  const disposed = store.dispose();
  await settle();
  assert.equal(server.asked(target).length, 0);
  await clock.advance(20_000);
  await Promise.all([sent, disposed]);
  assert.equal(server.asked(path).length, 2);
  assert.equal(server.asked(target).length, 2);
});

test("a clock that is set while an intent waits does not end its patience", async () => {
  const { store, server, clock } = await live();
  server.answer(path, () => problem(503, "busy", { "Retry-After": "2" }));
  const sent = store.send({ type: "increment" });
  await clock.advance(500);
  clock.ahead += 3_600_000;
  await clock.advance(5_000);
  await sent;
});

for (const [status, kind] of [[429, "intent-limited"], [503, "check-timeout"]]) {
  test(`a feature's own refusal with ${status} is the app's answer at once`, async () => {
    const { store, server, clock } = await live();
    server.answer(path, () => problem(status, kind, { "Retry-After": "60" }));
    const refused = assert.rejects(store.send({ type: "increment" }), { name: "Problem", kind });
    const next = store.send({ type: "increment" });
    await clock.advance();
    await refused;
    await next;
    assert.equal(server.asked(path).length, 2);
  });
}

test("an intent that is given up while it waits is not sent; one that was sent may have run", async () => {
  const { store, server, client } = await live();
  let answer;
  server.answer(path, () => new Promise((resolve) => { answer = resolve; }));
  const [first, second] = [new AbortController(), new AbortController()];
  const running = store.send({ type: "increment" }, { signal: first.signal });
  const waiting = store.send({ type: "add", amount: 2 }, { signal: second.signal });
  await settle();
  second.abort();
  await assert.rejects(waiting, { name: "SendError", reason: "aborted", mayHaveRun: false });
  assert.equal(client.pending.length, 1);
  first.abort();
  await assert.rejects(running, { name: "SendError", reason: "aborted", mayHaveRun: true });
  answer();
  await assert.rejects(store.send({ type: "increment" }, { signal: first.signal }), { reason: "aborted", mayHaveRun: false });
  await store.send({ type: "increment" });
  assert.deepEqual(server.asked(path).map(({ body }) => body.type), ["increment", "increment"]);
});

test("an intent that is tied to a version names it with its epoch", async () => {
  const { store, server } = await live();
  await store.send({ type: "increment" }, { ifMatch: 7 });
  await store.send({ type: "increment" });
  assert.deepEqual(server.asked(path).map(({ headers }) => headers["If-Match"]), ['"e1.7"', undefined]);
});

test("a key from a link addresses no other resource: ids are checked at once", () => {
  const { client, server } = start();
  const { good, bad } = JSON.parse(readFileSync(new URL("../../Conformance/ids.json", import.meta.url)));
  for (const id of good) assert.equal(client.store(id).id, id);
  for (const id of [...bad, undefined, null, 7]) {
    assert.throws(() => client.store(id), TypeError, `${id}`);
    if (typeof id === "string") assert.rejects(client.dispose(id), TypeError);
  }
  assert.deepEqual(server.requests, []);
});

test("a refusal that nobody awaits ends no program", async () => {
  const unhandled = [];
  const note = (reason) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  const { store, server } = await live();
  server.answer(path, () => problem(422, "intent-refused"));
  store.send({ type: "increment" });
  await new Promise((resolve) => { setImmediate(resolve); });
  process.off("unhandledRejection", note);
  assert.equal(server.asked(path).length, 1);
  assert.deepEqual(unhandled, []);
});
