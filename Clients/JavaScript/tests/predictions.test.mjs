// Predicted intents: the vectors that all clients run, and what is this client's own.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Browser, Server, json, live, problem, settle, start } from "./support.mjs";

const { vectors } = JSON.parse(readFileSync(new URL("../../Conformance/predictions.json", import.meta.url)));

const add = (state, { id }) => {
  if (id === "throws") throw new Error("It cannot be predicted.");
  return { ids: [...state.ids, id] };
};

/** Performs the steps of a vector: see README.md of the kit. */
class Player {
  server = new Server();
  keys = [];
  labels = [];
  /** The answers of the attempts that are in flight. */
  #waiting = [];

  constructor() {
    const usual = this.server.fetch;
    const fetch = (url, request) => {
      if (!(request.method === "POST" && url.endsWith("/intents"))) return usual(url, request);
      return new Promise((answer, fail) => {
        this.#waiting.push({ answer, fail, key: request.headers["Idempotency-Key"] });
        request.signal.addEventListener("abort", () => fail(request.signal.reason));
      });
    };
    Object.assign(this, start({
      server: this.server, delta: "merge-patch", platform: { fetch, uuid: () => this.keys.shift() },
    }));
    this.store = this.client.store("list", { predict: { add } });
    this.endLabels = this.store.onLabel((label) => this.labels.push(label));
    this.end = this.store.subscribe(() => {});
  }

  async open(epoch) {
    await this.clock.advance();
    await this.server.stream.hello(epoch && { epoch, cursor: `${epoch}.1` });
  }

