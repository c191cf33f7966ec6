import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Clock, Page, Server, json, live, problem, settle, start } from "./support.mjs";

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

/** A storage that outlives clients, as the browser's or a phone's does. */
function keeping({ isAsync = false } = {}) {
  const items = new Map();
  const given = (value) => isAsync ? Promise.resolve(value) : value;
  return {
    items,
    getItem: (key) => given(items.get(key) ?? null),
    setItem: (key, value) => {
      assert.equal(typeof value, "string");
      return given(items.set(key, value) && undefined);
    },
    get kept() { return JSON.parse([...items.values()][0] ?? "[]").map(({ body }) => JSON.parse(body).amount); },
  };
}

/** A client of a run of the app. Its end is sudden: it is just not asked any more. */
function run(server, clock, pendingStorage, options) {
  const page = new Page();
  const all = start({ server, clock, page, pendingStorage, storage: { getItem: () => server.session, setItem() {}, removeItem() {} }, ...options });
  const abandoned = [];
  all.client.onEvent((event, data) => { if (event === "abandoned") abandoned.push([data.intent.amount, data.error.reason]); });
  const predict = { add: (state, { amount }) => ({ count: state.count + amount }) };
  const store = all.client.store("counter", { predict });
  store.subscribe(() => {});
  return { ...all, store, abandoned, die: () => page.fire(page.window, "offline") };
}

/** What a run leaves that is killed after the first of its intents got no answer. */
async function killed(wanted, storage = keeping()) {
  const [server, clock] = [new Server(), new Clock()];
  const first = run(server, clock, storage);
  await clock.advance();
  server.answer(path, cut);
  for (const amount of wanted) first.store.send({ type: "add", amount });
  await clock.advance(100);
  await first.die();
  return { server, clock, storage };
}

const amounts = (server) => server.asked(path).map(({ body, headers }) => [body.amount, headers["Idempotency-Key"]]);

for (const isAsync of [false, true]) {
  test(`intents that waited when the app was killed are sent by the next run, first and with their keys${isAsync ? ", from an async storage" : ""}`, async () => {
    const { server, clock, storage } = await killed([1, 2, 3], keeping({ isAsync }));
    assert.deepEqual(storage.kept, [1, 2, 3]);
    const before = amounts(server);
    assert.deepEqual(before.map(([amount]) => amount), [1]);

    const second = run(server, clock, storage);
    const sent = second.store.send({ type: "add", amount: 4 });
    await clock.advance(100);
    await sent;
    const after = amounts(server).slice(1);
    assert.deepEqual(after.map(([amount]) => amount), [1, 2, 3, 4]);
    assert.equal(after[0][1], before[0][1], "the same key");
    assert.deepEqual(storage.kept, []);
    assert.deepEqual(second.abandoned, []);
  });
}

test("kept intents are predicted after the first state, but not one that may have run", async () => {
  const { server, clock, storage } = await killed([1, 20]);
  server.answer(path, () => new Promise(() => {}));
  const second = run(server, clock, storage);
  await clock.advance();
  await server.stream.hello();
  await server.stream.state("counter", 7, { count: 100 });
  await clock.advance(2_000);
  assert.deepEqual(second.store.state, { count: 120 });
  assert.deepEqual(second.store.pending.map(({ intent }) => intent.amount), [1, 20]);
});

test("kept intents end with their session, and with their patience by the wall clock", async () => {
  for (const [change, reason] of [
    [({ server }) => server.become("another", "bob"), "other-session"], [({ clock }) => { clock.ahead += 300_001; }, "no-answer"],
  ]) {
    const [server, clock, storage] = [new Server(), new Clock(), keeping()];
    const first = run(server, clock, storage);
    await clock.advance();
    await first.die();
    first.store.send({ type: "add", amount: 1 });
    await clock.advance();
    change({ server, clock });
    const second = run(server, clock, storage);
    await clock.advance(100);
    assert.deepEqual(second.abandoned, [[1, reason]]);
    assert.deepEqual(amounts(server), []);
    assert.deepEqual(storage.kept, []);
  }
});

test("a client that is closed leaves its waiting intents to the next run; a storage that fails keeps none", async () => {
  const [server, clock, storage] = [new Server(), new Clock(), keeping()];
  const first = run(server, clock, storage);
  await clock.advance();
  await first.die();
  first.store.send({ type: "add", amount: 1 });
  await clock.advance();
  first.store.send({ type: "add", amount: 2 });
  first.client.close();
  await clock.advance();
  assert.deepEqual(storage.kept, [1, 2]);
  const broken = { getItem() { throw new Error("denied"); }, setItem: () => Promise.reject(new Error("full")) };
  const entry = { feature: "counter", id: "k", body: "{}", owner: {}, until: 9e15 };
  const texts = ["no JSON", "{}", "7", "[null]", ...[{ feature: "../x" }, { until: null }, { owner: 7 }].map(
    (change) => JSON.stringify([{ ...entry, ...change }]))];
  for (const each of [broken, ...texts.map((text) => ({ ...storage, getItem: () => text }))]) {
    const other = run(server, clock, each);
    await clock.advance();
    await other.store.send({ type: "add", amount: 5 });
  }
});

