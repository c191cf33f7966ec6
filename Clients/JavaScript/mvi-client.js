// A client of mvi-server. mvi-client.d.ts describes its public members, README.md is its guide, docs/http.md its contract.

const limits = {
  retry: 3_000, longestRetry: 30_000, shortestRetry: 100, longestRetryAfter: 300_000,
  heartbeat: 20_000, silentHeartbeats: 2.5,
  request: 30_000, patience: 300_000, queuedIntents: 1_000, firstIntentRetry: 500,
  labelIds: 1_000, keptLabels: 1_000, doubts: 3, leaderAnswer: 5_000,
  // Letters of intents when a page is left: a browser takes 64 KiB.
  predictions: 100, doubt: 1_000, keepalive: 20_000,
};

/** The events with their members: each has a type, or may be anything. */
const members = {
  hello: { session: "string", epoch: "string" }, state: { feature: "string", version: "number", state: "any" },
  patch: { feature: "string", from: "number", to: "number", patch: "any" },
  label: { feature: "string", id: "string", label: "any" }, end: { feature: "string" }, denied: { feature: "string" },
  presence: { feature: "string", count: "number", viewers: "array" }, goaway: { reason: "string" }, ping: {}, reset: {}, identity: {},
};

// ---------------------------------------------------------------- errors

export class Problem extends Error {
  constructor(status, document = {}, retryAfter) {
    super(document.detail ?? document.title ?? `The server answered ${status}.`);
    Object.assign(this, { name: "Problem", status, document, retryAfter });
  }
  get type() { return this.document.type ?? null; }
  get kind() { return this.type?.split("/").pop(); }
  get code() { return this.document.code ?? null; }

  static async from(response) {
    const isJSON = (response.headers.get("Content-Type") ?? "").includes("json");
    const document = isJSON ? await response.json().catch(() => null) : null;
    return new Problem(response.status, isObject(document) ? document : {}, retryAfter(response));
  }
}

function retryAfter(response) {
  const value = response.headers.get("Retry-After")?.trim() ?? "";
  // Scripts of other origins may not see the server's clock.
  const sent = Date.parse(response.headers.get("Date")) || Date.now();
  const milliseconds = /^[0-9]+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - sent;
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds);
}

export class SendError extends Error {
  constructor(reason, message, mayHaveRun = false, cause) {
    super(message, { cause });
    Object.assign(this, { name: "SendError", reason, mayHaveRun });
  }
}

/** The server asks for an identity, and the client has none. */
class SignedOut extends Error {}

function remedy({ status, kind }) {
  if (kind === "session-ended") return "ended";
  if (kind === "identity-expired") return "identity";
  if (status === 401 || kind === "session-not-found") return "session";
  if (kind === "intent-in-progress" || kind === "storage-full") return "wait";
  // The feature's own refusals: the app decides.
  if (kind === "intent-limited" || kind === "check-timeout") return "refused";
  return [408, 429, 502, 503, 504].includes(status) ? "wait" : "refused";
}

// ---------------------------------------------------------------- server-sent events

export class EventParser {
  lastId;
  retry;
  #id; #line = ""; #endsInReturn = false; #event = ""; #data = [];

  *push(text) {
    if (text === "") return;
    if (this.#endsInReturn && text[0] === "\n") text = text.slice(1);
    this.#endsInReturn = text.endsWith("\r");
    const lines = (this.#line + text).split(/\r\n|\r|\n/);
    this.#line = lines.pop();
    for (const line of lines) {
      if (line === "") yield* this.#dispatch();
      else this.#field(line);
    }
  }

  #field(line) {
    const [, name, value = ""] = /^([^:]*)(?:: ?([^]*))?$/.exec(line);
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^[0-9]+$/.test(value)) this.retry = Number(value);
  }

  *#dispatch() {
    this.lastId = this.#id;
    const [event, data] = [this.#event || "message", this.#data];
    this.#event = "";
    this.#data = [];
    if (data.length > 0) yield { event, data: data.join("\n"), id: this.lastId };
  }
}

function checkEvent(event, data) {
  const isGood = isObject(data) && Object.entries(members[event]).every(
    ([name, type]) => type === "any" ? Object.hasOwn(data, name)
      : type === "array" ? Array.isArray(data[name]) : typeof data[name] === type);
  if (!isGood) throw new Error(`A member of the event "${event}" is missing or invalid.`);
}

// ---------------------------------------------------------------- patches

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const own = (object, key) => Object.hasOwn(object, key) ? object[key] : undefined;
// Also a member called `__proto__`.
const set = (object, key, value) => Object.defineProperty(
  object, key, { value, writable: true, enumerable: true, configurable: true });

/** Applies a merge patch (RFC 7396). Copies each changed object once, and changes no argument. */
export function applyMergePatch(target, patch) {
  if (!isObject(patch)) return patch;
  const result = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else set(result, key, applyMergePatch(own(result, key), value));
  }
  return result;
}

/** Applies a JSON Patch (RFC 6902), or throws. Copies each changed container once, and changes no argument. */
export function applyJSONPatch(target, operations) {
  // The containers that this patch has made, and may change.
  const made = new Set();
  const copied = (container) => {
    if (made.has(container)) return container;
    const copy = Array.isArray(container) ? [...container] : { ...container };
    made.add(copy);
    return copy;
  };
  /** A change at one of two places copies a value again. */
  const share = (value) => {
    if (made.delete(value)) Object.values(value).forEach(share);
    return value;
  };
  const edited = (document, path, change, value) => {
    if (path.length === 0) return change === "remove" ? null : value;
    const last = path.at(-1);
    const root = copied(checked(document, path[0]));
    let container = root;
    for (let index = 0; index < path.length - 1; index += 1) {
      const part = place(container, path[index]);
      const inner = copied(checked(container[part], path[index + 1]));
      set(container, part, inner);
      container = inner;
    }
    if (Array.isArray(container)) {
      const isEnd = change === "add" && (last === "-" || last === String(container.length));
      const at = isEnd ? container.length : Number(place(container, last));
      container.splice(at, change === "add" ? 0 : 1, ...(change === "remove" ? [] : [value]));
    } else {
      if (change !== "add") place(container, last);
      if (change === "remove") delete container[last];
      else set(container, last, value);
    }
    return root;
  };
  return operations.reduce((document, operation) => {
    const { op, path, value } = operation;
    if (["add", "replace", "test"].includes(op) && !Object.hasOwn(operation, "value")) {
      throw new Error(`The operation "${op}" has no value.`);
    }
    switch (op) {
      case "add": case "replace": case "remove": return edited(document, tokens(path), op, value);
      case "copy": return edited(document, tokens(path), "add", share(read(document, tokens(operation.from))));
      case "move": {
        if (path.startsWith(`${operation.from}/`)) throw new Error("A value cannot move into itself.");
        const moved = read(document, tokens(operation.from));
        if (path === operation.from) return document;
        return edited(edited(document, tokens(operation.from), "remove"), tokens(path), "add", moved);
      }
      case "test":
        if (!isEqual(read(document, tokens(path)), value)) throw new Error(`The value at "${path}" is different.`);
        return document;
      default: throw new Error(`"${op}" is not an operation.`);
    }
  }, target);
}

function tokens(pointer) {
  if (pointer === "") return [];
  if (typeof pointer !== "string" || pointer[0] !== "/" || /~(?![01])/.test(pointer)) {
    throw new Error(`${JSON.stringify(pointer)} is no pointer.`);
  }
  return pointer.slice(1).split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function checked(container, part) {
  if (!isObject(container) && !Array.isArray(container)) throw new Error(`There can be no value at "${part}".`);
  return container;
}

/** A pointer's part in an existing value; throws if there is none. */
function place(container, part) {
  const isThere = Array.isArray(container)
    ? /^(0|[1-9][0-9]*)$/.test(part) && Number(part) < container.length
    : isObject(container) && Object.hasOwn(container, part);
  if (!isThere) throw new Error(`There is no value at "${part}".`);
  return part;
}

const read = (document, path) => path.reduce((value, part) => value[place(value, part)], document);

const isOfSame = (a, b) => a.session === b.session && a.epoch === b.epoch;

/** What an earlier run of the app has kept goes before what this one sends. */
function enqueue(queue, item) {
  const next = item.kept ? queue.findIndex((other) => !other.kept) : -1;
  queue.splice(next < 0 ? queue.length : next, 0, item);
}

const isSame = (a, b) => a.length === b.length && a.every((item, index) => item === b[index]);

function isEqual(a, b) {
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  if (!isObject(a)) return a === b;
  const keys = Object.keys(a);
  return isObject(b) && keys.length === Object.keys(b).length
    && keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]));
}

/** A key from a link must not lead to another path. */
function checkId(id) {
  if (typeof id === "string" && /^[a-z][a-z0-9-]{0,47}(:[A-Za-z0-9._~-]{1,64})?$/.test(id)) return;
  throw new TypeError(`${JSON.stringify(id)} is no store's id, such as "counter" or "order:42": a key has 1 to 64 of A-Z a-z 0-9 . _ ~ -`);
}

// ---------------------------------------------------------------- the session

const userOf = (identity) => identity == null ? "" : JSON.stringify([identity.issuer, identity.subject]);

/** Names the tabs with a token, by its hash (64-bit FNV-1a). Without https there is no `crypto.subtle`. */
const groupOf = (token) => token === null ? null : [...token].reduce(
  (hash, letter) => BigInt.asUintN(64, (hash ^ BigInt(letter.codePointAt())) * 0x100000001b3n), 0xcbf29ce484222325n,
).toString(16);

/** A storage that throws keeps nothing. */
function forgiving(storage) {
  const call = (method) => (...values) => { try { return storage[method](...values); } catch { return null; } };
  return { getItem: call("getItem"), setItem: call("setItem"), removeItem: call("removeItem") };
}