  #send(id) {
    this.keys.push(id);
    this.store.send({ type: id === "plain" ? "note" : "add", id }).catch(() => {});
  }

  /** The answer to the attempt in flight, which has this key. */
  async #answer(make) {
    await this.clock.advance();
    const { answer, fail, key } = this.#waiting.shift();
    const made = make(key.replaceAll('"', ""));
    if (made instanceof Error) fail(made);
    else answer(made);
    await settle();
  }

  async #repeated() {
    for (let step = 0; step < 9 && this.#waiting.length === 0; step += 1) await this.clock.advance(100);
    assert.equal(this.#waiting.length, 1, "it was sent again");
  }

  async step(step) {
    const { stream } = this.server;
    const event = async (name, data) => stream.send(name, { feature: "list", ...data });
    switch (Object.keys(step)[0]) {
      case "state": {
        const { version, intent, ids } = step.state;
        return event("state", { version, intent, state: { ids } });
      }
      case "patch": {
        const { ids, ...patch } = step.patch;
        return event("patch", { ...patch, patch: { ids } });
      }
      case "label": return event("label", { version: 1, id: step.label, label: step.label });
      case "tap":
        this.#send(step.tap);
        return settle();
      case "taps": return Array.from({ length: step.taps }, (_, index) => this.#send(`t${index}`));
      case "answer": return this.#answer((key) => json(202, { intent: key, session: "s1", version: step.answer }));
      case "refuse": return this.#answer(() => problem(step.refuse, step.refuse === 403 ? "forbidden" : "refused"));
      case "lost":
        await this.#answer(() => new Error("reset"));
        return this.#repeated();
      case "busy":
        await this.#answer(() => problem(step.busy, "busy"));
        return this.#repeated();
      case "limited": return this.#answer(() => problem(429, "too-many-requests"));
      case "repeated": return this.#repeated();
      case "wait": return this.clock.advance(step.wait);
      case "reset": return stream.send("reset", { reason: "expired", labelsLost: false });
      case "hello":
        await stream.end();
        await this.clock.advance(4_000);
        return this.open(step.hello);
      case "end": return event("end");
      case "denied": return event("denied");
      case "unwatch":
        this.end();
        this.endLabels();
        return settle();
      case "retry": case "dismiss":
        this.store.pending.find(({ id }) => id === (step.retry ?? step.dismiss))[step.retry ? "retry" : "dismiss"]();
        return settle();
      default: throw new Error(`There is no step ${JSON.stringify(step)}.`);
    }
  }
}

for (const { name, steps } of vectors) {
  test(`vector: ${name}`, async () => {
    const player = new Player();
    await player.open();
    for (const [index, step] of steps.entries()) {
      await player.step(step);
      const { store, labels } = player;
      const expect = (member, value) =>
        assert.deepEqual(value, step[member], `${member} after step ${index}: ${JSON.stringify(step)}`);
      if ("shows" in step) expect("shows", store.state?.ids ?? null);
      if ("confirmed" in step) expect("confirmed", store.confirmed?.ids ?? null);
      if (typeof step.version === "number") expect("version", store.version);
      if ("pending" in step) expect("pending", store.pending.map(({ id, status }) => [id, status]));
      if ("labels" in step) expect("labels", labels);
      if ("pendingCount" in step) expect("pendingCount", store.pending.length);
      if ("shownCount" in step) expect("shownCount", store.state.ids.length);
    }
    player.client.close();
  });
}

/** A watched counter with a prediction, and the fates of its intents. */
async function predicting(options) {
  const setup = await live(options);
  const answers = [];
  const reply = () => new Promise((answer) => answers.push(answer));
  setup.server.answer("POST /features/counter/intents", reply, reply, reply);
  setup.client.store("counter", { predict: { add: (state, { amount }) => ({ ...state, count: state.count + amount }) } });
  return { ...setup, answers };
}

test("an intent is shown before send returns, also one that is given as text", async () => {
  const { store, shown } = await predicting();
  store.send({ type: "add", amount: 2 });
  assert.deepEqual(store.state, { count: 2 });
  store.send('{"type":"add","amount":3}');
  assert.deepEqual(store.state, { count: 5 });
  assert.deepEqual([store.confirmed, store.version], [{ count: 0 }, 1]);
  assert.deepEqual(shown.at(-1), { count: 5 });
});

test("the state and the pending intents are the same objects until they change", async () => {
  const { server, store, answers } = await predicting();
  store.send({ type: "add", amount: 2 });
  await settle();
  const { state, pending } = store;
  await server.stream.state("counter", 2, { count: 7 });
  assert.equal(store.state, state, "the state is held");
  assert.equal(store.pending, pending);
  await server.stream.state("counter", 1, { count: 0 });
  assert.equal(store.pending, pending);
  answers[0](json(202, { intent: "i", session: "s1", version: 3 }));
  await settle();
  assert.equal(store.pending[0].status, "sent");
  assert.notEqual(store.pending[0], pending[0]);
});

test("an intent that a listener sends at once is behind the one that it saw, in the list and on the wire", async () => {
  const { server, store, answers } = await predicting();
  const end = store.subscribe(() => {
    end();
    store.send({ type: "add", amount: 10 });
  });
  store.send({ type: "add", amount: 1 });
  assert.deepEqual(store.pending.map(({ intent }) => intent.amount), [1, 10]);
  await settle();
  answers[0](json(202, { intent: "i", session: "s1", version: 2 }));
  await settle();
  assert.deepEqual(server.asked("POST /features/counter/intents").map(({ body }) => body.amount), [1, 10]);
});

test("an intent that failed does not wait any more when a listener hears of it", async () => {
  const { client, store, answers } = await predicting();
  const heard = [];
  store.send({ type: "add", amount: 1 }).catch(() => {});
  store.subscribe(() => heard.push([store.pending.map(({ status }) => status), client.pending.length]));
  await settle();
  answers[0](problem(422, "refused"));
  await settle();
  assert.deepEqual(heard, [[["failed"], 0]]);
});

test("an intent that was given as text is tried again as that text", async () => {
  const bodies = [];
  const { server, store } = await live();
  store.predict({ add: (state) => state });
  for (const _ of [1, 2]) {
    server.answer("POST /features/counter/intents", (request) => {
      bodies.push(request.text);
      return problem(422, "refused");
    });
  }
  await store.send('{"type":"add", "amount":9007199254740993}').catch(() => {});
  store.pending[0].retry();
  await settle();
  assert.deepEqual(bodies, Array(2).fill('{"type":"add", "amount":9007199254740993}'));
});

test("nothing is predicted after the end of a store, or without access, until its next state", async () => {
  for (const event of ["end", "denied"]) {
    const { server, store } = await predicting();
    await server.stream.send(event, { feature: "counter" });
    const { state } = store;
    store.send({ type: "add", amount: 2 });
    assert.equal(store.state, state);
    await settle();
    await server.stream.state("counter", 5, { count: 1 });
    assert.deepEqual(store.state, { count: 1 });
    store.send({ type: "add", amount: 3 });
    assert.deepEqual(store.state, { count: 4 });
  }
});

test("failed intents take no place of others, and another session forgets them", async () => {
  const { server, client, clock, store } = await live();
  store.predict({ add: (state, { amount }) => ({ count: state.count + amount }) });
  for (let number = 0; number < 120; number += 1) {
    server.answer("POST /features/counter/intents", () => problem(422, "refused"));
    await store.send({ type: "add", amount: 1 }).catch(() => {});
  }
  store.send({ type: "add", amount: 7 });
  assert.deepEqual([store.pending.length, store.state.count], [100, 7]);
  await settle();
  server.become("another");
  await server.stream.end();
  await clock.advance(3_000);
  await server.stream.hello();
  assert.equal(client.session, server.session);
  assert.equal(store.pending.length, 0);
});

test("until shown, and shown, mean the confirmed state", async () => {
  const { server, store, answers } = await predicting();
  let isShown = false;
  store.send({ type: "add", amount: 2 }, { until: "shown" }).then(() => { isShown = true; });
  await settle();
  answers[0](json(202, { intent: "i", session: "s1", version: 2 }));
  await settle();
  assert.equal(isShown, false);
  await server.stream.state("counter", 2, { count: 2 });
  assert.equal(isShown, true);
});

test("a label is handed over after its state, also if both were held", async () => {
  const { server, store, answers } = await predicting();
  const heard = [];
  store.onLabel((label) => heard.push([label, store.state.count]));
  store.send({ type: "add", amount: 2 });
  await settle();
  await server.stream.state("counter", 3, { count: 12 });
  await server.stream.send("label", { feature: "counter", version: 3, id: "l", label: "twelve" });
  answers[0](json(202, { intent: "i", session: "s1", version: 2 }));
  await settle();
  assert.deepEqual(heard, [["twelve", 12]]);
});

test("a prediction that the state differs from is an event", async () => {
  const { client, server, store } = await predicting({ platform: { uuid: () => "k" } });
  const events = [];
  client.onEvent((event, data) => { if (event === "misprediction") events.push(data); });
  store.send({ type: "add", amount: 2 });
  await settle();
  await server.stream.send("state", { feature: "counter", version: 2, intent: "k", state: { count: 1 } });
  const intent = { type: "add", amount: 2 };
  assert.deepEqual(events, [{ feature: "counter", intent, predicted: { count: 2 }, state: { count: 1 } }]);
});

test("a store without predictions shows states as they come, and nothing is pending", async () => {
  const { server, store, shown } = await live();
  store.send({ type: "add", amount: 2 });
  await settle();
  await server.stream.state("counter", 2, { count: 7 });
  assert.deepEqual([shown, store.pending, store.confirmed], [[{ count: 0 }, { count: 7 }], [], { count: 7 }]);
});

test("an answered intent has a stream in back-off connect at once, ten times a second at most", async () => {
  const { client, server, clock, store } = await live();
  await server.stream.end();
  assert.equal(client.condition, "reconnecting");
  for (const pause of [0, 99, 1]) {
    await store.send({ type: "add", amount: 1 });
    await clock.advance(pause);
    assert.equal(server.streams.length, pause === 1 ? 2 : 1);
  }
});

test("a stream that was told when to come back does so, whatever is answered", async () => {
  for (const leave of [
    (server) => server.stream.send("goaway", { reason: "drain", retry: 8_000 }),
    async (server) => {
      server.answer("GET /events", () => problem(503, "overloaded", { "Retry-After": "8" }));
      await server.stream.end();
    },
  ]) {
    const { client, server, clock, store } = await live();
    await leave(server);
    await clock.advance(3_000);
    const asked = server.asked("GET /events").length;
    await store.send({ type: "add", amount: 1 });
    await settle();
    assert.equal(client.condition, "reconnecting");
    assert.equal(server.asked("GET /events").length, asked);
    await clock.advance(9_600);
    assert.equal(server.asked("GET /events").length, asked + 1);
  }
});

test("a tab that follows tells the leader that the server is there", async () => {
  const browser = new Browser();
  const leader = await live({ browser, tab: {} });
  const follower = start({ browser, tab: {}, server: leader.server, clock: leader.clock });
  const store = follower.client.store("counter");
  store.subscribe(() => {});
  await leader.clock.advance();
  await settle();
  await leader.server.stream.hello();
  await leader.server.stream.end();
  await settle();
  assert.equal(follower.client.condition, "reconnecting");
  const asked = leader.server.streams.length;
  await store.send({ type: "add", amount: 1 });
  await settle();
  await leader.clock.advance(100);
  assert.equal(leader.server.streams.length, asked + 1);
});