test("kept intents are shown before those of this run, and a closed client gives none of them up", async () => {
  const { server, clock, storage } = await killed([1, 2]);
  const second = run(server, clock, storage);
  second.store.send({ type: "add", amount: 3 }).catch(() => {});
  server.answer(path, () => new Promise(() => {}));
  await clock.advance();
  assert.deepEqual(second.store.pending.map(({ intent }) => intent.amount), [1, 2, 3]);
  second.client.close();
  await clock.advance();
  assert.deepEqual(second.abandoned, []);
  assert.deepEqual(storage.kept, [1, 2, 3]);
});

test("a kept intent of another session is not in the store; one that was given up can be retried", async () => {
  for (const [change, wanted] of [[({ server }) => server.become("another", "bob"), []], [({ clock }) => { clock.ahead += 300_001; }, ["failed"]]]) {
    const { server, clock, storage } = await killed([1]);
    change({ server, clock });
    const second = run(server, clock, storage);
    await clock.advance(100);
    assert.deepEqual(second.store.pending.map(({ status }) => status), wanted);
    const before = amounts(server).length;
    for (const { retry } of second.store.pending) retry();
    await clock.advance(1_000);
    assert.equal(amounts(server).length, before + wanted.length);
  }
});

test("a kept intent is tied to the version that the app decided by", async () => {
  const [server, clock, storage] = [new Server(), new Clock(), keeping()];
  const first = run(server, clock, storage);
  await clock.advance();
  await server.stream.hello();
  await first.die();
  first.store.send({ type: "add", amount: 1 }, { ifMatch: 3 });
  await clock.advance();
  run(server, clock, storage);
  await clock.advance(100);
  assert.deepEqual(server.asked(path).map(({ headers }) => headers["If-Match"]), ['"e1.3"']);
});

test("what waits for a lost session is not kept for the next user's", async () => {
  const [server, clock, storage] = [new Server(), new Clock(), keeping()];
  const first = run(server, clock, storage);
  await clock.advance();
  const { session } = server;
  server.answer(path, () => problem(404, "session-not-found"));
  server.answer("POST /sessions", ...Array(5).fill(cut));
  first.store.send({ type: "add", amount: 1 });
  await clock.advance(100);
  assert.deepEqual(JSON.parse([...storage.items.values()][0]).map(({ owner }) => owner), [{ session }]);
});

test("a wall clock that was set back keeps no intent longer than its patience", async () => {
  const { server, clock, storage } = await killed([1]);
  clock.ahead -= 3_600_000;
  server.answer(path, ...Array(100).fill(cut));
  const second = run(server, clock, storage);
  await clock.advance(300_001);
  assert.deepEqual(second.abandoned, [[1, "no-answer"]]);
});

test("a first state may have an intent that may have run", async () => {
  const { server, clock, storage } = await killed([1, 20]);
  server.answer(path, () => problem(429, "too-many-requests", { "Retry-After": "60" }));
  const second = run(server, clock, storage);
  await clock.advance();
  await server.stream.hello();
  await server.stream.state("counter", 7, { count: 1 });
  await clock.advance(2_000);
  assert.deepEqual(second.store.state, { count: 21 });
});

test("an intent whose request was out when the app was killed may have run", async () => {
  const [server, clock, storage] = [new Server(), new Clock(), keeping()];
  const first = run(server, clock, storage);
  await clock.advance();
  server.answer(path, () => new Promise(() => {}));
  for (const amount of [1, 2]) first.store.send({ type: "add", amount });
  await clock.advance();
  const kept = { ...storage, setItem() {} };
  server.become("another", "bob");
  const second = run(server, clock, kept);
  const mayHaveRun = [];
  second.client.onEvent((event, { error }) => { if (event === "abandoned") mayHaveRun.push(error.mayHaveRun); });
  await clock.advance();
  assert.deepEqual(mayHaveRun, [true, false]);
});

test("an intent of a session that is still unknown is for the same token only, and with a cookie it is not kept", async () => {
  for (const [credential, next, wanted] of [["bearer", "kept", [1]], ["bearer", "another", []], ["cookie", "kept", []]]) {
    const [server, clock, storage] = [new Server(), new Clock(), keeping()];
    const options = (token) => ({ credential, storage: { getItem: () => token, setItem() {}, removeItem() {} } });
    server.become("kept");
    server.answer("GET /sessions/current", cut, cut);
    server.answer("POST /sessions", cut, cut);
    const first = run(server, clock, storage, options("kept"));
    await first.die();
    first.store.send({ type: "add", amount: 1 });
    await clock.advance();
    first.client.close();
    server.become(next);
    run(server, clock, storage, options(next));
    await clock.advance(20_000);
    assert.deepEqual(amounts(server).map(([amount]) => amount), wanted, `${credential}, ${next}`);
  }
});

