// Predicted intents in random runs: orders of events and answers, lost answers, retries, refusals, patches, restarts, lost
// sessions, other writers and tabs. MVI_SEEDS is the number of runs (default 200), MVI_FIRST_SEED the first one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser, Clock, Page, json, problem, settle, start } from "./support.mjs";

const count = Number(process.env.MVI_SEEDS ?? 200);
const first = Number(process.env.MVI_FIRST_SEED ?? 1);

/** Mulberry32: numbers from 0 to 1. */
function chanceOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A server with one session and one feature, the list of the ids that were added. */
class World {
  session = 1; epoch = 1; version = 1; ids = []; intent = undefined;
  #receipts = new Map();
  /** The requests for intents without an answer, and the streams. */
  posts = []; streams = new Set();

  fetch = (url, { method, headers, body, signal }) => {
    const { pathname, searchParams } = new URL(url, "http://server");
    const aborted = new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    aborted.catch(() => {});
    return Promise.race([this.#answer(method, pathname, headers, body && JSON.parse(body), signal, searchParams), aborted]);
  };

  get #description() { return { id: `s${this.session}` }; }

  async #answer(method, path, headers, body, signal, query) {
    if (path === "/sessions" && method === "POST") {
      const isBearer = body.credential === "bearer";
      return json(201, { ...this.#description, ...(isBearer && { token: `t${this.session}` }) });
    }
    if (headers.Authorization && headers.Authorization !== `Bearer t${this.session}`) return problem(401, "unauthorized");
    if (path === "/sessions/current") return json(200, this.#description);
    if ((headers["MVI-Session"] ?? `s${this.session}`) !== `s${this.session}`) return problem(409, "other-session");
    if (path === "/events") return this.#open(signal, query.has("delta"));
    return new Promise((answer, fail) => {
      this.posts.push({ answer, fail, key: headers["Idempotency-Key"].replaceAll('"', ""), id: body.id, session: this.session });
    });
  }

  #open(signal, takesPatches) {
    const stream = { sent: null, takesPatches };
    stream.body = new ReadableStream({ start: (controller) => { stream.controller = controller; } });
    signal.addEventListener("abort", () => {
      if (this.streams.delete(stream)) stream.controller.error(new Error("aborted"));
    });
    this.streams.add(stream);
    const session = `s${this.session}`, epoch = `e${this.epoch}`;
    this.write(stream, "hello", { session, epoch, cursor: `${epoch}.1`, heartbeat: 3_600 }, `${epoch}.1`);
    return new Response(stream.body, { headers: { "Content-Type": "text/event-stream" } });
  }

  write(stream, event, data, id) {
    const text = `${id ? `id: ${id}\n` : ""}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    stream.controller.enqueue(new TextEncoder().encode(text));
  }

  /** The newest state, whole or as a patch. */
  flush(stream, chance) {
    const { version, intent, ids } = this;
    if (stream.sent === version) return;
    const isPatch = stream.takesPatches && stream.sent !== null && chance() < 0.5;
    const content = isPatch ? { from: stream.sent, to: version, patch: { ids } } : { version, state: { ids } };
    this.write(stream, isPatch ? "patch" : "state", { feature: "list", intent, ...content });
    stream.sent = version;
  }

  add(id, key) {
    this.version += 1 + (id.length % 2);
    this.ids = [...this.ids, id];
    this.intent = key;
  }

  /** Runs an intent once. Returns its version. */
  run({ key, id }) {
    if (!this.#receipts.has(key)) {
      this.add(id, key);
      this.#receipts.set(key, this.version);
    }
    return this.#receipts.get(key);
  }

  hasRun(key) { return this.#receipts.has(key); }

  cutStreams() {
    for (const stream of this.streams) stream.controller.error(new Error("cut"));
    this.streams.clear();
  }

  /** The session is gone; nothing of it is in the next one. */
  lose() {
    Object.assign(this, { session: this.session + 1, epoch: this.epoch + 1, version: 1, ids: [], intent: undefined });
    this.#receipts.clear();
    this.cutStreams();
  }
}

class Run {
  world = new World();
  clock = new Clock();
  tabs = [];
  keys = 0; taps = 0; others = 0; steps = 0; stepsBack = 0;
  /** The ids that may disappear at present. */
  #allowed = new Set(); #mayReset = false;

  constructor(seed) {
    this.chance = chanceOf(seed);
    const browser = this.chance() < 0.25 ? new Browser() : undefined;
    for (let tab = 0; tab < (browser ? 2 : 1); tab += 1) this.#join(browser);
  }

  #join(browser) {
    const tab = start({
      server: this.world, clock: this.clock, page: new Page(), browser, delta: this.chance() < 0.5 ? "merge-patch" : null,
      platform: { uuid: () => `k${this.keys += 1}`, random: this.chance },
    });
    tab.store = tab.client.store("list", { predict: { add: (state, { id }) => ({ ids: [...state.ids, id] }) } });
    tab.shown = [];
    tab.store.subscribe(() => this.#check(tab));
    this.tabs.push(tab);
  }

  /** Holds a tab's list against the rules at each change. */
  #check(tab) {
    const { state, confirmed, pending } = tab.store;
    const ids = state?.ids ?? [];
    assert.equal(new Set(ids).size, ids.length, `an id is shown twice: ${ids}`);
    const prefix = confirmed?.ids ?? [];
    assert.deepEqual(ids.slice(0, prefix.length), prefix, "the server's list comes first");
    const order = pending.map(({ intent }) => intent.id);
    const places = ids.slice(prefix.length).map((id) => order.indexOf(id));
    assert.ok(places.every((place, index) => place >= 0 && (index === 0 || places[index - 1] < place)), `${ids} ${order}`);
    for (const id of tab.shown.filter((id) => !ids.includes(id))) {
      const isFailed = pending.some(({ intent, status }) => intent.id === id && status === "failed");
      if (isFailed || this.#mayReset || tab.dismissed?.has(id)) continue;
      const since = tab.since.get(id);
      assert.ok(this.clock.time - since >= 1_000, `${id} disappeared after ${this.clock.time - since} ms`);
      this.stepsBack += 1;
    }
    tab.shown = ids;
    tab.since ??= new Map();
    for (const id of ids) if (!tab.since.has(id)) tab.since.set(id, this.clock.time);
  }

  pick(list) { return list[Math.floor(this.chance() * list.length)]; }

  /** One thing happens. */
  async step(isOver = false) {
    const { world } = this, roll = isOver ? 0.3 + this.chance() * 0.45 : this.chance();
    const tab = this.pick(this.tabs), stream = this.pick([...world.streams]);
    if (roll < 0.3) {
      this.taps += 1;
      tab.store.send({ type: "add", id: `${this.taps}` }).catch(() => {});
    } else if (roll < 0.55) {
      if (world.posts.length > 0) this.#answer(world.posts.shift(), isOver ? 1 : this.chance());
    } else if (roll < 0.75) {
      if (stream) world.flush(stream, this.chance);
    } else if (roll < 0.83) world.add(`o${this.others += 1}`, `other${this.others}`);
    else if (roll < 0.86) world.cutStreams();
    else if (roll < 0.95) await this.clock.advance(this.chance() * 250);
    else if (roll < 0.952) await this.clock.advance(1_500);
    else if (roll < 0.96 && stream) {
      this.#mayReset = true;
      world.write(stream, "reset", { reason: "expired", labelsLost: false });
      stream.sent = null;
    } else if (roll < 0.975) {
      this.#mayReset = true;
      world.lose();
    } else if (roll < 0.98 && this.tabs.length > 1) {
      // Its intents are lost with it, unless they have run.
      const [gone] = this.tabs.splice(Math.floor(this.chance() * 2), 1);
      gone.client.close();
      assert.deepEqual(gone.reports, []);
    } else {
      const failed = tab.store.pending.find(({ status }) => status === "failed");
      if (failed && this.chance() < 0.5) failed.retry();
      else if (failed) {
        (tab.dismissed ??= new Set()).add(failed.intent.id);
        failed.dismiss();
      }
    }
    await settle();
  }

  #answer(post, roll) {
    const { world } = this;
    if (post.session !== world.session) return post.answer(problem(401, "unauthorized"));
    if (roll < 0.06) return post.fail(new Error("lost before"));
    if (roll < 0.12) {
      world.run(post);
      return post.fail(new Error("lost after"));
    }
    if (roll < 0.25) return post.answer(problem(503, "overloaded"));
    if (roll < 0.3) return post.answer(problem(429, "too-many-requests"));
    if (roll < 0.38 && !world.hasRun(post.key)) return post.answer(problem(422, "refused"));
    const version = world.run(post), answer = () => post.answer(json(202, { intent: post.key, session: `s${world.session}`, version }));
    // Streams are woken before the answer is sent, or after it.
    if (this.chance() < 0.5) for (const stream of world.streams) world.flush(stream, this.chance);
    return answer();
  }

  async finish() {
    for (let round = 0; round < 400; round += 1) {
      await this.step(true);
      if (round % 10 === 0) await this.clock.advance(2_000);
      const isOver = this.tabs.every(({ client, store }) => client.condition === "live" && store.version === this.world.version
        && store.pending.every(({ status }) => status === "failed"));
      if (isOver && this.world.posts.length === 0 && round > 20) break;
    }
    for (const { store, client, reports } of this.tabs) {
      assert.deepEqual(store.state?.ids, this.world.ids, `at rest, ${client.condition}`);
      assert.deepEqual(reports, []);
      client.close();
    }
  }
}

test(`predictions keep their rules in ${count} random runs`, async () => {
  let [taps, stepsBack] = [0, 0];
  for (let seed = first; seed < first + count; seed += 1) {
    const run = new Run(seed);
    try {
      await run.clock.advance();
      for (let step = 0; step < 60; step += 1) await run.step();
      await run.finish();
    } catch (error) {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    }
    taps += run.taps;
    stepsBack += run.stepsBack;
  }
  console.log(`# ${taps} taps, ${stepsBack} steps back`);
  assert.ok(stepsBack <= taps / 100 || count < 50, `${stepsBack} steps back of ${taps} taps`);
});
