// The demo page: one EventSource for all features, one POST for each intent, and a function for each feature that
// makes elements of its view state. No state of its own beyond what the stream said last.

const byId = (id) => document.getElementById(id);
const cards = [...document.querySelectorAll("[data-feature]")].map((element) => ({
  element,
  name: element.dataset.feature,
  view: element.querySelector(".view"),
  // Keyed features show the chosen key.
  key: element.querySelector("[data-open] select")?.value,
  get id() { return this.key ? `${this.name}:${this.key}` : this.name; },
}));

// ---------------------------------------------------------------- elements

/** An element with attributes and children; nullish children are left out. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

const intentButton = (intent, title, attributes = {}) =>
  h("button", { type: "button", "data-intent": JSON.stringify(intent), ...attributes }, title);

/** Puts new elements in place of the old ones; what had the focus keeps it if it is there again. */
function render(view, children) {
  const focused = view.contains(document.activeElement) ? document.activeElement.dataset.intent : undefined;
  view.replaceChildren(...children.flat().filter((child) => child != null && child !== false));
  if (focused === undefined) return;
  const again = [...view.querySelectorAll("[data-intent]")].find((e) => e.dataset.intent === focused && !e.disabled);
  if (!again) view.tabIndex = -1;
  (again ?? view).focus({ preventScroll: true });
}

const loading = (text) => h("p", { class: "loading" }, text);
const problem = (text, retry) => h("div", { class: "problem" }, h("strong", {}, text), retry);
const facts = (pairs) =>
  h("dl", { class: "facts" }, pairs.filter(([, value]) => value != null).map(([name, value]) => [
    h("dt", {}, name), h("dd", {}, value),
  ]).flat());

// ---------------------------------------------------------------- views, one for each feature

const views = {
  "counter": (state) => [
    h("p", { class: String(state.count).length > 9 ? "count long" : "count" }, state.count),
    state.isLoading && loading("Loading a number…"),
  ],

  "user-info": (state) => [
    state.status === "loading" && loading("Loading the profile…"),
    state.error && problem(state.error, intentButton({ type: "reload" }, "Try again")),
    state.profile && h("div", { class: "profile" },
      h("div", { class: "avatar", "aria-hidden": "true" }, state.profile.initials),
      h("div", {},
        h("p", { class: "title" }, state.profile.name),
        h("p", { class: "soft" }, state.profile.membership))),
    state.profile && facts([
      ["Email", state.profile.email], ["Phone", state.profile.phone], ["City", state.profile.city],
    ]),
  ],

  "lesson-detail": ({ status, lesson, progress, error }) => [
    status === "empty" && h("p", { class: "soft" }, "Nothing is loaded yet."),
    status === "loading" && loading("Loading the lesson…"),
    error && problem(error, intentButton({ type: "onAppear" }, "Try again")),
    lesson && h("div", {}, h("p", { class: "title" }, lesson.title), h("p", { class: "soft" }, lesson.subtitle)),
    lesson && h("p", { class: lesson.isEnrolled ? "tag good" : "tag" },
      lesson.isEnrolled ? "✓ You have a place" : "You have no place"),
    lesson && facts([
      ["When", `${lesson.date}, ${lesson.time}`], ["Where", `${lesson.venue}, ${lesson.address}`],
      ["Price", lesson.price], ["Free", lesson.places],
    ]),
    progress && loading(progress),
  ],

  "order-detail": (state) => [h("div", { class: "sections" },
    section("status", "Status", state.status, (c) => [
      h("p", { class: "title" }, c.title), h("p", { class: "soft" }, c.detail),
      c.progress && loading(c.progress),
      h("div", { class: "row" }, c.buttons.map((button) => intentButton(
        { type: "statusButton", actionId: button.actionId }, button.title, { disabled: !button.isEnabled }))),
    ]),
    section("infoCard", "Customer", state.infoCard, (c) => [
      h("p", { class: "title" }, c.customer), h("p", {}, c.subject),
      h("p", { class: "soft" }, `${c.address} · ${c.phone}`),
      c.notes && h("p", { class: "soft" }, `“${c.notes}”`),
    ]),
    section("fee", "Fee", state.fee, (c) => [
      h("ul", { class: "fee" },
        c.lines.map((line) => h("li", {}, h("span", {}, line.text), h("span", {}, line.amount))),
        h("li", {}, h("span", {}, "Total"), h("span", {}, c.total))),
    ]),
    section("scheduling", "Appointment", state.scheduling, (c) => [
      facts([["When", `${c.date}, ${c.time}`], ["Who", c.technician]]),
    ]))],

  "video-list": ({ status, summary, views: count, error, videos }) => [
    h("p", { class: "row" },
      summary && h("span", { class: "soft" }, summary), count && h("span", { class: "tag" }, count)),
    status === "empty" && h("p", { class: "soft" }, "Nothing is loaded yet."),
    status === "loading" && loading("Loading the videos…"),
    error && problem(error, intentButton({ type: "retry" }, "Try again")),
    videos.length > 0 && h("ul", { class: "videos" }, videos.map((video) => h("li", {},
      h("button", { type: "button", "data-intent": JSON.stringify({ type: "tapVideo", id: video.id }) },
        h("span", {}, video.title), h("span", { class: "duration" }, video.duration),
        h("span", { class: "soft" }, video.subtitle))))),
  ],
};

