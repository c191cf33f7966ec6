// The demo page: one function per feature that creates elements from its view state. The client does the rest.

import { createClient, Problem } from "/mvi-client.js";

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

/** Creates an element with attributes and children; nullish children are omitted. */
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

/** Replaces the old elements by new ones and keeps the focus if its element is there again. */
function render(view, children) {
  // The button of a place may have another intent now.
  const place = ({ dataset }) => dataset.place ?? dataset.intent;
  const focused = view.contains(document.activeElement) ? place(document.activeElement) : undefined;
  view.replaceChildren(...children.flat().filter((child) => child != null && child !== false));
  if (focused === undefined) return;
  const again = [...view.querySelectorAll("[data-intent]")].find((e) => place(e) === focused && !e.disabled);
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

  "checklist": ({ items }, presence) => [
    h("p", { class: "soft" }, "Everybody who opens this page shares this list."),
    presence && h("p", { class: "soft" }, `Here now: ${presence.viewers.join(", ")}`),
    items.length > 0 && h("ul", { class: "checklist" }, items.map((item) => h("li", {},
      intentButton({ type: "check", id: item.id, isDone: !item.checkedBy }, item.text,
        { role: "checkbox", "aria-checked": String(item.checkedBy != null), "data-place": `check ${item.id}` }),
      h("span", { class: "soft" }, item.checkedBy ? `done by ${item.checkedBy}` : `from ${item.addedBy}`),
      intentButton({ type: "remove", id: item.id }, "✕", { class: "quiet", "aria-label": `Remove ${item.text}` })))),
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

// ---------------------------------------------------------------- predictions

/** A count as the server will have it. A huge one is not predicted: JavaScript would round it. */
function counted(state, amount) {
  const count = state.count + Number(amount);
  if (!Number.isSafeInteger(count)) throw new RangeError(`${count} is not exact.`);
  return { ...state, count };
}

/** What an intent will change, by feature: shown before the server answers. */
const predictions = {
  "counter": {
    increment: (state) => counted(state, 1),
    decrement: (state) => counted(state, -1),
    add: (state, { amount }) => counted(state, amount),
  },
};

/** The text of a label for people. */
const labelTexts = {
  milestone: (label) => `Milestone: ${label.count}`,
  toast: (label) => label.text,
  dismiss: (label) => `Left the screen: ${label.reason}`,
  openMaps: (label) => `Would open maps at ${label.name} (${label.latitude}, ${label.longitude})`,
  addToCalendar: (label) => `Would add to the calendar: ${label.title}, ${label.startsAt.replace("T", " ")}`,
  openVideo: (label) => `Would open “${label.title}”`,
  cleared: (label) => `${label.by} cleared ${label.count === 1 ? "one item" : `${label.count} items`}`,
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
  // A person who hovers over it or focuses it is still reading.
  const leave = () => {
    if (element.matches(":hover, :focus-within")) setTimeout(leave, 1000);
    else element.remove();
  };
  setTimeout(leave, bad ? 10_000 : 6_000);
}

// ---------------------------------------------------------------- the client

const pause = () => new Promise((resolve) => { setTimeout(resolve, byId("slow").checked ? 750 : 0); });

const client = createClient({
  platform: {
    // For the switch "slow network": intents and their answers take their time.
    async fetch(url, request) {
      if (request.method !== "POST") return fetch(url, request);
      await pause();
      const response = await fetch(url, request);
      await pause();
      return response;
    },
  },
});

const conditionTexts = {
  idle: "Connecting…", connecting: "Connecting…", live: "Live", reconnecting: "Reconnecting…", offline: "Offline",
  paused: "Paused: another tab took over", ended: "Session ended", signedOut: "Signed out", failed: "Refused",
};

let showingCondition;

function showCondition() {
  const { condition } = client;
  const pill = byId("condition");
  if (pill.textContent !== conditionTexts[condition]) pill.textContent = conditionTexts[condition];
  pill.dataset.condition = condition;
  byId("reconnect").textContent = condition === "ended" ? "New session" : "Reconnect";
  byId("end-session").disabled = condition === "ended";
}

client.onCondition(() => {
  const { condition, problem, retryAt } = client.conditionDetails;
  clearTimeout(showingCondition);
  // A stream that reconnects at once, such as after a change of its features, moves nothing under the pointer.
  if (condition === "connecting") showingCondition = setTimeout(showCondition, 300);
  else showCondition();
  if (condition === "ended") log("stream", "ended", "The session has ended.");
  if (!problem) return;
  const next = retryAt ? ` Trying again in ${Math.ceil((retryAt - Date.now()) / 1000)} s.` : "";
  log("problem", "no stream", `${problem.message}${next}`);
});

client.onEvent((event, data) => {
  switch (event) {
    case "session":
      return log("stream", data.isNew ? "new session" : "session goes on", { id: data.id, expiresAt: data.expiresAt });
    case "hello":
      if (byId("session").textContent !== data.session) appeared.clear();
      byId("session").textContent = data.session;
      return log("stream", "hello", data);
    case "state": return log("state", `state ${data.feature} v${data.version}`, data.state);
    case "ping": return byId("show-pings").checked && log("stream", "ping", data);
    case "end": return log("stream", `end ${data.feature}`, "The store was disposed.");
    case "silence": return log("stream", "silence", "Nothing came for more than two heartbeats; connecting anew.");
    case "reset":
      if (data.labelsLost) toast("Some messages were lost", { note: `The stream started over: ${data.reason}` });
      return log("stream", "reset", data);
    case "denied": case "missing": case "goaway": case "misprediction": return log("stream", event, data);
  }
});

// ---------------------------------------------------------------- cards

/** The features that got the intent of an appearing view in this session. */
const appeared = new Set();
/** By feature id: the number of intents that are sent or not shown yet. */
const pending = new Map();

/** Shows the feature that the card has chosen, and its labels. */
function watch(card) {
  const store = client.store(card.id, { predict: predictions[card.name] });
  const ends = [store.subscribe(() => show(card, store)), store.onLabel((label, { replay }) => {
    log("label", `label ${store.id}${replay ? " (replayed)" : ""}`, label);
    const text = labelTexts[label.type]?.(label) ?? JSON.stringify(label);
    toast(text, { note: replay ? `${store.id} · while you were away` : store.id });
  })];
  card.unwatch = () => {
    clearTimeout(card.later);
    ends.forEach((end) => end());
  };
}

function show(card, store) {
  clearTimeout(card.later);
  // A pressed element stays until it is released: a click needs the same element for both.
  if (card.view.matches(":active")) {
    card.later = setTimeout(() => show(card, store), 50);
    return;
  }
  count(store.id, 0);
  const failed = store.pending.find(({ status }) => status === "failed");
  if (failed && failed !== card.failed) refused(card, store.id, failed.error, failed);
  card.failed = failed;
  if (store.status === "ready") {
    render(card.view, views[card.name](store.state, store.presence));
    if (store.state.status === "empty") appear(card);
    return;
  }
  appeared.delete(store.id);
  const texts = { ended: "This store was disposed.", denied: "You may not use this.", missing: "This is not there." };
  const again = h("button", { type: "button" }, "Start it again");
  again.addEventListener("click", () => client.reconnect());
  render(card.view, [h("p", { class: "soft" }, texts[store.status]), store.status === "ended" && again]);
}

/** The view of a feature appeared: sends the intent once, and not again while the view is shown. */
function appear(card) {
  if (appeared.has(card.id)) return;
  appeared.add(card.id);
  send(card, JSON.stringify({ type: "onAppear" }));
}

function count(id, change) {
  pending.set(id, (pending.get(id) ?? 0) + change);
  for (const card of cards) {
    const store = client.store(card.id);
    const isSending = (pending.get(card.id) ?? 0) > 0 || store.pending.some(({ status }) => status === "sending");
    const version = store.version === undefined ? "–" : `v${store.version}`;
    card.element.toggleAttribute("data-pending", isSending);
    card.element.querySelector(".version").textContent = isSending ? `${version} · sending…` : version;
  }
}

/** Sends an intent; the card is pending until its effect is shown. */
async function send(card, body) {
  const store = client.store(card.id);
  const since = performance.now();
  count(store.id, 1);
  card.element.querySelector(":scope > .problem")?.remove();
  for (const each of store.pending) each.dismiss();
  log("intent", `intent ${store.id}`, body);
  try {
    const answer = await store.send(body);
    log("intent", `202 ${store.id} v${answer.version}`, `intent ${answer.intent}`);
    const wasShown = await store.shown(answer.version);
    if (wasShown) log("state", `seen ${store.id} v${answer.version}`, `${Math.round(performance.now() - since)} ms after the click`);
  } catch (error) {
    // Shown already if it was predicted.
    if (!store.pending.some((each) => each.error === error)) refused(card, store.id, error);
  } finally {
    count(store.id, -1);
  }
}

/** @param entry the pending intent, if it was shown by a prediction */
function refused(card, id, error, entry = client.store(id).pending.find((each) => each.error === error)) {
  const isProblem = error instanceof Problem;
  const status = isProblem ? `${error.status} ${error.document.title ?? ""}`.trim() : "No answer";
  const errors = (error.document?.errors ?? []).map(({ pointer, detail }) => `${pointer || "body"}: ${detail}`);
  const text = errors.length > 0 ? errors.join(" · ") : error.message;
  log("problem", `${status} ${id}`, isProblem ? error.document : text);
  card.element.querySelector(":scope > .problem")?.remove();
  const box = h("div", { class: "problem", role: "alert" }, h("strong", {}, status), h("span", {}, text));
  for (const [name, title] of entry ? [["retry", "Try again"], ["dismiss", "Dismiss"]] : []) {
    const button = h("button", { type: "button" }, title);
    button.addEventListener("click", () => {
      box.remove();
      entry[name]();
    });
    box.append(button);
  }
  card.view.before(box);
}

/** Shows another lesson or order, if there is one. */
async function choose(card, key) {
  const id = `${card.name}:${key}`;
  card.element.querySelector(":scope > .problem")?.remove();
  try {
    await client.request("GET", `/features/${id}/state`);
  } catch (error) {
    return refused(card, id, error);
  }
  if (card.key === key) return;
  card.unwatch();
  appeared.delete(card.id);
  card.key = key;
  label(card);
  watch(card);
  count(card.id, 0);
}

/** The JSON of a form's intent. Numbers are copied as typed: parsing and printing could change them. */
function formIntent(form) {
  const fields = [...new FormData(form)].map(([name, value]) => {
    const { inputMode, placeholder } = form.elements[name];
    const isNumber = inputMode === "numeric" && /^-?(0|[1-9]\d*)$/.test(value.trim());
    return `${JSON.stringify(name)}:${isNumber ? value.trim() : JSON.stringify(value || placeholder)}`;
  });
  return `${form.dataset.intent.slice(0, -1)},${fields.join(",")}}`;
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
      // Not allowed without https: the text is selected, so that the keyboard can copy it.
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

/** Writes a card's id and its curl lines, which contain the id. */
function label(card) {
  card.element.querySelector(".id").textContent = card.id;
  const bodies = [...card.element.querySelectorAll(".actions [data-intent]")]
    .map((element) => (element.tagName === "FORM" ? formIntent(element) : element.dataset.intent));
  if (card.name === "order-detail") bodies.push('{"type":"statusButton","actionId":"accept"}');
  if (card.name === "checklist") bodies.push('{"type":"check","id":1,"isDone":true}');
  if (card.name === "video-list") bodies.push('{"type":"tapVideo","id":3}');
  card.element.querySelector(".curl ul").replaceChildren(...bodies.map((body) => curlIntent(card, body)));
}

// ---------------------------------------------------------------- user actions

for (const card of cards) {
  card.element.append(h("details", { class: "curl" }, h("summary", {}, "The same with curl"), h("ul")));
  label(card);

  card.element.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-intent]");
    if (button) send(card, button.dataset.intent);
  });
  card.element.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.target.matches("[data-intent]")) {
      send(card, formIntent(event.target));
      if (card.name === "checklist") event.target.reset();
    } else choose(card, new FormData(event.target).get("key"));
  });
  card.element.addEventListener("input", (event) => {
    if (event.target.form?.matches("form[data-intent]")) label(card);
  });
}

byId("curl-session").append(
  curlLine(`TOKEN=$(curl -s -X POST ${location.origin}/sessions | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`),
  curlLine(`curl -N -H "Authorization: Bearer $TOKEN" '${location.origin}/events?feature=counter&feature=user-info'`));

// WebKit does not scroll to a text field that Tab reaches.
document.addEventListener("focusin", ({ target }) => target.scrollIntoView({ block: "nearest" }));
byId("clear-log").addEventListener("click", () => byId("log").replaceChildren());
byId("reconnect").addEventListener("click", () => client.reconnect());
byId("end-session").addEventListener("click", async () => {
  try {
    await client.endSession();
  } catch (error) {
    toast(error.message, { bad: true });
  }
});

cards.forEach(watch);