class Session {
  /** Grows with each credential: a request that failed with an older one is repeated. */
  generation = 0;
  /** Called when waiting intents may be over. */
  onReplaced = () => {};
  #options; #platform; #tell; #isReady = false; #isSignedIn = false; #token = null; #refusedToken = null;
  /** `id`, and the subject as `user`: "" if anonymous, undefined while unknown. */
  #current = null;
  #lost = null;
  #isDoubted = false;
  /** After a sign-in no anonymous session replaces a lost one. */
  #needsIdentity = false;
  #making = null; #refreshing = null; #unansweredIdentity = null; #keepsStores = true; #requests = new Set();

  /** @param tell called with the answer after each change */
  constructor(options, platform, tell) {
    this.#options = { ...options, storage: options.storage && forgiving(options.storage) };
    this.#platform = platform;
    this.#tell = tell;
  }

  get id() { return this.#current === null ? null : this.#current.id; }

  get description() { return { id: this.#current?.id, user: this.#current?.user, group: this.group }; }

  /** Equal in tabs with one credential; null without a token. */
  get group() { return this.#isByCookie ? "cookie" : groupOf(this.#token ?? this.#stored); }

  get field() { return this.id == null ? {} : { "MVI-Session": this.id }; }

  /**
   * The owner of kept intents: the session's id; while it is unknown the token's group, null for the next session's. None
   * with a cookie, which may become another user's.
   */
  get owner() {
    const { id } = this.#current ?? this.#lost ?? {};
    if (id != null) return { session: id };
    return this.#isByCookie ? null : { group: this.group };
  }

  /** A token is of one session; a cookie can become another user's. */
  mayBe(id) { return this.#isByCookie || this.id == null || this.id === id; }

  isOwner({ session, group }) { return session === undefined ? [null, this.group].includes(group) : session === this.id; }

  get target() {
    if (!this.#keepsStores) return null;
    const stored = this.#stored;
    if (this.#current === null && this.#lost === null && stored !== null) this.#current = { token: stored };
    return this.#current;
  }

  /** True if an intent for a session may run now, also in a lost one's replacement. */
  serves(target) {
    let session = target;
    while (session?.replacement) session = session.replacement;
    return session === null || session === (this.#current ?? this.#lost);
  }

  /** The locale and time zone to tell the server: the options, or the platform's. */
  get #settings() {
    const chosen = (name) => (this.#options[name] === undefined ? this.#platform[name] : this.#options[name]) ?? undefined;
    return { locale: chosen("locale"), timeZone: chosen("timeZone") };
  }

  get #isByCookie() { return this.#options.credential === "cookie"; }
  get #key() { return `mvi-client:${this.#options.url}`; }
  get #stored() {
    const stored = this.#isByCookie ? null : this.#options.storage?.getItem(this.#key) ?? null;
    return stored === this.#refusedToken ? null : stored;
  }

  /** Throws `Problem` if it is refused, another error without an answer. */
  async request(method, path, options) {
    return (await this.#ask(method, path, options)).content;
  }

  async #ask(method, path, { body, headers, timeout = limits.request, signal, keepalive } = {}) {
    const controller = new AbortController();
    const abort = () => controller.abort(signal.reason);
    signal?.addEventListener("abort", abort);
    const timer = this.#platform.setTimeout(
      () => controller.abort(new Error("The server did not answer in time.")), timeout);
    this.#requests.add(controller);
    try {
      const type = body === undefined ? {} : { "Content-Type": "application/json" };
      const response = await this.fetch(path, { method, body, headers: { ...type, ...headers }, keepalive, signal: controller.signal });
      if (!response.ok) throw await Problem.from(response);
      const text = await response.text();
      return { status: response.status, content: text === "" ? undefined : JSON.parse(text) };
    } finally {
      this.#platform.clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      this.#requests.delete(controller);
    }
  }

  fetch(path, { headers, ...request }) {
    const token = this.#token === null ? {} : { Authorization: `Bearer ${this.#token}` };
    return this.#platform.fetch(this.#options.url + path, {
      // Another origin must get neither the credential nor the intent.
      ...request, headers: { ...token, ...headers }, cache: "no-store", redirect: "error",
      credentials: this.#isByCookie ? "same-origin" : "omit",
    });
  }

  get isSignInUnanswered() { return Boolean(this.#unansweredIdentity); }

  /** Waits for a credential that may replace a refused one. */
  async settle(what) {
    if (what === "ended") await this.readStorage();
    await Promise.allSettled([this.#refreshing, this.#making]);
  }

  /** Makes a session if there is none. Returns true if it was made with an identity. */
  async have() {
    await this.#refreshing?.catch(() => {});
    return !this.#isReady && await (this.#making ??= this.#make().finally(() => { this.#making = null; }));
  }

  /** Forgets the session, unless its credential is newer. */
  drop(generation = this.generation) {
    if (!this.#isReady || generation !== this.generation) return;
    this.#isReady = false;
    this.#forget();
  }

  #forget() {
    const { storage } = this.#options;
    // Another tab may have stored a valid one.
    if (storage?.getItem(this.#key) === this.#token) storage?.removeItem(this.#key);
    this.#refusedToken = this.#token;
    this.#isSignedIn = this.#isDoubted = false;
    this.#token = null;
    this.#lose();
  }

  #lose() {
    this.#lost = this.#current ?? this.#lost;
    this.#current = null;
  }

  end() {
    this.drop();
    this.#needsIdentity = false;
    this.#leave();
  }

  #leave() {
    this.#current = this.#lost = null;
    this.onReplaced();
  }

  /** The credential belongs to another session: asks for it. */
  leave(generation) {
    if (generation !== this.generation) return;
    this.#doubt();
    this.#leave();
    this.have().catch(() => {});
  }

  /** A stream has this session. A cookie may have changed: `have` asks. */
  meet(id) {
    if (this.#isByCookie && id !== this.id) this.#doubt();
    else if (this.#current !== null) this.#current.id ??= id;
  }

  async readStorage() {
    if ([null, this.#token].includes(this.#stored)) return;
    this.#doubt();
    await this.have().catch(() => {});
  }

  #doubt() {
    this.#isDoubted ||= this.#isReady;
    this.#isReady = false;
  }

  /** Adopts another tab's session if this tab has its group's credential. Returns true if it is new here. */
  adopt({ id, user, replaces, group }) {
    const token = this.#stored;
    if (group == null || group !== (this.#isByCookie ? "cookie" : groupOf(token))) return false;
    const isKnown = this.#isByCookie
      ? id === this.id && [undefined, this.#current.user].includes(user) : token === this.#token;
    if (this.#isReady && isKnown) return false;
    if (replaces !== undefined && replaces === this.id) this.#lose();
    this.#accept({ id, user, token: token ?? undefined }, { isTold: false });
    return true;
  }

  /** Two tabs must not create a session each. */
  async #make() {
    const work = async () => {
      const hasCredential = this.#isDoubted || this.#stored !== null;
      if (hasCredential && await this.#look()) return false;
      return this.#post();
    };
    const { locks } = this.#platform;
    if (!locks) return work();
    let isGranted = false;
    return locks.request(`${this.#key} session`, () => {
      isGranted = true;
      return work();
    }).catch((error) => {
      if (isGranted) throw error;
      return work();
    });
  }

  /** Asks for the credential's session. Returns false if the server knows none. */
  async #look() {
    this.#token = this.#stored ?? this.#token;
    let answer = {};
    try {
      answer = await this.request("GET", "/sessions/current");
    } catch (error) {
      if (!(error instanceof Problem) || remedy(error) === "wait") throw error;
      if (remedy(error) === "session") {
        // The credential belonged to another session, and so does its end.
        if (this.#isDoubted) this.#leave();
        this.#forget();
        return false;
      }
      this.#needsIdentity ||= error.kind === "identity-expired";
      answer.user = undefined;
    }
    this.#accept({ ...answer, token: this.#token ?? undefined, isNew: false });
    if ("id" in answer) this.#update(answer);
    return true;
  }

  /** Corrects the locale and time zone of an earlier page or device setting, without waiting for it. */
  #update({ locale, timeZone }) {
    const own = this.#settings;
    const wanted = { locale: own.locale ?? locale, timeZone: own.timeZone ?? timeZone };
    if (wanted.locale === locale && wanted.timeZone === timeZone) return;
    const body = JSON.stringify(wanted);
    this.request("PUT", "/sessions/current", { body, headers: this.field }).catch(() => {});
  }

  /** An anonymous one, unless somebody was signed in or the server has none. Returns true if with an identity. */
  async #post() {
    const { credential, shared } = this.#options;
    const identity = this.#needsIdentity ? await this.#identity() : undefined;
    try {
      const body = JSON.stringify({ credential, identity, shared, ...this.#settings });
      const { status, content } = await this.#ask("POST", "/sessions", { body });
      if (identity !== undefined) this.#identityAnswered();
      this.#accept({ ...content, isNew: status === 201 });
      return identity !== undefined;
    } catch (error) {
      if (error.kind === "identity-required" && !this.#needsIdentity) {
        this.#needsIdentity = true;
        return this.#post();
      }
      if (error.status !== 401) throw error;
      this.#identityAnswered();
      throw new SignedOut(error.message, { cause: error });
    }
  }

  async #identity(given) {
    this.#unansweredIdentity = given ?? this.#unansweredIdentity ?? await this.#options.identity?.();
    if (!this.#unansweredIdentity) throw new SignedOut("No identity was given.");
    return this.#unansweredIdentity;
  }

  /** @param keepsStores true if the anonymous session's stores and the waiting intents stay */
  async signIn(identity, keepsStores) {
    // A running renewal does not include that.
    if (!keepsStores && this.#refreshing) await this.#refreshing.catch(() => {});
    this.#needsIdentity = true;
    this.#keepsStores = keepsStores;
    if (!this.#isReady) {
      this.#unansweredIdentity = identity ?? null;
      if (await this.have()) return undefined;
    }
    return this.refresh(identity);
  }

  /** Signs in or renews. Resolves with true if the credential is new: the stream must be reopened. */
  refresh(identity) {
    return this.#refreshing ??= this.#renew(identity).finally(() => { this.#refreshing = null; });
  }

  async #renew(given) {
    const identity = await this.#identity(given);
    // Its answer could replace the cookie of this one.
    await this.#making?.catch(() => {});
    const { generation } = this;
    const keepsStores = this.#keepsStores;
    try {
      const body = JSON.stringify({ identity, ...(!keepsStores && { keep: false }) });
      const answer = await this.request("PUT", "/sessions/current/identity", { body, headers: this.field });
      this.#identityAnswered();
      // With a cookie the answer does not say so.
      const isNew = answer.token !== undefined || (this.#isByCookie && !this.#isSignedIn);
      const user = answer.identity == null ? undefined : userOf(answer.identity);
      if (isNew) this.#accept({ ...answer, user }, { isFresh: !keepsStores });
      else this.#become(answer.id, user);
      this.#isSignedIn = this.#needsIdentity = true;
      return isNew;
    } catch (error) {
      if (!(error instanceof Problem) || remedy(error) === "wait") throw error;
      this.#identityAnswered();
      if (error.kind === "other-session") this.leave(generation);
      const isOfSession = ["unauthorized", "session-not-found", "other-session"].includes(error.kind);
      if (remedy(error) === "ended" || isOfSession) throw error;
      throw new SignedOut(error.message, { cause: error });
    }
  }

  #identityAnswered() {
    this.#unansweredIdentity = null;
    this.#keepsStores = true;
  }

  #accept(answer, { isTold = true, isFresh = false } = {}) {
    const { id, token } = answer;
    const user = "user" in answer ? answer.user : userOf(answer.identity);
    this.generation += 1;
    this.#isReady = true;
    this.#isDoubted = false;
    this.#isSignedIn = Boolean(user);
    this.#needsIdentity ||= this.#isSignedIn;
    if (token !== undefined) {
      this.#token = token;
      this.#options.storage?.setItem(this.#key, token);
    }
    const replaces = this.#become(id, user, { token, isFresh });
    if (isTold) this.#tell({ ...answer, user, replaces });
  }

  /** Returns the id of a lost session whose intents may run in this one: its user was the same. */
  #become(id, user, { token, isFresh = false } = {}) {
    const before = this.#current;
    const isSame = before?.token === undefined ? [id, undefined].includes(before?.id) : before.token === token;
    if (before !== null && isSame && !isFresh) {
      Object.assign(before, { id: id ?? before.id, user, token: undefined });
      return undefined;
    }
    const lost = before ? null : this.#lost;
    this.#current = { id, user };
    this.#lost = null;
    // The user of a refused stored token is unknown.
    const isReplaced = lost !== null && (lost.id === undefined || (user !== undefined && lost.user === user));
    if (isReplaced) lost.replacement = this.#current;
    this.onReplaced();
    return isReplaced ? lost.id : undefined;
  }

  close() {
    for (const controller of this.#requests) controller.abort(new SendError("closed", "The client was closed."));
  }
}

// ---------------------------------------------------------------- the stream

/** Opens, reads, monitors and reopens the event stream. Calls `emit` with each event. */
class Stream {
  condition = "idle";
  hello = null;
  cursor = "";
  #options; #platform; #session; #emit; #features = []; #missing = new Set(); #isOffline = false;
  #connection = null; #waitsForSession = null;
  #timer; #watchdog; #lastByte = 0; #attempts = 0; #retry = limits.retry; #isRenewed = false; #isRefreshed = false;
  /** What this connection has shown, by feature. */
  #shown = new Map();
  #presences = new Map();
  #delta; #doubts = 0; #isNamed = false; #next; #lostAt = 0;

  constructor(options, platform, session, emit) {
    this.#options = options;
    this.#platform = platform;
    this.#session = session;
    this.#emit = emit;
    this.#delta = options.delta;
  }

  update(features) {
    const wanted = [...new Set(features)].sort();
    if (wanted.join() === this.#features.join()) return;
    this.#features = wanted;
    this.#missing = new Set([...this.#missing].filter((feature) => wanted.includes(feature)));
    if (["idle", "connecting", "live"].includes(this.condition)) this.open();
    else if (wanted.length === 0 && ["reconnecting", "offline"].includes(this.condition)) this.open();
  }

  reconnect() {
    this.#isOffline = false;
    this.#missing.clear();
    this.open();
  }

  async open() {
    this.#cut();
    const features = this.#features.filter((feature) => !this.#missing.has(feature));
    if (features.length === 0) return this.#show("idle");
    if (this.#isOffline) return this.#show("offline");
    const connection = this.#begin();
    let { generation } = this.#session;
    try {
      this.#waitsForSession = connection;
      await this.#session.have();
      if (connection !== this.#connection) return;
      this.#waitsForSession = null;
      generation = this.#session.generation;
      await this.#read(connection, features);
      if (connection === this.#connection) this.#again(new Error("The stream ended."));
    } catch (error) {
      if (connection === this.#connection) this.#fail(error, generation, features);
    }
  }

  resume(features) {
    this.#features = [];
    if (features.length === 0 && this.condition === "connecting") this.#show("idle");
    this.condition = "idle";
    this.update(features);
  }

  /** Of the next events. */
  get source() {
    const { session, epoch } = this.condition === "live" ? this.hello : { session: this.#session.id };
    return { session, epoch };
  }

  /** Records an event of another tab's stream: this tab may continue from there. */
  note(event, data, cursor) {
    this.cursor = cursor;
    if (event === "hello") this.hello = data;
  }

  sessionChanged({ id, isNew }) {
    if (isNew === false && this.condition === "live" && id === this.hello?.session) return;
    this.#prepare(id);
    if (this.#connection !== null && this.#waitsForSession === this.#connection) return;
    if (!["closed", "idle", "failed"].includes(this.condition)) this.open();
  }

  /** Waits for the stream of the tabs with the new credential. */
  leave({ id }, isWatching) {
    this.#prepare(id);
    this.#stop(isWatching ? "connecting" : "idle");
  }

  #prepare(id) {
    this.#missing.clear();
    if (id != null && id !== this.hello?.session) this.cursor = "";
  }

  ended(session = this.hello?.session ?? this.#session.id) {
    this.#session.end();
    this.#stop("ended", { session });
    this.cursor = "";
  }

  foreground() {
    const isSilent = this.#platform.wallTime() - this.#lastByte > this.#patience;
    if (["reconnecting", "paused"].includes(this.condition)) this.open();
    else if (isSilent && ["connecting", "live"].includes(this.condition)) this.open();
  }

  /** A page that may be frozen has no connection until `foreground`. */
  park() {
    if (["connecting", "live", "reconnecting", "offline"].includes(this.condition)) this.#stop("paused");
  }

  online() {
    this.#isOffline = false;
    if (["offline", "reconnecting"].includes(this.condition)) this.open();
  }

  answered() {
    if (this.condition !== "reconnecting" || this.#connection !== null || this.#isNamed) return;
    this.#platform.clearTimeout(this.#timer);
    this.#timer = this.#platform.setTimeout(this.#next, this.#lostAt + limits.shortestRetry - this.#platform.now());
  }

  offline() {
    this.#isOffline = true;
    if (["connecting", "live", "reconnecting"].includes(this.condition)) this.#stop("offline");
  }

  close(condition = "closed") { this.#stop(condition); }

  // ------------------------------------------------------------ one connection

  #begin() {
    this.#clear();
    this.#connection = new AbortController();
    this.#show(this.condition === "reconnecting" ? "reconnecting" : "connecting");
    this.#sign();
    return this.#connection;
  }

  #clear() {
    this.#shown.clear();
    this.#presences.clear();
  }

  #cut() {
    this.#platform.clearTimeout(this.#timer);
    this.#platform.clearTimeout(this.#watchdog);
    this.#connection?.abort();
    this.#connection = null;
  }

  #stop(condition, details) {
    this.#cut();
    this.#show(condition, details);
  }

  #show(condition, details = {}) {
    if (this.condition === "closed") return;
    this.condition = condition;
    this.#emit("condition", { condition, ...details });
  }

  get #patience() { return limits.silentHeartbeats * (this.hello?.heartbeat * 1000 || limits.heartbeat); }

  #sign() {
    // By a clock that also runs while the machine sleeps.
    this.#lastByte = this.#platform.wallTime();
    this.#platform.clearTimeout(this.#watchdog);
    this.#watchdog = this.#platform.setTimeout(() => {
      this.#emit("silence", {});
      this.open();
    }, this.#patience);
  }

  #read(connection, features) {
    const query = new URLSearchParams(features.map((feature) => ["feature", feature]));
    if (this.#delta) query.set("delta", this.#delta);
    const path = `/events?${query}`;
    const { EventSource } = this.#platform;
    const isByEventSource = this.#options.credential === "cookie" && EventSource && this.#options.transport !== "fetch";
    return isByEventSource ? this.#readEventSource(EventSource, connection, path) : this.#readFetch(connection, path);
  }

  async #readFetch(connection, path) {
    const headers = { Accept: "text/event-stream", ...(this.cursor && { "Last-Event-ID": this.cursor }) };
    const response = await this.#session.fetch(path, { method: "GET", headers, signal: connection.signal });
    if (connection !== this.#connection) return;
    if (response.status === 204) throw new Problem(204, { type: "/problems/session-ended" });
    if (!response.ok) throw await Problem.from(response);
    if (!/^text\/event-stream\b/i.test(response.headers.get("Content-Type") ?? "")) {
      connection.abort();
      throw new Error("The answer is not an event stream.");
    }
    const parser = new EventParser();
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || connection !== this.#connection) return;
      this.#sign();
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        this.#retry = parser.retry ?? this.#retry;
        this.#dispatch(event);
        if (connection !== this.#connection) return;
      }
      this.#retry = parser.retry ?? this.#retry;
      this.cursor = parser.lastId ?? this.cursor;
    }
  }

  /** A browser shows its own streams, but does not report why one failed. */
  #readEventSource(EventSource, connection, path) {
    const cursor = this.cursor && `&last_event_id=${encodeURIComponent(this.cursor)}`;
    return new Promise((resolve, reject) => {
      const source = new EventSource(this.#options.url + path + cursor);
      connection.signal.addEventListener("abort", () => { source.close(); resolve(); });
      source.onopen = () => this.#sign();
      for (const name of Object.keys(members)) {
        source.addEventListener(name, ({ data, lastEventId }) => {
          if (connection !== this.#connection) return;
          this.#sign();
          this.#dispatch({ event: name, data, id: lastEventId || undefined });
        });
      }
      source.onerror = () => {
        const hasGivenUp = source.readyState === 2;
        source.close();
        if (hasGivenUp && connection === this.#connection) this.#readFetch(connection, path).then(resolve, reject);
        else resolve();
      };
    });
  }

  #dispatch({ event, data, id }) {
    const { cursor } = this;
    this.cursor = id ?? cursor;
    if (!Object.hasOwn(members, event)) return;
    let content;
    try {
      content = JSON.parse(data);
      checkEvent(event, content);
    } catch (cause) {
      return this.#again(new Error(`The event "${event}" cannot be read.`, { cause }));
    }
    if (event === "hello" && !this.#session.mayBe(content.session)) {
      this.cursor = cursor;
      return this.#again(new Error("The stream is of another session."));
    }
    this.#handle(event, content, id);
  }

  #handle(event, data, id) {
    const { feature } = data;
    switch (event) {
      case "hello":
        if (data.session !== this.hello?.session || data.epoch !== this.hello?.epoch) this.cursor = id ?? "";
        this.hello = data;
        this.#attempts = 0;
        this.#isRenewed = this.#isRefreshed = false;
        this.#clear();
        this.#sign();
        this.condition = "live";
        this.#emit("hello", data);
        return this.#show("live");
      case "state":
        if (this.#shown.get(feature)?.version > data.version) return;
        this.#shown.set(feature, { version: data.version, data });
        break;
      case "patch": return this.#patch(data);
      case "presence": this.#presences.set(feature, data); break;
      case "end": case "denied":
        this.#shown.delete(feature);
        this.#presences.delete(feature);
        break;
      case "identity": this.#refreshSoon(); break;
      case "goaway":
        this.#emit("goaway", data);
        return this.#leave(data);
    }
    this.#emit(event, data);
  }

  #patch({ feature, from, to, intent, patch }) {
    if (!this.#delta) return undefined;
    const shown = this.#shown.get(feature);
    let state;
    try {
      if (shown?.version !== from || to < from) throw new Error(`A patch of version ${from} came.`);
      const apply = this.#delta === "json-patch" ? applyJSONPatch : applyMergePatch;
      state = apply(shown.data.state, patch);
    } catch (error) {
      this.#doubts += 1;
      if (this.#doubts > limits.doubts) this.#delta = null;
      this.#emit("doubt", { feature, detail: error.message });
      return this.open();
    }
    this.#doubts = 0;
    this.#handle("state", { feature, version: to, ...(intent && { intent }), state });
  }

  #leave({ reason, retry }) {
    switch (reason) {
      case "superseded": return this.#stop("paused");
      case "ended": return this.ended();
      case "expired": return this.#renewSession();
      case "identity": return this.#refresh();
      default: return this.#wait(this.#spread(retry ?? this.#retry), { isNamed: true });
    }
  }

  snapshot() {
    const states = [...this.#shown.values()].map(({ data }) => ["state", data]);
    const presences = [...this.#presences.values()].map((data) => ["presence", data]);
    return [
      ...(this.condition === "live" ? [["hello", this.hello], ...states, ...presences] : []),
      ["condition", { condition: this.condition }],
    ];
  }

  // ------------------------------------------------------------ failures

  #fail(error, generation, features) {
    if (error instanceof SignedOut) return this.#stop("signedOut", { problem: error.cause ?? error });
    if (!(error instanceof Problem)) return this.#again(error);
    switch (remedy(error)) {
      case "ended": return this.#endedOrReplaced(error, generation);
      case "identity": return this.#refresh(error);
      case "session": return this.#renewSession(error, generation);
      case "refused":
        if (error.kind === "feature-not-found") return this.#leaveOut(error, features);
        if (error.kind === "forbidden") {
          for (const feature of features) this.#emit("denied", { feature });
          return this.#stop("idle", { problem: error });
        }
        if ([400, 405, 406].includes(error.status) || error.kind === "cross-site") {
          return this.#stop("failed", { problem: error });
        }
    }
    this.#again(error);
  }

  /** Unless a sign-in has replaced the refused credential. */
  async #endedOrReplaced(error, generation) {
    const connection = this.#connection;
    await this.#session.settle("ended");
    if (connection !== this.#connection) return;
    if (generation !== this.#session.generation) this.open();
    else if (this.#session.isSignInUnanswered) this.#refresh(error);
    else this.ended();
  }

  #renewSession(error, generation) {
    // The new one is refused too: the server has a fault, or its cookie does not come back.
    if (this.#isRenewed) return this.#again(error);
    this.#isRenewed = true;
    this.cursor = "";
    this.#session.drop(generation);
    this.open();
  }

  async #leaveOut(error, features) {
    const connection = this.#begin();
    const missing = new Set(features.length === 1 ? features : []);
    for (const feature of features.length === 1 ? [] : features) {
      await this.#session.request("HEAD", `/events?feature=${feature}`).catch((problem) => {
        if (problem.status === 404) missing.add(feature);
      });
      if (connection !== this.#connection) return;
    }
    if (missing.size === 0) return this.#again(error);
    for (const feature of missing) {
      this.#missing.add(feature);
      this.#emit("missing", { feature });
    }
    this.open();
  }

  async #refresh(error) {
    // Refused after a renewal: a fault, or a wrong clock.
    if (this.#isRefreshed) return this.#again(error);
    this.#cut();
    const connection = this.#begin();
    const { generation } = this.#session;
    try {
      await this.#session.refresh();
      if (connection !== this.#connection) return;
      this.#isRefreshed = true;
      this.open();
    } catch (failure) {
      if (connection !== this.#connection) return;
      if (failure instanceof Problem && remedy(failure) !== "wait") this.#fail(failure, generation, this.#features);
      else if (failure instanceof SignedOut) this.#fail(failure);
      else this.#again(failure, () => this.#refresh());
    }
  }

  #refreshSoon() {
    this.#session.refresh().catch(() => {});
  }

  /** With growing delays, and not all clients at once. */
  #again(problem, next = () => this.open()) {
    const { retryAfter } = problem ?? {};
    const base = Math.max(limits.shortestRetry, this.#retry);
    const pause = Math.min(limits.longestRetry, base * 2 ** this.#attempts) * (0.5 + this.#platform.random() / 2);
    this.#attempts += 1;
    const isNamed = retryAfter !== undefined;
    this.#wait(isNamed ? this.#spread(retryAfter) : pause, { problem, next, isNamed });
  }

  #spread(milliseconds) {
    const named = Math.min(limits.longestRetryAfter, Math.max(limits.shortestRetry, milliseconds));
    return named * (1 + this.#platform.random() / 5);
  }

  #wait(milliseconds, { problem, next = () => this.open(), isNamed }) {
    if (this.#isOffline) return this.#stop("offline");
    this.#cut();
    [this.#isNamed, this.#next, this.#lostAt] = [isNamed, next, this.#platform.now()];
    this.#timer = this.#platform.setTimeout(next, milliseconds);
    this.#show("reconnecting", { problem, retryAt: this.#platform.wallTime() + milliseconds });
  }
}

// ---------------------------------------------------------------- intents

/** One request at a time, in the order of the calls, repeated until it is answered. */
class Intents {
  #platform; #session; #ended; #patience; #queue = []; #isRunning = false; #isClosed = false;
  #wake = (_) => {}; #offlineSince = null; #offlineTime = 0;
  /** Called after each change. */
  onChange = () => {};
  /** Comes before the first request. */
  restored = Promise.resolve();

  /** @param ended called when the server says that the session has ended */
  constructor(patience, platform, session, ended) {
    this.#patience = patience;
    this.#platform = platform;
    this.#session = session;
    this.#ended = ended;
  }

  /**
   * Resolves with the result of `request`, which gets its milliseconds.
   *
   * @param isEnd true if it ends the session: later intents belong to the next one
   * @param what describes it to the app
   * @param kept what an earlier run has kept of it
   * @param failed comes before the next one is sent
   */
  add(request, { isEnd = false, signal, what, kept, failed = () => {} } = {}) {
    const fail = async (error) => {
      failed(error);
      throw error;
    };
    if (signal?.aborted) return fail(this.#failure({}, "aborted", signal.reason));
    if (this.#isClosed) return fail(new SendError("closed", "The client is closed."));
    if (this.#queue.length >= limits.queuedIntents) {
      return fail(new SendError("queue-full", `${limits.queuedIntents} intents are waiting already.`));
    }
    const target = this.#queue.some((item) => item.isEnd) ? null : this.#session.target;
    let item;
    const abort = () => this.#abort(item);
    signal?.addEventListener("abort", abort);
    return new Promise((resolve) => {
      const left = Math.min(this.#patience, kept ? kept.until - this.#platform.wallTime() : Infinity);
      item = {
        request, resolve, reject: (error) => resolve(fail(error)), target: kept ? null : target, isEnd, signal, what,
        kept, mayHaveRun: kept?.mayHaveRun, end: this.#onlineTime() + left, until: this.#platform.wallTime() + left,
      };
      enqueue(this.#queue, item);
      this.onChange();
      this.#run();
    }).finally(() => signal?.removeEventListener("abort", abort));
  }

  get pending() { return this.#queue.flatMap(({ what }) => what ?? []); }

  /** For a storage: without a known owner it is not kept. */
  get kept() {
    return this.#queue.flatMap(({ what, target, kept, until, mayHaveRun, isOut }) => {
      const owner = target === null && kept ? kept.owner : this.#session.owner;
      return what && owner ? { ...what, owner, until, mayHaveRun: mayHaveRun || isOut } : [];
    });
  }

  /** It may have run if the app ends now. */
  #noteOut(item, isOut) {
    item.isOut = isOut;
    this.onChange();
  }

  #abort(item) {
    const index = this.#queue.indexOf(item);
    // The first one is running, or waits for a retry.
    if (index === 0) this.#wake({ isForced: true });
    else if (index > 0) this.#queue.splice(index, 1)[0].reject(this.#failure(item, "aborted", item.signal.reason));
    this.onChange();
  }

  /** Rejects the intents of the session before. */
  review() {
    const isOver = ({ target }) => !this.#session.serves(target);
    const [first, ...others] = this.#queue;
    if (first === undefined) return;
    this.#queue = [first, ...others.filter((item) => !isOver(item))];
    for (const item of others.filter(isOver)) item.reject(this.#failure(item, "other-session"));
    if (isOver(first)) this.#wake({ isForced: true });
  }

  #failure(item, reason, cause) {
    const what = {
      closed: "The client was closed.", aborted: "The intent was given up.", "no-answer": "No answer came.",
      "other-session": "The intent was meant for a session that is not the client's any more.",
    }[reason];
    const outcome = item.mayHaveRun ? "The server may have run the intent." : "The server did not run the intent.";
    return new SendError(reason, `${what} ${outcome}`, item.mayHaveRun, cause);
  }

  /** Retries now, unless the server gave a time. */
  wake() { this.#wake({ isForced: false }); }

  online() {
    if (this.#offlineSince === null) return;
    this.#offlineTime += this.#platform.now() - this.#offlineSince;
    this.#offlineSince = null;
    this.wake();
  }

  offline() { this.#offlineSince ??= this.#platform.now(); }

  /** Sends what waits before the page is gone. A browser may have cut the first's request. `#send` takes answers. */
  leave() {
    let room = limits.keepalive;
    if (this.#session.id == null || this.#offlineSince !== null) return;
    for (const item of this.#queue) {
      const maySend = item.what && !item.kept && item.retryAfter === undefined && this.#session.serves(item.target);
      // A later one must not run without it.
      if (!maySend || (room -= item.what.body.length) < 0) return;
      if (item.isOut) continue;
      item.mayHaveRun = true;
      item.early = item.request(limits.request);
      item.early.catch(() => {});
      this.#noteOut(item, true);
    }
  }

  close() {
    this.#isClosed = true;
    this.#wake({ isForced: true });
  }

  /** Stops while the client is offline. */
  #onlineTime() { return (this.#offlineSince ?? this.#platform.now()) - this.#offlineTime; }

  async #run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    await this.restored;
    while (this.#queue.length > 0) {
      const item = this.#queue[0];
      await this.#send(item).finally(() => this.#queue.shift()).then(item.resolve, item.reject);
      this.onChange();
    }
    this.#isRunning = false;
  }

  async #send(item) {
    let cause;
    for (let attempt = 0; ; attempt += 1) {
      while (this.#offlineSince !== null && !this.#isClosed && !item.signal?.aborted && this.#session.serves(item.target)) {
        await this.#pause();
      }
      const left = item.end - this.#onlineTime();
      if (this.#isClosed) throw this.#failure(item, "closed", cause);
      if (item.signal?.aborted) throw this.#failure(item, "aborted", item.signal.reason);
      if (left <= 0) throw this.#failure(item, "no-answer", cause);
      if (item.isForeign || !this.#session.serves(item.target)) throw this.#failure(item, "other-session", cause);
      let generation;
      let isSent = false;
      try {
        await this.#session.have();
        if (item.signal?.aborted || !this.#session.serves(item.target)) continue;
        item.isForeign = item.target === null && item.kept && !this.#session.isOwner(item.kept.owner);
        if (item.isForeign) continue;
        item.target ??= this.#session.target;
        generation = this.#session.generation;
        isSent = true;
        this.#noteOut(item, true);
        const { early } = item;
        item.early = undefined;
        return await (early ?? item.request(Math.min(limits.request, left)));
      } catch (error) {
        cause = error;
        item.retryAfter = error.retryAfter;
        // Only 429 means that a waiting intent did not run.
        if (isSent && !(error instanceof Problem && remedy(error) !== "wait") && error.status !== 429) item.mayHaveRun = true;
        this.#noteOut(item, false);
        if (item.signal?.aborted) continue;
        const pause = await this.#delay(item, error, generation, attempt);
        const longest = Math.max(0, item.end - this.#onlineTime());
        if (pause > 0 && this.#session.serves(item.target)) await this.#pause(Math.min(pause, longest), error.retryAfter !== undefined);
      }
    }
  }

  /** Milliseconds until the next try; throws if there is none. */
  async #delay(item, error, generation, attempt) {
    if (error instanceof SignedOut) throw error.cause ?? error;
    const longest = Math.min(limits.longestRetry, limits.firstIntentRetry * 2 ** attempt);
    const pause = longest * (0.5 + this.#platform.random() / 2);
    if (!(error instanceof Problem)) return pause;
    const what = remedy(error);
    if (error.kind === "other-session") this.#session.leave(generation);
    if (what === "wait") return Math.min(limits.longestRetryAfter, error.retryAfter ?? pause);
    if (what === "refused" || generation === undefined) throw error;
    if (what === "identity") {
      if (item.isRefreshed) throw error;
      item.isRefreshed = true;
      return this.#session.refresh().then(() => 0, (failure) => {
        if (failure instanceof SignedOut) throw error;
        item.isRefreshed = false;
        return pause;
      });
    }
    await this.#session.settle(what);
    const isReplaced = generation !== this.#session.generation;
    if (what === "ended" && !isReplaced && this.#session.isSignInUnanswered) {
      return this.#session.refresh().then(() => 0, () => pause);
    }
    if (what === "ended" && !isReplaced) this.#ended();
    if (item.isRenewed || (what === "ended" && !isReplaced)) throw error;
    item.isRenewed = true;
    this.#session.drop(generation);
    return 0;
  }

  #pause(milliseconds, isNamed = false) {
    if (this.#isClosed) return undefined;
    return new Promise((resolve) => {
      const timer = milliseconds === undefined ? undefined : this.#platform.setTimeout(resolve, milliseconds);
      this.#wake = ({ isForced }) => {
        if (isNamed && !isForced) return;
        this.#platform.clearTimeout(timer);
        resolve();
      };
    });
  }
}

// ---------------------------------------------------------------- predictions

/** A confirmed state and predictions. While an intent is in doubt (without an answer), the newest state is held. */
class Predictions {
  functions = {};
  state; version;
  #entries = []; #held = null; #timer; #platform; #hooks; #parts = []; #shown;
  /** Until the next state. */
  #isOver = false;

  constructor(platform, hooks) {
    this.#platform = platform;
    this.#hooks = hooks;
  }

  get pending() {
    return this.#entries.map((entry) => {
      const { id, intent, status, error } = entry;
      if (entry.view?.status !== status) {
        entry.view = { id, intent, status, error, retry: () => this.#retry(entry), dismiss: () => this.dismiss(id) };
      }
      return entry.view;
    });
  }

  /** The same object until something changes. */
  get shown() {
    const parts = [this.state, ...this.#entries.filter((entry) => entry.isShown)];
    if (!isSame(parts, this.#parts)) {
      this.#parts = parts;
      this.#shown = this.#folded(this.state, this.#entries);
    }
    return this.#shown;
  }

  #folded(state, entries) {
    return entries.filter((entry) => entry.isShown).reduce((before, { intent }) => {
      try { return this.functions[intent.type](before, intent); } catch { return before; }
    }, state);
  }

  add(id, intent, options) {
    const body = typeof intent === "string" ? intent : JSON.stringify(intent);
    if (body === intent) try { intent = JSON.parse(body); } catch { /* The server refuses it. */ }
    const isPredicted = Object.hasOwn(this.functions, intent?.type);
    const oldest = this.#entries.find(({ status }) => status === "failed");
    if (isPredicted && oldest && this.#entries.length >= limits.predictions) this.#drop((entry) => entry === oldest);
    const entry = { id, intent, body, options, kept: options?.kept, isLost: options?.kept?.mayHaveRun };
    return this.#begin(entry, isPredicted && this.#entries.length < limits.predictions);
  }

  #begin(entry, isPredicted) {
    // The state may have a lost one already.
    const isShown = this.state !== undefined && !this.#isOver && !entry.isLost;
    Object.assign(entry, { status: "sending", error: undefined, isShown, isDropped: false });
    this.#drop((other) => other === entry);
    if (isPredicted) enqueue(this.#entries, entry);
    // It is in the queue before a listener sends another one.
    const sending = this.#hooks.send(entry);
    if (isPredicted) this.#hooks.changed();
    return sending;
  }

  #retry(entry) {
    if (entry.status !== "failed" || !this.#entries.includes(entry)) return;
    entry.kept = undefined;
    this.#begin(entry, true).catch(() => {});
  }

  dismiss(id) {
    this.#drop((entry) => entry.id === id && entry.status === "failed");
    this.#hooks.changed();
  }

  #drop(isOver) { this.#entries = this.#entries.filter((entry) => !isOver(entry)); }

  note(entry, fate) {
    Object.assign(entry, fate);
    if (entry.isInDoubt || !this.#entries.includes(entry)) return;
    if (entry.status === "sent") entry.isShown ||= !entry.isDropped && !this.#isOver && this.version !== undefined;
    if (entry.status === "failed") entry.isShown = false;
    if (!this.#doubtful) this.#take();
    this.#drop((other) => other.version <= (this.#isOver ? Infinity : this.version ?? -1));
    this.#hooks.changed();
  }

  get #doubtful() { return this.#entries.find((entry) => entry.isInDoubt && entry.isShown); }

  show(data) {
    const doubtful = this.#doubtful;
    // No later intent was sent.
    const isClear = !doubtful || data.intent === doubtful.id || data.version <= this.version
      || this.#entries.some((entry) => entry.version === data.version);
    this.#held = { labels: [], ...this.#held, data };
    if (isClear) this.#take();
    else this.#timer ??= this.#platform.setTimeout(() => this.#suspend(), limits.doubt);
  }

  label(data) {
    if (this.#held) this.#held.labels.push(data);
    else this.#hooks.label(data);
  }

  /** Those in doubt are shown again after their answers. */
  #suspend() {
    for (const entry of this.#entries) entry.isShown &&= !entry.isInDoubt;
    this.#take();
  }

  #take() {
    const held = this.#release();
    if (!held) return;
    const { state, version, intent } = held.data;
    const before = this.state, isKnown = this.version !== undefined;
    Object.assign(this, { state, version });
    this.#isOver = false;
    if (before === undefined) {
      for (const entry of this.#entries) {
        entry.isShown = !entry.isInDoubt && !entry.isLost && !entry.isDropped && entry.status !== "failed";
      }
    }
    const confirmed = this.#entries.filter((entry) => entry.id === intent || entry.version <= version);
    const last = confirmed.at(-1);
    const isExact = isKnown && last?.isShown && (last.id === intent || last.version === version);
    const predicted = isExact ? this.#folded(before, confirmed) : state;
    this.#drop((entry) => confirmed.includes(entry));
    // A label comes after its state.
    this.#hooks.changed();
    if (!isEqual(predicted, state)) this.#hooks.mispredicted(last.intent, predicted, state);
    held.labels.forEach(this.#hooks.label);
  }

  #release() {
    this.#platform.clearTimeout(this.#timer);
    const held = this.#held;
    this.#timer = undefined;
    this.#held = null;
    return held;
  }

  /** The next states are another stream's, or another log's (`forgets`), or another user's (`isEmpty`). */
  reset({ forgets, isEmpty } = {}) {
    this.#release()?.labels.forEach(this.#hooks.label);
    this.#drop(({ status }) => status === "sent" || (forgets && status === "failed"));
    if (forgets) this.version = undefined;
    if (isEmpty) {
      this.state = this.version = undefined;
      for (const entry of this.#entries) entry.isShown = false;
    }
    this.#hooks.changed();
  }

  end(isGone) {
    if (isGone) this.state = this.version = undefined;
    this.#isOver = true;
    for (const entry of this.#entries) Object.assign(entry, { isShown: false, isDropped: true });
    this.reset();
  }

  unwatched() {
    if (this.#held) this.#suspend();
    this.reset();
  }
}

// ---------------------------------------------------------------- stores

function listen(listeners, listener) {
  // The same function may listen twice.
  const entry = (...values) => listener(...values);
  listeners.add(entry);
  return () => listeners.delete(entry);
}

class Store {
  id;
  state;
  presence;
  pending = [];
  status = "loading";
  #client; #platform; #watched; #listeners = new Set(); #labelListeners = new Set(); #unheard = []; #waits = []; #predictions;

  constructor(id, client, platform, watched) {
    this.id = id;
    this.#client = client;
    this.#platform = platform;
    this.#watched = watched;
    this.#predictions = new Predictions(platform, {
      changed: () => this.#changed(),
      label: (data) => this.#hand(data),
      send: (entry) => this.#send(entry),
      mispredicted: (intent, predicted, state) =>
        client.report("misprediction", { feature: id, intent, predicted, state }),
    });
  }

  get confirmed() { return this.#predictions.state; }
  get version() { return this.#predictions.version; }

  predict(functions) { this.#predictions.functions = functions; }

  get isWatched() { return this.#listeners.size + this.#labelListeners.size > 0; }

  subscribe = (listener) => this.#add(this.#listeners, listener);

  onLabel(listener) {
    const end = this.#add(this.#labelListeners, listener);
    const now = this.#platform.now();
    for (const { data, end: over } of this.#unheard.splice(0)) if (now < over) this.#call(listener, data);
    return end;
  }

  get labels() {
    const store = this;
    return {
      [Symbol.asyncIterator]() {
        const kept = [];
        let wake = () => {};
        let isOver = false;
        const end = store.onLabel((label) => {
          kept.push(label);
          if (kept.length > limits.keptLabels) kept.shift();
          wake();
        });
        return {
          async next() {
            while (kept.length === 0 && !isOver) await new Promise((resolve) => { wake = resolve; });
            return isOver ? { done: true, value: undefined } : { done: false, value: kept.shift() };
          },
          async return() {
            isOver = true;
            end();
            wake();
            return { done: true, value: undefined };
          },
        };
      },
    };
  }

  send(intent, options) {
    const sending = this.#begin(intent, options);
    // A refusal that nobody awaits must not end a Node.js program.
    sending.catch(() => {});
    return sending;
  }

  async #begin(intent, { until, ...options } = {}) {
    const answer = await this.#predictions.add(this.#client.uuid(), intent, options);
    if (until === "shown") await this.shown(answer.version);
    return answer;
  }

  #send(entry) {
    const note = (fate) => this.#predictions.note(entry, fate);
    return this.#client.send(this.id, entry, async (request) => {
      const { isInDoubt = false, isLost } = entry;
      note({ isInDoubt: true, isLost: isLost || isInDoubt });
      try {
        const answer = await request();
        // An unwatched store's state does not come.
        const version = this.isWatched ? answer?.version ?? -1 : -1;
        note({ status: "sent", isInDoubt: false, version });
        return answer;
      } catch (error) {
        if (error.status === 429) note({ isInDoubt });
        throw error;
      }
    }, (error) => {
      note({ status: "failed", isInDoubt: false, error, isLost: entry.isLost || error.mayHaveRun });
    });
  }

  resume(kept) {
    this.#predictions.add(kept.id, kept.body, { kept, tag: kept.tag }).catch((error) => {
      // What a closed client leaves is kept again.
      if (error.reason === "closed") return;
      if (error.reason === "other-session") this.#predictions.dismiss(kept.id);
      this.#client.report("abandoned", { feature: this.id, intent: kept.intent, error });
    });
  }

  dispose() { return this.#client.dispose(this.id); }

  shown(version) {
    if (this.version >= version) return Promise.resolve(true);
    if (!this.isWatched || !["loading", "ready"].includes(this.status)) return Promise.resolve(false);
    return new Promise((resolve) => this.#waits.push({ version, resolve }));
  }

  handle(event, data) {
    switch (event) {
      case "state":
        this.status = "ready";
        return this.#predictions.show(data);
      case "label": return this.#predictions.label(data);
      case "presence": return this.#seePresence(data);
      case "reset": case "forget":
        this.#settle(false);
        if (data?.isEmpty) {
          this.status = "loading";
          this.presence = undefined;
        }
        return this.#predictions.reset({ forgets: event === "forget", ...data });
      default:
        this.status = event === "end" ? "ended" : event;
        this.presence = undefined;
        this.#settle(false);
        return this.#predictions.end(event === "end");
    }
  }

  #seePresence({ count, viewers }) {
    if (!this.isWatched || isEqual({ count, viewers }, this.presence)) return;
    this.presence = { count, viewers };
    this.#changed();
  }

  #changed() {
    this.state = this.#predictions.shown;
    const { pending } = this.#predictions;
    if (!isSame(pending, this.pending)) this.pending = pending;
    const { version } = this;
    this.#settle(true, (wait) => wait.version <= version);
    for (const listener of [...this.#listeners]) this.#client.guard(() => listener());
  }

  #hand(data) {
    if (this.#labelListeners.size > 0) for (const listener of [...this.#labelListeners]) this.#call(listener, data);
    else if (this.#unheard.push({ data, end: this.#platform.now() + (data.expiresIn ?? Infinity) * 1000 }) > limits.keptLabels) {
      this.#unheard.shift();
    }
  }

  #call(listener, { label, id, version, intent, replay = false }) {
    this.#client.guard(() => listener(label, { id, version, intent, replay }));
  }

  #add(listeners, listener) {
    const end = listen(listeners, listener);
    this.#watched();
    return () => {
      end();
      // Another may come in the same task, when one screen follows another.
      if (!this.isWatched) queueMicrotask(() => this.#left());
    };
  }

  #left() {
    if (this.isWatched) return;
    this.presence = undefined;
    this.#predictions.unwatched();
    this.#settle(false);
    this.#watched();
  }

  #settle(isShown, isOver = () => true) {
    const over = this.#waits.filter(isOver);
    this.#waits = this.#waits.filter((wait) => !isOver(wait));
    for (const { resolve } of over) resolve(isShown);
  }
}

// ---------------------------------------------------------------- tabs

/**
 * A group of tabs with one credential, described in docs/javascript-client.md. A channel of all tabs tells which
 * session a group has, so that tabs whose storage or cookie has changed enter it.
 */
class Tabs {
  #name; #platform; #hooks; #id; #news; #group = null; #channel; #asking = null; #isLeading = false;
  #resign = () => {}; #leave = () => {}; #watches = new Map(); #timer; #isParked = false;

  /** @param name begins the names of locks and channels; null to share nothing */
  constructor(name, platform, hooks) {
    this.#name = name;
    this.#platform = platform;
    this.#hooks = hooks;
    this.#id = platform.uuid();
    this.#news = this.#opened(name, (news) => hooks.learn(news));
  }

  get isLeader() { return this.#group === null || this.#isLeading; }

  get features() { return [...this.#watches.values()].flat(); }

  enter(group) {
    if (this.#name === null || group === this.#group) return false;
    this.#withdraw();
    this.#channel?.close();
    this.#group = group;
    this.#channel = this.#opened(group && this.#lockName, (message) => this.#hear(message));
    if (!this.#isParked) this.#enlist();
    return true;
  }

  join() {
    if (!this.#isParked) return;
    this.#isParked = false;
    this.#enlist();
  }

  /** Lets another tab lead. */
  park() {
    this.#isParked = true;
    this.#withdraw();
  }

  close() {
    this.park();
    this.#channel?.close();
    this.#news?.close();
    this.#channel = this.#news = undefined;
  }

  announce() {
    if (!this.isLeader) this.#say({ type: "watch", tab: this.#id, features: this.#hooks.watched() });
  }

  pass(event, data, cursor) {
    if (!this.#isLeading) return;
    // A message keeps no classes.
    const { status, document, retryAfter, message } = data?.problem ?? {};
    const sent = message === undefined ? data : { ...data, problem: { status, document, retryAfter, message } };
    this.#say({ type: "events", events: [[event, sent]], cursor });
  }

  order(what, value) { this.#say({ type: "order", what, value }); }

  tell(news) { this.#news?.postMessage(news); }

  /** Without an answer in time this tab leads. */
  probe() {
    if (this.isLeader || this.#isParked) return;
    this.#say({ type: "probe" });
    this.#platform.clearTimeout(this.#timer);
    this.#timer = this.#platform.setTimeout(() => this.#stand({ steal: true }), limits.leaderAnswer);
  }

  get #lockName() { return `${this.#name} ${this.#group}`; }

  #tabLock(tab) { return `${this.#lockName} tab ${tab}`; }

  #opened(name, hear) {
    if (name === null) return undefined;
    const channel = new this.#platform.BroadcastChannel(name);
    channel.onmessage = ({ data }) => hear(data);
    return channel;
  }

  #say(message) { this.#channel?.postMessage({ ...this.#hooks.source(), ...message }); }

  #enlist() {
    if (this.#group === null) return;
    // Held in the group: the leader gets it when the tab is gone.
    const leaving = new Promise((resolve) => { this.#leave = resolve; });
    this.#platform.locks.request(this.#tabLock(this.#id), () => {
      this.announce();
      return leaving;
    }).catch(() => {});
    this.#stand();
    this.#heard();
  }

  #withdraw() {
    this.#platform.clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#isLeading = false;
    this.#watches.clear();
    this.#resign();
    this.#leave();
  }

  async #stand({ steal = false } = {}) {
    this.#asking?.abort();
    const asking = this.#asking = new AbortController();
    const options = steal ? { steal } : { signal: asking.signal };
    try {
      await this.#platform.locks.request(this.#lockName, options, () => {
        if (asking.signal.aborted) return undefined;
        const resigned = new Promise((resolve) => { this.#resign = resolve; });
        this.#lead();
        return resigned;
      });
    } catch (error) {
      // A sandboxed frame has no locks.
      if (error.name !== "AbortError" && !asking.signal.aborted) return this.#lead();
    }
    // Another tab stole the lock.
    if (this.#asking !== asking || !this.#isLeading) return;
    this.#isLeading = false;
    this.#watches.clear();
    this.#hooks.follow();
    this.announce();
    this.#heard();
    this.#stand();
  }

  #lead() {
    this.#isLeading = true;
    this.#platform.clearTimeout(this.#timer);
    this.#watches.clear();
    this.#say({ type: "leader" });
    this.#hooks.lead();
  }

  #hear(message) {
    if (this.#isParked) return;
    if (this.#isLeading) return this.#hearAsLeader(message);
    switch (message.type) {
      case "leader": this.announce(); break;
      case "events":
        if ([undefined, this.#id].includes(message.tab)) this.#hooks.hear(message);
        break;
      case "alive": break;
      default: return;
    }
    this.#heard();
  }

  #hearAsLeader(message) {
    switch (message.type) {
      case "watch": {
        const group = this.#group;
        const isNew = !this.#watches.has(message.tab);
        this.#watches.set(message.tab, message.features);
        this.#say({ type: "events", tab: message.tab, ...this.#hooks.snapshot() });
        this.#hooks.changed();
        if (isNew) {
          this.#platform.locks.request(this.#tabLock(message.tab), () => {
            if (group === this.#group && this.#watches.delete(message.tab)) this.#hooks.changed();
          }).catch(() => {});
        }
        break;
      }
      case "order": this.#hooks.order(message); break;
      case "probe": this.#say({ type: "alive" }); break;
    }
  }

  #heard() {
    this.#platform.clearTimeout(this.#timer);
    if (this.isLeader) return;
    this.#timer = this.#platform.setTimeout(() => this.probe(), limits.silentHeartbeats * limits.heartbeat);
  }
}

// ---------------------------------------------------------------- the client

class Client {
  #options; #platform; #session; #stream; #intents; #tabs; #stores = new Map(); #isGathering = false;
  #condition = { condition: "idle" }; #conditionListeners = new Set(); #eventListeners = new Set();
  #hello = null; #labelIds = new Set(); #isClosed = false; #ending; #removeListeners = [];
  #keep = () => {};

  constructor(options) {
    const { url = "", credential = "cookie", patience = limits.patience } = options ?? {};
    this.#options = { ...options, url: url.replace(/\/$/, ""), credential, patience };
    this.#platform = { ...ownPlatform(), ...options?.platform };
    this.#session = new Session(this.#options, this.#platform, (answer) => this.#sessionChanged(answer));
    this.#stream = new Stream(this.#options, this.#platform, this.#session, (event, data) => {
      this.#tabs.pass(event, data, this.#stream.cursor);
      this.#hear(event, data);
    });
    this.#intents = new Intents(this.#options.patience, this.#platform, this.#session, () => this.#endHere());
    this.#session.onReplaced = () => this.#intents.review();
    if (options?.pendingStorage) this.#intents.restored = this.#restore(options.pendingStorage);
    this.#tabs = new Tabs(this.#isShared ? `mvi-client:${this.#options.url}` : null, this.#platform, this.#tabHooks());
    this.#listenToPage();
    this.#tabs.enter(this.#session.group);
  }

  get condition() { return this.#condition.condition; }

  get conditionDetails() { return this.#condition; }

  get session() { return this.#hello?.session ?? null; }

  onCondition = (listener) => listen(this.#conditionListeners, listener);

  onEvent = (listener) => listen(this.#eventListeners, listener);

  store(id, { predict } = {}) {
    checkId(id);
    if (!this.#stores.has(id)) this.#stores.set(id, new Store(id, this, this.#platform, () => this.#watchedChanged()));
    if (predict) this.#stores.get(id).predict(predict);
    return this.#stores.get(id);
  }

  uuid() { return this.#platform.uuid(); }

  get pending() { return this.#intents.pending.map(({ id, feature, intent }) => ({ id, feature, intent })); }

  async #restore(storage) {
    const key = `mvi-client:${this.#options.url} pending`;
    const stored = new Promise((resolve) => { resolve(storage.getItem(key)); }).catch(() => null);
    // In this task the app makes its stores, with their predictions.
    await new Promise((resolve) => { this.#platform.setTimeout(resolve, 0); });
    let kept = [];
    try {
      kept = JSON.parse(await stored).filter((each) => typeof each.until === "number" && isObject(each.owner));
    } catch { /* There is none. */ }
    if (this.#isClosed) return;
    for (const each of kept) this.guard(() => this.store(each.feature).resume(each));
    let saving = Promise.resolve();
    this.#keep = () => {
      const text = JSON.stringify(this.#intents.kept);
      saving = saving.then(() => storage.setItem(key, text)).catch(() => {});
    };
    // Once for all changes of a task.
    let isSaved = true;
    this.#intents.onChange = async () => {
      if (!isSaved) return;
      isSaved = false;
      await undefined;
      isSaved = true;
      if (!this.#isClosed) this.#keep();
    };
    this.#keep();
  }

  /** @param attempt gets the function that makes one request */
  async send(feature, { id, intent, body, kept, options: { signal, ifMatch, tag: keptTag } = {} }, attempt, failed) {
    // The app decided by a version of this epoch.
    const tag = keptTag ?? (ifMatch === undefined ? {} : { "If-Match": `"${this.#hello?.epoch}.${ifMatch}"` });
    const headers = { "Idempotency-Key": `"${id}"`, ...tag };
    const answer = await this.#intents.add((timeout) => attempt(() => this.#session.request(
      "POST", `/features/${feature}/intents`,
      { body, headers: { ...headers, ...this.#session.field }, timeout, signal, keepalive: body.length < limits.keepalive })),
    { signal, kept, failed, what: { id, feature, intent, body, tag } });
    // The server is there.
    if (this.condition === "reconnecting") this.#lead("answered");
    // The stream is another session's.
    if (answer?.session && this.session !== null && answer.session !== this.session) this.#tabs.tell(this.#session.description);
    return answer ?? {};
  }

  async dispose(id) {
    checkId(id);
    await this.#intents.add((timeout) => this.#session.request(
      "DELETE", `/features/${id}/state`, { headers: this.#session.field, timeout }));
  }

  async request(method, path, { body, headers } = {}) {
    await this.#ending;
    const text = body === undefined ? body : JSON.stringify(body);
    let generation, target;
    const attempt = async (refusal) => {
      await this.#session.have();
      target ??= this.#session.target;
      if (refusal && !this.#session.serves(target)) throw refusal;
      generation = this.#session.generation;
      return this.#session.request(method, path, { body: text, headers: { ...this.#session.field, ...headers } });
    };
    return attempt().catch(async (error) => {
      if (error.kind === "other-session") this.#session.leave(generation);
      const what = remedy(error);
      if (what === "session") this.#session.drop(generation);
      else {
        if (what === "ended") await this.#session.settle(what);
        if (what !== "ended" || generation === this.#session.generation) throw error;
      }
      return attempt(error);
    });
  }

  reconnect() {
    // A browser may be wrong about being offline.
    this.#intents.online();
    this.#lead("reconnect");
  }

  async signIn(identity, { keep = true } = {}) {
    await this.#session.signIn(identity, keep);
    if (["signedOut", "idle"].includes(this.condition)) this.reconnect();
  }

  async endSession() {
    const end = this.#intents.add(async (timeout) => {
      const { field: headers, target } = this.#session;
      await this.#session.request("DELETE", "/sessions/current", { timeout, headers }).catch((error) => {
        if (![401, 404].includes(error.status)) throw error;
      });
      // The next may have begun.
      if (this.#session.serves(target)) this.#endHere();
    }, { isEnd: true }).catch((error) => {
      if (error.kind !== "other-session" && error.reason !== "other-session") throw error;
    });
    this.#ending = end.catch(() => {});
    await end;
  }

  #endHere() {
    const { id } = this.#session;
    this.#session.end();
    this.#lead("ended", id);
  }

  notify(what) {
    if (what === "online" || what === "offline") this.#intents[what]();
    if (this.#tabs.isLeader) return this.#stream[what]();
    if (what === "foreground") {
      this.#tabs.order("foreground");
      this.#tabs.probe();
    }
  }

  close() {
    // For the next run.
    this.#keep();
    this.#isClosed = true;
    for (const remove of this.#removeListeners) remove();
    this.#intents.close();
    this.#session.close();
    this.#tabs.close();
    this.#stream.close();
    this.#hear("condition", { condition: "closed" });
  }

  guard(call) {
    try { call(); } catch (error) { this.#platform.report(error); }
  }

  // ------------------------------------------------------------ events

  #hear(event, data) {
    switch (event) {
      case "hello":
        if (this.#hello && !isOfSame(data, this.#hello)) this.#forget(data);
        this.#hello = data;
        this.#session.meet(data.session);
        this.#intents.online();
        this.#intents.wake();
        break;
      case "label":
        // Labels come at least once.
        if (this.#labelIds.has(data.id)) return;
        this.#labelIds.add(data.id);
        if (this.#labelIds.size > limits.labelIds) this.#labelIds.delete(this.#labelIds.values().next().value);
        break;
      case "reset":
        for (const store of this.#stores.values()) store.handle("reset");
        break;
      case "condition": return this.#show(data);
    }
    this.report(event, data);
    if (["state", "label", "presence", "end", "denied", "missing"].includes(event)) this.#stores.get(data.feature)?.handle(event, data);
  }

  report(event, data) {
    for (const listener of [...this.#eventListeners]) this.guard(() => listener(event, data));
  }

  #show(data) {
    if (this.condition === "closed") return;
    if (data.condition === "ended") {
      if (this.#session.id === data.session) this.#session.end();
      this.#forget({ session: null });
    } else if (data.condition === "signedOut") {
      for (const store of this.#stores.values()) store.handle("reset", { isEmpty: true });
    }
    this.#condition = data;
    for (const listener of [...this.#conditionListeners]) this.guard(() => listener());
  }

  #forget({ session }) {
    const isEmpty = this.#hello?.session !== session;
    this.#hello = null;
    this.#labelIds.clear();
    for (const store of this.#stores.values()) store.handle("forget", { isEmpty });
  }

  // ------------------------------------------------------------ watched features and the tab of the stream

  #watched() { return [...this.#stores.values()].filter((store) => store.isWatched).map((store) => store.id); }

  #watchedChanged() {
    if (this.#isGathering || this.#isClosed) return;
    this.#isGathering = true;
    this.#platform.setTimeout(() => {
      this.#isGathering = false;
      if (this.#isClosed) return;
      this.#tabs.announce();
      this.#updateStream();
      this.#catchUp();
    }, 0);
  }

  /** Another tab may have watched the same before: this one's stream does not tell it again. */
  #catchUp() {
    if (!this.#tabs.isLeader) return;
    for (const [event, data] of this.#stream.snapshot()) {
      const store = this.#stores.get(data.feature);
      if (event === "presence" || (event === "state" && store?.status === "loading")) store?.handle(event, data);
    }
  }

  #updateStream() {
    if (this.#tabs.isLeader) this.#stream.update([...this.#watched(), ...this.#tabs.features]);
  }

  get #isShared() {
    const { share, credential, storage } = this.#options;
    const { locks, BroadcastChannel, document } = this.#platform;
    return share !== false && locks && BroadcastChannel && document && (credential === "cookie" || storage);
  }

  #tabHooks() {
    return {
      lead: () => this.#stream.resume(this.#watched()),
      follow: () => this.#stream.close("idle"),
      changed: () => this.#updateStream(),
      watched: () => this.#watched(),
      source: () => this.#tabs.isLeader ? this.#stream.source : { session: this.#session.id, epoch: this.#hello?.epoch },
      snapshot: () => ({
        events: [...(this.#session.id == null ? [] : [["session", this.#session.description]]), ...this.#stream.snapshot()],
        cursor: this.#stream.cursor,
      }),
      order: (message) => { if (!this.#isForeign(message)) this.#order(message.what, message.value); },
      hear: (message) => this.#hearTab(message),
      learn: (news) => { if (this.#session.adopt(news)) this.#move(news); },
    };
  }

  #isForeign({ session }) { return session != null && this.#session.id != null && session !== this.#session.id; }

  #hearTab(message) {
    if (this.#isForeign(message)) {
      // The cookie may belong to another session now.
      if (message.events.some(([event]) => event === "hello")) {
        this.#session.meet(message.session);
        this.#session.have().catch(() => {});
      }
      return;
    }
    for (const [event, data] of message.events) {
      if (event === "session") this.#session.adopt(data);
      else if (event === "hello" || !message.epoch || (this.#hello && isOfSame(message, this.#hello))) {
        this.#stream.note(event, data, message.cursor);
        const { status, document, retryAfter, message: text } = data?.problem ?? {};
        const problem = status === undefined ? new Error(text) : new Problem(status, document, retryAfter);
        this.#hear(event, text === undefined ? data : { ...data, problem });
      }
    }
  }

  #lead(what, value) {
    if (this.#isClosed) return;
    if (this.#tabs.isLeader) this.#order(what, value);
    else this.#tabs.order(what, value);
  }

  #order(what, value) {
    switch (what) {
      case "reconnect": return this.#stream.reconnect();
      case "answered": return this.#stream.answered();
      case "foreground": return this.#stream.foreground();
      case "ended":
        if (value == null) return this.#stream.ended();
        if ([undefined, value].includes(this.#stream.hello?.session)) this.#stream.ended(value);
    }
  }

  #sessionChanged(answer) {
    this.#hear("session", answer);
    this.#tabs.tell({ ...this.#session.description, replaces: answer.replaces });
    this.#move(answer);
  }

  #move(answer) {
    const isMoved = this.#tabs.enter(this.#session.group);
    if (this.#tabs.isLeader) this.#stream.sessionChanged(answer);
    else if (isMoved) this.#stream.leave(answer, this.#watched().length > 0);
    else this.#tabs.announce();
  }

  #listenToPage() {
    const { window, document } = this.#platform;
    const on = (target, name, handle) => {
      target?.addEventListener(name, handle);
      this.#removeListeners.push(() => target?.removeEventListener(name, handle));
    };
    const back = () => {
      this.#tabs.join();
      this.notify("foreground");
    };
    const park = () => {
      this.#tabs.park();
      this.#stream.park();
    };
    on(window, "online", () => this.notify("online"));
    on(window, "offline", () => this.notify("offline"));
    on(window, "focus", () => this.notify("foreground"));
    on(window, "pointerdown", () => { if (this.condition === "paused") this.notify("foreground"); });
    on(document, "visibilitychange", () => { if (document.visibilityState === "visible") this.notify("foreground"); });
    // It must not hold a stream.
    on(window, "pagehide", () => {
      this.#intents.leave();
      park();
    });
    on(window, "pageshow", ({ persisted }) => { if (persisted) back(); });
    on(document, "freeze", park);
    on(document, "resume", back);
  }
}

function ownPlatform() {
  const { navigator, document, EventSource, BroadcastChannel } = globalThis;
  const hex = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return {
    fetch: (...request) => globalThis.fetch(...request),
    EventSource, BroadcastChannel, locks: navigator?.locks,
    document, window: document && globalThis,
    // Durations are by the first, which nobody sets.
    now: () => performance.now(),
    wallTime: () => Date.now(),
    setTimeout: (call, milliseconds) => setTimeout(call, milliseconds),
    clearTimeout: (timer) => clearTimeout(timer),
    random: () => Math.random(),
    // Without https a browser has no `randomUUID`.
    uuid: () => crypto.randomUUID?.() ?? hex().replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
    report: (error) => (globalThis.reportError ?? console.error)(error),
    ...ownSettings(navigator?.language),
  };
}

/** Without those that a server would refuse, such as a time zone that has only an offset. */
function ownSettings(language) {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  let locale;
  try { [locale] = Intl.getCanonicalLocales(language ?? []); } catch { /* It is no language tag. */ }
  return { locale, timeZone: /^[a-z][\w+/-]*$/i.test(timeZone) ? timeZone : undefined };
}

export function createClient(options) {
  return new Client(options);
}