function section(name, title, { status, error, content }, show) {
  return h("section", { class: "section", "aria-label": title },
    h("h3", {}, title),
    status === "loading" && loading("Loading…"),
    error && problem(error, intentButton({ type: "retrySection", section: name }, "Try again")),
    content && show(content));
}

/** What a label says to a person. */
const labelTexts = {
  milestone: (label) => `Milestone: ${label.count}`,
  toast: (label) => label.text,
  dismiss: (label) => `Left the screen: ${label.reason}`,
  openMaps: (label) => `Would open maps at ${label.name} (${label.latitude}, ${label.longitude})`,
  addToCalendar: (label) => `Would add to the calendar: ${label.title}, ${label.startsAt.replace("T", " ")}`,
  openVideo: (label) => `Would open “${label.title}”`,
};

// ---------------------------------------------------------------- log and toasts

const logLimit = 200;

function log(kind, what, detail) {
  const list = byId("log");
  const text = typeof detail === "string" ? detail : JSON.stringify(detail);
  list.prepend(h("li", {},
    h("time", {}, new Date().toTimeString().slice(0, 8)),
    h("span", { class: "what", "data-kind": kind }, what),
    text && h("code", {}, text.length > 300 ? `${text.slice(0, 300)}…` : text)));
  while (list.children.length > logLimit) list.lastElementChild.remove();
}

function toast(text, { note, bad = false } = {}) {
  const element = h("div", { class: bad ? "toast bad" : "toast" }, h("span", {}, text), note && h("small", {}, note));
  const close = h("button", { type: "button", "aria-label": "Dismiss" }, "✕");
  close.addEventListener("click", () => element.remove());
  element.append(close);
  const toasts = byId("toasts");
  toasts.append(element);
  while (toasts.children.length > 4) toasts.firstElementChild.remove();
  // Whoever points at it or stands in it with the keyboard is still reading.
  const leave = () => {
    if (element.matches(":hover, :focus-within")) setTimeout(leave, 1000);
    else element.remove();
  };
  setTimeout(leave, bad ? 10_000 : 6_000);
}

// ---------------------------------------------------------------- the session

class Problem extends Error {
  constructor(status, body, retryAfter) {
    super(body.detail ?? body.title ?? `The server answered ${status}`);
    Object.assign(this, { status, body, retryAfter });
  }
  /** The problem's name: the end of its type, such as `session-not-found`. */
  get name() { return String(this.body.type ?? "").split("/").pop(); }
  get text() {
    const errors = (this.body.errors ?? []).map((error) => `${error.pointer || "body"}: ${error.detail}`);
    return errors.length > 0 ? errors.join(" · ") : this.message;
  }
}

/** fetch, with refusals thrown as `Problem`. */
async function request(method, path, { body, headers = {} } = {}) {
  const response = await fetch(path, {
    method, body, credentials: "same-origin", cache: "no-store",
    headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
  });
  if (response.ok) return response;
  const type = response.headers.get("Content-Type") ?? "";
  const refusal = type.includes("json") ? await response.json().catch(() => ({})) : {};
  throw new Problem(response.status, refusal, Number(response.headers.get("Retry-After")) || undefined);
}

/** The session of this browser's cookie, made if there is none: by one tab at a time, or each would make its own. */
async function haveSession() {
  return navigator.locks ? navigator.locks.request("session", postSession) : postSession();
}

async function postSession() {
  const response = await request("POST", "/sessions", { body: JSON.stringify({ credential: "cookie" }) });
  const session = await response.json();
  log("stream", response.status === 201 ? "new session" : "session goes on", { id: session.id, expiresAt: session.expiresAt });
}

// ---------------------------------------------------------------- the stream