test("an intent that cannot be JSON rejects, and a signal that outlives intents keeps nothing of them", async () => {
  const { store, client, server } = await live();
  await assert.rejects(store.send({ type: "add", amount: 1n }), TypeError);
  const { signal } = new AbortController();
  server.answer(path, () => problem(422, "intent-refused"));
  await assert.rejects(store.send({ type: "increment" }, { signal }), { status: 422 });
  await store.send({ type: "increment" }, { signal });
  assert.equal(getEventListeners(signal, "abort").length, 0);
  assert.deepEqual(client.pending, []);
});

test("an intent that is given up while its session is made is not sent", async () => {
  const { client, server, clock } = start();
  let answer;
  server.answer("POST /sessions", () => new Promise((resolve) => { answer = resolve; }));
  const controller = new AbortController();
  const sent = assert.rejects(client.store("counter").send({ type: "increment" }, { signal: controller.signal }),
    { reason: "aborted", mayHaveRun: false });
  await clock.advance();
  controller.abort();
  server.become("s1");
  answer(json(201, { id: "s1", token: "s1" }));
  await sent;
  assert.deepEqual(server.asked(path), []);
});

test("a request that is out survives the page, unless its body is too large for that", async () => {
  const asked = [];
  const server = new Server();
  const { client } = start({ server, platform: { fetch: (url, request) => {
    if (url.endsWith("/intents")) asked.push(request.keepalive);
    return server.fetch(url, request);
  } } });
  for (const length of [5, 19_000, 30_000]) await client.store("counter").send({ type: "x".repeat(length) });
  assert.deepEqual(asked, [true, true, false]);
});

test("when the page goes, what waits behind a request is sent at once, in order and once", async () => {
  const { client, server, page } = await live({ platform: { document: new EventTarget() } });
  const answers = [];
  const held = (request) => new Promise((resolve) => { answers.push(() => resolve(server.usual(request))); });
  server.answer(path, held, held, held);
  const store = client.store("counter");
  const sent = ["a", "b", "c", "x".repeat(20_000), "d"].map((type) => store.send({ type }));
  await settle();
  assert.equal(server.asked(path).length, 1);
  await page.fire(page.window, "pagehide", { persisted: true });
  // What follows a body that is too large for a page that is gone must not run without it.
  const types = () => server.asked(path).map(({ body }) => body.type.slice(0, 1));
  assert.deepEqual(types(), ["a", "b", "c"]);
  // The page comes back.
  await page.fire(page.window, "pageshow", { persisted: true });
  for (const answer of answers) answer();
  assert.equal((await Promise.all(sent)).length, 5);
  assert.deepEqual(types(), ["a", "b", "c", "x", "d"]);
});

test("an intent that a page cut when it was left is sent again, with those behind it", async () => {
  const { client, server, page } = await live({ platform: { document: new EventTarget() } });
  server.answer(path, cut);
  for (const type of ["a", "b"]) client.store("counter").send({ type });
  await settle();
  await page.fire(page.window, "pagehide", { persisted: false });
  const asked = server.asked(path);
  assert.deepEqual(asked.map(({ body }) => body.type), ["a", "a", "b"]);
  const [key, again] = asked.map(({ headers }) => headers["Idempotency-Key"]);
  assert.equal(again, key);
});

test("what the server wants later is not sent when the page goes", async () => {
  const { client, server, page } = await live({ platform: { document: new EventTarget() } });
  server.answer(path, () => problem(503, "draining", { "Retry-After": "9" }));
  for (const type of ["a", "b"]) client.store("counter").send({ type });
  await settle();
  await page.fire(page.window, "pagehide", { persisted: false });
  assert.deepEqual(server.asked(path).map(({ body }) => body.type), ["a"]);
});

test("over many kills of the app each intent runs once, in order, and none is lost", async () => {
  for (let seed = 1; seed <= Number(process.env.MVI_SEEDS ?? 200); seed += 1) {
    let state = seed;
    const random = (count) => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor(state / 256) % count;
    };
    const [server, clock, storage] = [new Server(), new Clock(), keeping({ isAsync: seed % 2 === 0 })];
    const ran = [];
    const keys = new Set();
    let isCalm = false;
    const usual = server.usual.bind(server);
    server.usual = (request) => {
      if (request.kind === path) {
        if (!isCalm && random(4) === 0) return cut();
        const key = request.headers["Idempotency-Key"];
        if (!keys.has(key)) ran.push(request.body.amount);
        keys.add(key);
        if (!isCalm && random(4) === 0) return cut();
      }
      return usual(request);
    };
    let app = run(server, clock, storage);
    let count = 0;
    for (let step = 0; step < 20; step += 1) {
      await clock.advance(random(800));
      if (random(3) > 0) app.store.send({ type: "add", amount: count += 1 });
      else {
        // What is sent in the task of a kill is lost with it.
        await clock.advance();
        await app.die();
        app.client.close();
        app = run(server, clock, storage);
      }
    }
    isCalm = true;
    await clock.advance(60_000);
    assert.deepEqual(ran, Array.from({ length: count }, (_, index) => index + 1), `seed ${seed}`);
    app.client.close();
  }
});
