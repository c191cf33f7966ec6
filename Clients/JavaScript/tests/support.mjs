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

  /** What a user, a sleep or the network has set the wall clock ahead by. */
  ahead = 0;

  now = () => this.time;

  wallTime = () => this.time + this.ahead;

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

  /** @param browser the browser of the request, which has the cookie of a `Sessions` */
  fetch = async (url, { method, headers, body, signal, credentials }, browser) => {
    const { pathname, searchParams } = new URL(url, "http://server");
    const kind = `${method} ${pathname}`;
    const request = {
      kind, method, path: pathname, query: searchParams, headers, text: body, body: body && JSON.parse(body), signal,
      browser: credentials === "same-origin" ? browser : undefined,
    };
    this.requests.push(request);
    const given = this.#answers.get(kind)?.shift();
    const aborted = new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    aborted.catch(() => {});
    return Promise.race([given ? given(request) : this.usual(request), aborted]);
  };

  usual(request) {
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
      case request.path === "/events": return this.open(request, this.#id);
      case request.path.endsWith("/intents"):
        return json(202, { intent: "i", session: this.#id, version: this.#version += 1 });
      default: return problem(404, "not-found");
    }
  }

  open(request, session) {
    const stream = new ServerStream(request, session);
    this.streams.push(stream);
    return new Response(stream.body, { headers: { "Content-Type": "text/event-stream" } });
  }
}

/**
 * A server with many sessions, each with a counter: an `add` changes it and publishes a label. Its answers, states and
 * labels name the session. Held by Tests/browsers/checks/tab_sessions.py, whose server is the real one.
 */
export class Sessions extends Server {
  #tokens = new Map();
  #ended = new Set();
  #last = 0;

  /** The server forgets a token's session. */
  lose(token) { this.#tokens.delete(token); }

  /** The session of a token, for the test. */
  of(token) { return this.#tokens.get(token); }

  usual(request) {
    const { kind, body, headers, browser } = request;
    const token = headers.Authorization?.slice("Bearer ".length) ?? browser?.cookie;
    const session = this.#tokens.get(token);
    switch (true) {
      case kind === "POST /sessions":
        if (body.credential === "cookie" && session && (body.identity ?? null) === session.user) return this.#answer(200, session);
        return this.#answer(201, this.#create(body.identity ?? null), body.credential, browser);
      case session === undefined: return this.#ended.has(token) ? problem(404, "session-ended") : problem(401, "unauthorized");
      case (headers["MVI-Session"] ?? session.id) !== session.id: return problem(409, "other-session");
      case kind === "GET /sessions/current": return this.#answer(200, session);
      case kind === "DELETE /sessions/current":
        this.#revoke(token);
        return json(204);
      case kind === "PUT /sessions/current/identity":
        if (session.user !== null) return problem(409, "identity-mismatch");
        this.#revoke(token);
        session.user = body.identity;
        return this.#answer(200, session, headers.Authorization ? "bearer" : "cookie", browser);
      case request.path === "/events": return this.#show(request, token, session);
      case kind === "POST /features/counter/intents":
        session.version += 1;
        session.count += body.amount;
        for (const stream of this.#streamsOf(session)) this.#tell(stream, session);
        return json(202, { intent: "i", session: session.id, version: session.version });
      default: return json(200, { of: session.id, count: session.count });
    }
  }

  #create(user) {
    this.#last += 1;
    return { id: `s${this.#last}`, user, version: 1, count: 0 };
  }

  /** An answer with a new token if there is a kind of credential. */
  #answer(status, session, credential, browser) {
    const token = `token ${this.#last += 1}`;
    if (credential) this.#tokens.set(token, session);
    if (credential === "cookie") browser.cookie = token;
    return json(status, {
      id: session.id, ...(credential === "bearer" && { token }),
      ...(session.user !== null && { identity: { issuer: "i", subject: session.user } }),
    });
  }

  #revoke(token) {
    this.#tokens.delete(token);
    this.#ended.add(token);
    for (const stream of this.streams) if (stream.token === token && stream.isOpen) stream.end();
  }

  #streamsOf(session) { return this.streams.filter((stream) => stream.isOpen && stream.session === session.id); }

  #show(request, token, session) {
    const response = this.open(request, session.id);
    const { stream } = this;
    stream.token = token;
    stream.hello();
    this.#showState(stream, session);
    return response;
  }

  #showState(stream, { id, version, count }) { stream.state("counter", version, { of: id, count }); }

  #tell(stream, session) {
    const { id, version } = session;
    this.#showState(stream, session);
    stream.send("label", { feature: "counter", id: `${id}.${version}`, version, label: { of: id } });
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

/** A storage as browsers have it: it keeps texts. */
class Storage {
  #values = new Map();

  constructor(entries = []) { for (const [key, value] of entries) this.setItem(key, value); }

  get entries() { return [...this.#values]; }

  getItem(key) { return this.#values.get(String(key)) ?? null; }
  setItem(key, value) { this.#values.set(String(key), String(value)); }
  removeItem(key) { this.#values.delete(String(key)); }
}

/**
 * One tab of a browser: its own `sessionStorage`, the browser's `localStorage`, and its ends of locks and channels. The
 * check in real browsers that holds each double is in Tests/browsers/checks/tab_platform.py.
 */
class Tab {
  /** A frozen tab's messages are lost, as where a page is in the back-forward cache. */
  isFrozen = false;
  isGone = false;
  #browser; #end = new AbortController();

  constructor(browser, copied) {
    this.#browser = browser;
    this.localStorage = browser.localStorage;
    // Held by `storages`: tabs have a `sessionStorage` each; a duplicated tab begins with a copy.
    this.sessionStorage = new Storage(copied?.sessionStorage.entries);
    this.locks = browser.locksOf(this);
    this.BroadcastChannel = browser.channelOf(this);
  }

  /** The process ends: no script of the tab runs any more, its requests end, and its locks are free. */
  crash() {
    this.isGone = true;
    this.#browser.forget(this);
    this.#end.abort(new TypeError("The tab is gone."));
  }

  /** Parts of a platform that end with the tab. */
  platform(server, clock) {
    return {
      fetch: (url, init) => {
        if (this.isGone) return new Promise(() => {});
        const signal = init.signal ? AbortSignal.any([init.signal, this.#end.signal]) : this.#end.signal;
        return server.fetch(url, { ...init, signal }, this.#browser);
      },
      setTimeout: (call, milliseconds) => clock.setTimeout(() => { if (!this.isGone) call(); }, milliseconds),
    };
  }
}

/** What the tabs of one browser share: the cookie, `localStorage`, locks and channels. */
export class Browser {
  cookie;
  // Held by `storages`: all tabs have the same.
  localStorage = new Storage();
  /** The names of all locks and channels so far. */
  names = new Set();
  #locks = new Map();
  #channels = new Set();

  constructor({ isLate = () => false } = {}) { this.isLate = isLate; }

  tab({ duplicates } = {}) { return new Tab(this, duplicates); }

  #lock(name) {
    this.names.add(name);
    if (!this.#locks.has(name)) this.#locks.set(name, { held: null, waiting: [] });
    return this.#locks.get(name);
  }

  isHeld(name) { return this.#lock(name).held !== null; }

  // Held by `locks`: one holder at a time, in order; a thief rejects the holder's request with AbortError; a signal ends
  // a request that waits. An abort in the task of the request is lost, as in Chromium.
  locksOf(tab) {
    return {
      request: (name, ...rest) => {
        const work = rest.at(-1);
        const { steal, signal } = rest.length > 1 ? rest[0] : {};
        if (steal && signal) return Promise.reject(new DOMException("steal and signal", "NotSupportedError"));
        if (signal?.aborted) return Promise.reject(signal.reason);
        const lock = this.#lock(name);
        return new Promise((resolve, reject) => {
          const entry = { tab, work, resolve, reject };
          if (steal) {
            lock.held?.reject(new DOMException("stolen", "AbortError"));
            lock.held = null;
            lock.waiting.unshift(entry);
          } else lock.waiting.push(entry);
          let isQueued = false;
          setImmediate(() => { isQueued = true; });
          signal?.addEventListener("abort", () => {
            if (!isQueued || !lock.waiting.includes(entry)) return;
            lock.waiting = lock.waiting.filter((other) => other !== entry);
            reject(signal.reason);
          });
          this.#grant(lock);
        });
      },
    };
  }

  #grant(lock) {
    if (lock.held !== null || lock.waiting.length === 0) return;
    const entry = lock.held = lock.waiting.shift();
    const isOver = () => {
      if (lock.held !== entry) return;
      lock.held = null;
      this.#grant(lock);
    };
    // In a task of its own: the browser's lock manager is another process.
    new Promise((resolve) => setImmediate(resolve)).then(() => {
      if (!entry.tab.isGone) return entry.work({});
    }).then((value) => { isOver(); entry.resolve(value); }, (error) => { isOver(); entry.reject(error); });
  }

  // Held by `messages`: each receiver gets a structured clone, the sender none; a closed channel sends nothing. Messages of
  // one channel keep their order; those of two channels do not: `isLate` delays some.
  channelOf(tab) {
    const channels = this.#channels;
    const { names, isLate } = this;
    return class {
      constructor(name) {
        names.add(name);
        this.name = name;
        this.tab = tab;
        channels.add(this);
      }
      postMessage(message) {
        if (!channels.has(this) && !tab.isGone) throw new DOMException("The channel is closed.", "InvalidStateError");
        const copy = structuredClone(message);
        if (tab.isFrozen || tab.isGone) return;
        for (const other of channels) {
          if (other === this || other.name !== this.name) continue;
          this.#deliver(isLate(this.name) ? 40 : 1, () => {
            if (channels.has(other) && !other.tab.isFrozen) other.onmessage?.({ data: structuredClone(copy) });
          });
        }
      }
      #deliver(turns, call) { setImmediate(() => turns > 1 ? this.#deliver(turns - 1, call) : call()); }
      close() { channels.delete(this); }
    };
  }

  // Held by `closed` and `crashed`: the locks of a tab that is gone pass on.
  forget(tab) {
    for (const channel of this.#channels) if (channel.tab === tab) this.#channels.delete(channel);
    for (const lock of this.#locks.values()) {
      lock.waiting = lock.waiting.filter((entry) => entry.tab !== tab);
      if (lock.held?.tab === tab) lock.held = null;
      this.#grant(lock);
    }
  }
}

/** A client with fakes. Without a browser it has no tabs and a token. */
export function start({
  server = new Server(), clock = new Clock(), page = new Page(), browser, tab = browser?.tab() ?? {}, platform, ...options
} = {}) {
  const reports = [];
  const { locks, BroadcastChannel } = tab;
  const client = createClient({
    credential: browser ? "cookie" : "bearer", ...options,
    platform: {
      fetch: server.fetch, EventSource: undefined, window: page.window, now: clock.now, wallTime: clock.wallTime, setTimeout: clock.setTimeout,
      clearTimeout: clock.clearTimeout, random: () => 0.5, report: (error) => reports.push(error),
      locale: undefined, timeZone: undefined,
      ...tab.platform?.(server, clock), locks, BroadcastChannel, document: browser && page.document, ...platform,
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