const seenLabels = new Set();
/** By feature id: the version shown last, and what waits for a version. */
const shown = new Map();
let waiting = [];
/** Cards whose feature was told that its view appeared, in this session. */
const appeared = new Set();

const stream = {
  source: null, session: null, cursor: null, condition: "connecting", attempt: 0, timer: 0, watchdog: 0, heartbeat: 20,

  /** Opens the stream, in a session that is made if there is none. */
  async start() {
    this.stop();
    this.show("connecting");
    const turn = this.turn;
    try {
      await haveSession();
      if (turn === this.turn) this.open();
    } catch (error) {
      if (turn === this.turn) this.again(error);
    }
  },

  open() {
    this.stop();
    const query = new URLSearchParams(cards.map((card) => ["feature", card.id]));
    // A new EventSource knows nothing of the old one's position.
    if (this.cursor) query.set("last_event_id", this.cursor);
    const source = new EventSource(`/events?${query}`);
    this.source = source;
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => {
        if (this.source !== source) return;
        if (event.lastEventId) this.cursor = event.lastEventId;
        this.watch();
        handle(JSON.parse(event.data));
      });
    }
    source.onerror = () => {
      if (this.source !== source) return;
      if (source.readyState === EventSource.CLOSED) this.diagnose();
      else this.show("reconnecting");
    };
    this.watch();
  },

  /** Number of starts and stops so far: who was overtaken by another gives up. */
  turn: 0,

  stop() {
    this.turn += 1;
    clearTimeout(this.timer);
    clearTimeout(this.watchdog);
    this.source?.close();
    this.source = null;
  },

  /** A stream that says nothing for more than two heartbeats is dead, whatever the browser thinks. */
  watch(milliseconds = this.heartbeat * 2_500) {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => {
      log("stream", "silence", "Nothing came for more than two heartbeats; connecting anew.");
      this.show("reconnecting");
      this.open();
    }, milliseconds);
  },

  /** The browser gave up for ever. The session tells why. */
  async diagnose() {
    this.stop();
    this.show("reconnecting");
    const turn = this.turn;
    try {
      await request("GET", "/sessions/current");
      this.again(new Error("The stream was refused, the session is fine."));
    } catch (error) {
      if (turn !== this.turn) return;
      if (error.name === "session-ended") this.end("The session has ended.");
      else if (error.status === 404 || error.status === 401) this.renew();
      else this.again(error);
    }
  },

  /** The session is gone: another one, and nothing of the old one counts. */
  renew() {
    forget();
    this.start();
  },

  /** Tries again later, less and less often, never all clients at once. */
  again(error) {
    this.stop();
    this.show("reconnecting");
    const pause = error.retryAfter ? error.retryAfter * 1000 : Math.min(30_000, 1000 * 2 ** this.attempt);
    this.attempt += 1;
    log("problem", "no stream", `${error.text ?? error.message} Trying again in ${Math.ceil(pause / 1000)} s.`);
    this.timer = setTimeout(() => this.start(), pause * (0.8 + 0.4 * Math.random()));
  },

  end(reason) {
    this.stop();
    forget();
    this.show("ended");
    log("stream", "ended", reason);
  },

  show(condition) {
    this.condition = condition;
    const texts = {
      connecting: "Connecting…", live: "Live", reconnecting: "Reconnecting…", ended: "Session ended",
      paused: "Paused: another tab took over",
    };
    const pill = byId("condition");
    if (pill.textContent !== texts[condition]) pill.textContent = texts[condition];
    pill.dataset.condition = condition;
    byId("reconnect").textContent = condition === "ended" ? "New session" : "Reconnect";
    byId("end-session").disabled = condition === "ended";
  },
};

/** What belonged to a session that is no more. */
function forget() {
  stream.cursor = null;
  stream.session = null;
  seenLabels.clear();
  shown.clear();
  appeared.clear();
  settle(() => true);
}

