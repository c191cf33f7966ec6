// Fakes of a client's environment: time that tests advance, a server whose requests tests answer, and a browser with
// tabs.
import assert from "node:assert/strict";
import { createClient } from "../mvi-client.js";

/** Runs all pending microtasks and immediate callbacks. */
export async function settle() {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A clock with timers; time advances in `advance` only. */
export class Clock {
  time = 1_000_000;
  #timers = new Map();
  #last = 0;

  now = () => this.time;

  setTimeout = (call, milliseconds) => {
    this.#last += 1;
    this.#timers.set(this.#last, { call, at: this.time + milliseconds });
    return this.#last;
  };

  clearTimeout = (timer) => this.#timers.delete(timer);

  /** Advances the time and runs the timers that are due. */
  async advance(milliseconds = 0) {
    const end = this.time + milliseconds;
    await settle();
    for (;;) {
      const [timer, next] = [...this.#timers].sort(([, a], [, b]) => a.at - b.at)[0] ?? [];
      if (timer === undefined || next.at > end) break;
      this.#timers.delete(timer);
      this.time = Math.max(this.time, next.at);
      next.call();
      await settle();
    }
    this.time = end;
  }
}

export const json = (status, content, headers = {}) =>
  new Response(content === undefined ? null : JSON.stringify(content), {
    status, headers: { "Content-Type": status < 400 ? "application/json" : "application/problem+json", ...headers },
  });

export const problem = (status, name, headers) => json(status, { type: `/problems/${name}`, title: name, status }, headers);

/** A server with working sessions; a test may answer any request itself. */
export class Server {
  requests = [];
  streams = [];
  /** The credential, which all tabs of a browser share if it is a cookie. */
  session = null;
  /** The session's id, if it differs from the credential's text. */
  id = null;
  /** The session's user. */
  subject = null;
  #made = 0;
  #version = 1;
  #answers = new Map();

  /** Answers the next requests of this kind, such as `POST /sessions`, with what these functions return. */
  answer(kind, ...answers) {
    this.#answers.set(kind, [...(this.#answers.get(kind) ?? []), ...answers]);
  }

  /** Replaces the session by another one, with or without a user. */
  become(session, subject = null) {
    Object.assign(this, { session, subject, id: null });
  }

  get #id() { return this.id ?? this.session; }

  get #description() {
    return { id: this.#id, ...(this.subject !== null && { identity: { issuer: "i", subject: this.subject } }) };
  }

  asked(kind) { return this.requests.filter((request) => request.kind === kind); }

  get stream() { return this.streams.at(-1); }

  fetch = async (url, { method, headers, body, signal }) => {
    const { pathname, searchParams } = new URL(url, "http://server");
    const kind = `${method} ${pathname}`;
    const request = { kind, method, path: pathname, query: searchParams, headers, text: body, body: body && JSON.parse(body), signal };
    this.requests.push(request);
    const given = this.#answers.get(kind)?.shift();
    const aborted = new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    aborted.catch(() => {});
    return Promise.race([given ? given(request) : this.#usual(request), aborted]);
  };

  #usual(request) {
    const isKnown = request.headers.Authorization
      ? request.headers.Authorization === `Bearer ${this.session}` : this.session !== null;
    switch (true) {
      case request.kind === "POST /sessions": {
        const { credential, identity } = request.body;
        const isNew = this.session === null || credential === "bearer" || (identity ?? this.subject) !== this.subject;
        if (isNew) this.become(`s${this.#made += 1}`, identity);
        return json(isNew ? 201 : 200, { ...this.#description, ...(credential === "bearer" && { token: this.session }) });
      }
      case !isKnown: return problem(401, "unauthorized");
      case (request.headers["MVI-Session"] ?? this.#id) !== this.#id: return problem(409, "other-session");
      case request.kind === "GET /sessions/current": return json(200, this.#description);
      case request.kind === "DELETE /sessions/current":
        this.session = null;
        return json(204);
      case request.path === "/events": return this.#open(request);
      case request.path.endsWith("/intents"):
        return json(202, { intent: "i", session: this.#id, version: this.#version += 1 });
      default: return problem(404, "not-found");
    }
  }

  #open(request) {
    const stream = new ServerStream(request, this.#id);
    this.streams.push(stream);
    return new Response(stream.body, { headers: { "Content-Type": "text/event-stream" } });
  }
}

/** The server's side of an event stream. */
class ServerStream {
  isOpen = true;
  #controller;

  constructor(request, session) {
    this.request = request;
    this.session = session;
    this.body = new ReadableStream({ start: (controller) => { this.#controller = controller; } });
    request.signal.addEventListener("abort", () => {
      if (this.isOpen) this.#controller.error(new Error("aborted"));
      this.isOpen = false;
    });
  }

  get features() { return this.request.query.getAll("feature"); }

  write(text) { this.#controller.enqueue(new TextEncoder().encode(text)); }

  async send(event, data, id) {
    this.write(`${id ? `id: ${id}\n` : ""}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    await settle();
  }

  async hello(more) {
    await this.send("hello", { session: this.session, epoch: "e1", cursor: "e1.1", heartbeat: 20, ...more }, "e1.1");
  }

  async state(feature, version, state) { await this.send("state", { feature, version, state }); }

  async end() {
    this.isOpen = false;
    this.#controller.close();
    await settle();
  }
}

/** A storage like `sessionStorage`, and its content. */
export function storing(entries) {
  const values = new Map(entries);
  const storage = {
    getItem: (key) => values.get(key) ?? null, setItem: (key, value) => values.set(key, value),
    removeItem: (key) => values.delete(key),
  };
  return { values, storage };
}

/** A page's `window` and `document`. */
export class Page {
  window = new EventTarget();
  document = Object.assign(new EventTarget(), { visibilityState: "visible" });

  async fire(target, name, members) {
    target.dispatchEvent(Object.assign(new Event(name), members));
    await settle();
  }
}

/** The locks and channels that the tabs of one browser share. */
export class Browser {
  #locks = new Map();
  #channels = new Set();

  #lock(name) {
    if (!this.#locks.has(name)) this.#locks.set(name, { held: null, waiting: [] });
    return this.#locks.get(name);
  }

  isHeld(name) { return this.#lock(name).held !== null; }

  locks = {
    request: (name, ...rest) => {
      const work = rest.at(-1);
      const { steal, signal } = rest.length > 1 ? rest[0] : {};
      const lock = this.#lock(name);
      return new Promise((resolve, reject) => {
        const entry = { work, resolve, reject };
        if (steal) {
          lock.held?.reject(new DOMException("stolen", "AbortError"));
          lock.held = null;
          lock.waiting.unshift(entry);
        } else lock.waiting.push(entry);
        signal?.addEventListener("abort", () => {
          lock.waiting = lock.waiting.filter((other) => other !== entry);
          reject(signal.reason);
        });
        this.#grant(lock);
      });
    },
  };

  #grant(lock) {
    if (lock.held !== null || lock.waiting.length === 0) return;
    const entry = lock.held = lock.waiting.shift();
    const isOver = () => {
      if (lock.held !== entry) return;
      lock.held = null;
      this.#grant(lock);
    };
    Promise.resolve().then(() => entry.work({})).then(
      (value) => { isOver(); entry.resolve(value); }, (error) => { isOver(); entry.reject(error); });
  }

  /** A channel class of one tab; it receives nothing while `isFrozen`. */
  channelOf(tab) {
    const channels = this.#channels;
    return class {
      constructor(name) {
        this.name = name;
        this.tab = tab;
        channels.add(this);
      }
      postMessage(message) {
        if (tab.isFrozen) return;
        const copy = structuredClone(message);
        for (const other of channels) {
          if (other === this || other.name !== this.name) continue;
          setImmediate(() => { if (channels.has(other) && !other.tab.isFrozen) other.onmessage?.({ data: copy }); });
        }
      }
      close() { channels.delete(this); }
    };
  }
}

/** A client with fakes. Without a browser it has no tabs and a token. */
export function start({ server = new Server(), clock = new Clock(), page = new Page(), browser, tab = {}, platform, ...options } = {}) {
  const reports = [];
  const shared = browser ? { locks: browser.locks, BroadcastChannel: browser.channelOf(tab), document: page.document } : {};
  const client = createClient({
    credential: browser ? "cookie" : "bearer", ...options,
    platform: {
      fetch: server.fetch, EventSource: undefined, locks: undefined, BroadcastChannel: undefined,
      document: undefined, window: page.window, now: clock.now, setTimeout: clock.setTimeout, clearTimeout: clock.clearTimeout,
      random: () => 0.5, report: (error) => reports.push(error), ...shared, ...platform,
    },
  });
  return { client, server, clock, page, tab, reports };
}

/** A client that watches `counter` and is live. */
export async function live(options) {
  const setup = start(options);
  const store = setup.client.store("counter");
  const shown = [];
  store.subscribe(() => shown.push(store.state));
  await setup.clock.advance();
  await setup.server.stream.hello();
  await setup.server.stream.state("counter", 1, { count: 0 });
  assert.equal(setup.client.condition, "live");
  return { ...setup, store, shown };
}