const handlers = {
  hello(data) {
    if (stream.session && stream.session !== data.session) {
      const cursor = stream.cursor;
      forget();
      stream.cursor = cursor;
    }
    stream.session = data.session;
    stream.heartbeat = data.heartbeat || 20;
    stream.attempt = 0;
    stream.watch();
    stream.show("live");
    byId("session").textContent = data.session;
    log("stream", "hello", data);
  },

  state(data) {
    const card = cards.find((card) => card.id === data.feature);
    if (!card) return;
    shown.set(data.feature, data.version);
    render(card.view, views[card.name](data.state));
    card.element.querySelector(".version").textContent = `v${data.version}`;
    settle((wait) => wait.feature === data.feature && wait.version <= data.version, { wasSeen: true });
    log("state", `state ${data.feature} v${data.version}`, data.state);
    if (data.state.status === "empty") appear(card);
  },

  label(data) {
    // Labels come at least once.
    if (seenLabels.has(data.id)) return;
    seenLabels.add(data.id);
    if (seenLabels.size > 1000) seenLabels.delete(seenLabels.values().next().value);
    log("label", `label ${data.feature}${data.replay ? " (replayed)" : ""}`, data.label);
    const text = labelTexts[data.label.type]?.(data.label) ?? JSON.stringify(data.label);
    toast(text, { note: data.replay ? `${data.feature} · while you were away` : data.feature });
  },

  ping(data) {
    if (byId("show-pings").checked) log("stream", "ping", data);
  },

  reset(data) {
    log("stream", "reset", data);
    // What is shown from now on is new; nothing that waits for a version of before can be told from it.
    settle(() => true);
    if (data.labelsLost) toast("Some messages were lost", { note: `The stream started over: ${data.reason}` });
  },

  end(data) {
    log("stream", `end ${data.feature}`, "The store was disposed.");
    const card = cards.find((card) => card.id === data.feature);
    if (!card) return;
    shown.delete(data.feature);
    appeared.delete(data.feature);
    settle((wait) => wait.feature === data.feature);
    const again = h("button", { type: "button" }, "Start it again");
    again.addEventListener("click", () => stream.open());
    render(card.view, [h("p", { class: "soft" }, "This store was disposed."), again]);
    card.element.querySelector(".version").textContent = "–";
  },

  goaway(data) {
    log("stream", "goaway", data);
    switch (data.reason) {
      case "ended": return stream.end("The session was ended.");
      case "expired": return stream.renew();
      case "superseded":
        stream.stop();
        return stream.show("paused");
      // The rest come back by themselves, when the browser has waited for as long as `retry:` said.
      default:
        stream.show("reconnecting");
        stream.watch((data.retry ?? 0) + 30_000);
    }
  },
};

// ---------------------------------------------------------------- intents

/** Ends the waiting of those who match: the stream has shown what they wrote, or never will. */
function settle(isOver, { wasSeen = false } = {}) {
  const over = waiting.filter(isOver);
  waiting = waiting.filter((wait) => !isOver(wait));
  if (wasSeen) {
    for (const { feature, version, since } of over) {
      log("state", `seen ${feature} v${version}`, `${Math.round(performance.now() - since)} ms after the click`);
    }
  }
  for (const card of cards) card.element.toggleAttribute("data-pending", waiting.some((w) => w.feature === card.id));
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Posts an intent. The key makes it safe to post it again when no answer came: it runs once. */
async function post(feature, body) {
  const key = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const headers = { "Idempotency-Key": `"${key}"` };
      const response = await request("POST", `/features/${feature}/intents`, { body, headers });
      return await response.json();
    } catch (error) {
      const mayPass = !(error instanceof Problem) || error.status === 503 || error.name === "intent-in-progress";
      if (!mayPass || attempt === 4) throw error;
      await pause(error.retryAfter ?? attempt * 0.5);
    }
  }
}

async function send(card, body) {
  const wait = { feature: card.id, version: Infinity, since: performance.now() };
  waiting.push(wait);
  card.element.toggleAttribute("data-pending", true);
  card.element.querySelector(":scope > .problem")?.remove();
  log("intent", `intent ${card.id}`, body);
  try {
    const answer = await post(wait.feature, body);
    log("intent", `202 ${wait.feature} v${answer.version}`, `intent ${answer.intent}`);
    // Another tab made a session, and the cookie is that one's now: what this stream shows is of the old one.
    if (stream.session && answer.session !== stream.session) return stream.renew();
    // The stream may have been quicker than the answer.
    wait.version = answer.version;
    settle((other) => other === wait && (shown.get(wait.feature) ?? -1) >= answer.version, { wasSeen: true });
  } catch (error) {
    settle((other) => other === wait);
    refused(card, error);
  }
}

function refused(card, error) {
  const status = error instanceof Problem ? `${error.status} ${error.body.title ?? ""}`.trim() : "No answer";
  const text = error.text ?? "The server could not be reached.";
  log("problem", `${status} ${card.id}`, error.body ?? text);
  card.element.querySelector(":scope > .problem")?.remove();
  card.view.before(h("div", { class: "problem", role: "alert" }, h("strong", {}, status), h("span", {}, text)));
  if (error.name === "session-not-found" || error.status === 401) stream.renew();
  if (error.name === "session-ended") stream.end("The session has ended.");
}

/** The view of a feature appeared: it is told once, and not again while it is shown. */
function appear(card) {
  if (appeared.has(card.id)) return;
  appeared.add(card.id);
  send(card, JSON.stringify({ type: "onAppear" }));
}

/** The JSON of a form's intent. A number goes as it was typed: parsed and printed it could be another one. */
function formIntent(form) {
  const fields = [...new FormData(form)].map(([name, value]) => {
    const isNumber = /^-?(0|[1-9]\d*)$/.test(value.trim());
    return `${JSON.stringify(name)}:${isNumber ? value.trim() : JSON.stringify(value)}`;
  });
  return `${form.dataset.intent.slice(0, -1)},${fields.join(",")}}`;
}

/** Shows another lesson or order, if there is one: a stream that names an unknown feature is refused whole. */
async function choose(card, key) {
  const id = `${card.name}:${key}`;
  card.element.querySelector(":scope > .problem")?.remove();
  try {
    await request("GET", `/features/${id}/state`);
  } catch (error) {
    refused({ ...card, id }, error);
    return;
  }
  if (card.key === key) return;
  settle((wait) => wait.feature === card.id);
  appeared.delete(card.id);
  card.key = key;
  card.element.querySelector(".version").textContent = "–";
  label(card);
  stream.open();
}

// ---------------------------------------------------------------- curl

const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function curlLine(command) {
  const button = h("button", { type: "button" }, "Copy");
  const code = h("code", {}, command);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command);
    } catch {
      // Not allowed without https: the text is marked, so that the keyboard can copy it.
      getSelection().selectAllChildren(code);
      return;
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return h("li", {}, code, button);
}

const curlIntent = (card, body) => curlLine(
  `curl -X POST ${location.origin}/features/${card.id}/intents -H "Authorization: Bearer $TOKEN" ` +
  `-H 'Content-Type: application/json' -d ${quote(body)}`);

/** Writes a card's id and its curl lines, which hold the id. */
function label(card) {
  card.element.querySelector(".id").textContent = card.id;
  const bodies = [...card.element.querySelectorAll(".actions [data-intent]")]
    .map((element) => (element.tagName === "FORM" ? formIntent(element) : element.dataset.intent));
  if (card.name === "order-detail") bodies.push('{"type":"statusButton","actionId":"accept"}');
  if (card.name === "video-list") bodies.push('{"type":"tapVideo","id":3}');
  card.element.querySelector(".curl ul").replaceChildren(...bodies.map((body) => curlIntent(card, body)));
}

// ---------------------------------------------------------------- what a person does

for (const card of cards) {
  card.element.append(h("details", { class: "curl" }, h("summary", {}, "The same with curl"), h("ul")));
  label(card);

  card.element.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-intent]");
    if (button) send(card, button.dataset.intent);
  });
  card.element.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.target.matches("[data-intent]")) send(card, formIntent(event.target));
    else choose(card, new FormData(event.target).get("key"));
  });
  card.element.addEventListener("input", (event) => {
    if (event.target.form?.matches("form[data-intent]")) label(card);
  });
}

byId("curl-session").append(
  curlLine(`TOKEN=$(curl -s -X POST ${location.origin}/sessions | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`),
  curlLine(`curl -N -H "Authorization: Bearer $TOKEN" '${location.origin}/events?feature=counter&feature=user-info'`));

byId("clear-log").addEventListener("click", () => byId("log").replaceChildren());
byId("reconnect").addEventListener("click", () => stream.start());
byId("end-session").addEventListener("click", async () => {
  try {
    await request("DELETE", "/sessions/current");
    stream.end("The session was ended here.");
  } catch (error) {
    toast(error.text ?? "The server could not be reached.", { bad: true });
  }
});

// A stream that another tab took the place of comes back when this one is looked at again, not before.
const lookedAt = () => {
  if (stream.condition === "paused" && document.visibilityState === "visible") stream.start();
};
document.addEventListener("visibilitychange", lookedAt);
addEventListener("focus", lookedAt);
addEventListener("pointerdown", lookedAt);
addEventListener("online", () => { if (stream.condition === "reconnecting") stream.start(); });

// A page that the browser keeps for the way back must not hold a stream's place.
addEventListener("pagehide", () => stream.stop());
addEventListener("pageshow", (event) => { if (event.persisted && stream.condition !== "ended") stream.start(); });

stream.start();
