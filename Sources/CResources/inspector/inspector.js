// The inspector: shows what happened in a session. It only reads, and keeps the admin token in this variable alone.
// Every value is somebody else's: it is only ever written as text, and no tree is built deeper than it is opened.
let token = "", leave = () => {}; // What stops the screen's requests.
let session = null; // What is open: entries (a turn, its row, its words), those that are shown, the selected one.
let ahead = 0; // The server's clock minus this one, in milliseconds.
const [keptTurns, step] = [5000, 100];
const byId = (id) => document.getElementById(id);
const on = (id, type, body) => byId(id).addEventListener(type, body);
const write = (element, text) => { if (element.textContent !== text) element.textContent = text; };
/** Creates an element with attributes and children; nullish children are omitted. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value != null) element.setAttribute(name, value);
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}
const button = (title, onclick) => Object.assign(h("button", { type: "button", class: "small" }, title), { onclick });

// ---- texts
/** Characters that nobody sees, or that turn others around, become escapes. Joiners stay: emoji have them. */
const visible = (text) => text.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\u2028\u2029]/gu,
  (each) => `\\u{${each.codePointAt(0).toString(16)}}`);
const cut = (text, limit = 200) => text.slice(0, limit).replace(/[\ud800-\udbff]$/, "");
const plain = (value, limit = 200) => visible(`${value}`.length > limit ? `${cut(`${value}`, limit)}…` : `${value}`);
const amount = (number, word) => `${Number(number).toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
const bytes = (count) => (count < 1024 ? amount(count, "byte")
  : count < 1048576 ? `${(count / 1024).toFixed(1)} KiB` : `${(count / 1048576).toFixed(1)} MiB`);
const durationOf = ({ microseconds }) => (microseconds == null ? "" : microseconds < 1000 ? `${microseconds} µs`
  : microseconds < 1e6 ? `${+(microseconds / 1000).toPrecision(3)} ms` : `${(microseconds / 1e6).toFixed(2)} s`);
const moment = (time) => plain(`${time}`.replace("T", " ").replace(/Z$/, " UTC"));
function ago(time) {
  const seconds = Math.max(0, Math.round((Date.now() + ahead - Date.parse(time)) / 1000));
  return seconds < 60 ? `${seconds} s ago` : seconds < 3600 ? `${Math.floor(seconds / 60)} min ago`
    : seconds < 86400 ? `${Math.floor(seconds / 3600)} h ago` : moment(time);
}
const subjectOf = ({ subject, id, issuer }) => `${plain(subject ?? id)}${issuer ? ` (${plain(issuer)})` : ""}`;
/** The case of an intent, action or message, with that of the part's message inside. Shapes hide the inner one. */
function typeOf(value) {
  if (typeof value === "string") return value;
  const inner = typeof value?.value?.type === "string" && value.value.type !== "string" ? value.value.type : "";
  return [value?.type ?? "", inner].filter(Boolean).join(" › ");
}
const titleOf = ({ kind, cause, actions, messages }) =>
  `${kind} ${plain(typeOf(cause ?? actions?.[0] ?? messages?.[0]), 60)}`.trim();
const addressOf = (id) => `#session/${encodeURIComponent(id)}`;
const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };

// ---- the server
const refusal = (status, title, detail) => Object.assign(new Error(detail), { status, title });
/** Whole numbers that JavaScript would round keep their digits, where the browser tells them. */
const exact = (_, value, context) => (Number.isInteger(value) && !Number.isSafeInteger(value)
  && /^-?\d+$/.test(context?.source) ? BigInt(context.source) : value);
async function ask(path, signal, method = "GET") {
  let response, text, answer = {};
  try {
    response = await fetch(path, { method, headers: { Authorization: `Bearer ${token}` }, cache: "no-store", signal });
    text = await response.text();
  } catch { throw refusal(0, "No answer", "The server cannot be reached."); }
  signal?.throwIfAborted();
  ahead = Date.parse(response.headers.get("Date")) - Date.now() || 0;
  try { answer = /\d{16}/.test(text) ? JSON.parse(text, exact) : JSON.parse(text); } catch {
    if (response.ok) throw refusal(response.status, "Not JSON", "Something else than the server has answered.");
  }
  if (response.ok) return answer;
  throw refusal(response.status, answer?.title ?? "Refused", answer?.detail ?? "");
}
const again = "The page tries again.";
const hints = {
  0: `Check that it runs. ${again}`, 401: "Enter the token that the server was started with.",
  403: `This token may not read this, or not from here. ${again}`,
  404: "The session has ended or expired, or its id is wrong. A session in which nothing happened is not stored.",
};
/** Shows an error and what to do, or that there is none. */
function showProblem(error) {
  const box = byId("problem"), { status, title = "Error in the page", message } = error ?? {};
  const texts = [`${status || ""} ${plain(title)}`.trim(), plain(message, 2000), hints[status] ?? again];
  const isNew = error && (box.hidden || box.textContent !== texts.join(""));
  if (isNew) box.replaceChildren(...texts.map((text, place) => h(place ? "span" : "strong", {}, text)));
  box.hidden = !error;
}
function condition(condition, text) {
  Object.assign(byId("condition").dataset, { condition });
  write(byId("condition"), text);
}
/** Runs a body at once, and again while the page is visible, until a 404. Leaving the screen stops it, too. */
function poll(interval, body) {
  const controller = new AbortController(), { signal } = controller;
  let timer, isRunning = false, isFirst = true;
  const run = async () => {
    if (isRunning || signal.aborted || (!isFirst && document.visibilityState !== "visible")) return;
    isFirst = false;
    clearTimeout(timer);
    isRunning = true;
    const error = await body(signal).catch((reason) => reason), isOver = error?.status === 404;
    isRunning = false;
    if (signal.aborted) return;
    if (error?.status === 401) return askForToken(error);
    showProblem(error);
    condition(...(!error ? ["live", "Live"] : isOver ? ["ended", "Stopped"] : ["offline", "Waiting"]));
    if (isOver) leave();
    else timer = setTimeout(run, error ? 5000 : interval);
  };
  leave = () => controller.abort();
  document.addEventListener("visibilitychange", run, { signal });
  run();
  return run;
}

// ---- differences
const [absent, unknown] = [Symbol("absent"), Symbol("unknown")];
const isTree = (value) => typeof value === "object" && value !== null;
const isSameKind = (a, b) => isTree(a) && isTree(b) && Array.isArray(a) === Array.isArray(b);
const isEmpty = (value) => Object.keys(value).length === 0;
const get = (object, key) => (Object.hasOwn(object, key) ? object[key] : absent);
/** Whether two values are the same, whatever their depth. */
function equal(one, other) {
  const rest = [[one, other]];
  for (const [a, b] of rest) {
    if (a === b) continue;
    if (!isSameKind(a, b) || Object.keys(a).length !== Object.keys(b).length) return false;
    for (const key of Object.keys(a)) rest.push([a[key], get(b, key)]);
  }
  return true;
}
/** A node of a tree: a value, or what it was and is. */
const nodeOf = (key, before, after = before) => ({ key, before, after,
  change: before === absent ? "added" : after === absent ? "removed" : equal(before, after) ? ""
    : isSameKind(before, after) ? "inside" : "replaced" });
/** The members of two values. Lists are compared without their same start and end. */
function compared({ before, after }) {
  if (!Array.isArray(after)) {
    return Object.keys({ ...after, ...before }).map((key) => nodeOf(key, get(before, key), get(after, key)));
  }
  let start = 0, end = 0;
  const least = Math.min(before.length, after.length);
  while (start < least && equal(before[start], after[start])) start++;
  while (end < least - start && equal(before.at(-1 - end), after.at(-1 - end))) end++;
  const both = least - end, last = after.length - end;
  return [...after.slice(0, both).map((each, place) => nodeOf(place, before[place], each)),
    ...before.slice(both, before.length - end).map((each, place) => nodeOf(both + place, each, absent)),
    ...after.slice(both, last).map((each, place) => nodeOf(both + place, absent, each)),
    ...after.slice(last).map((each, place) => nodeOf(last + place, each))];
}
/** The server's list of changes as a tree, for values whose old ones are not there. */
function marksOf(changes) {
  const make = () => ({ op: "", removed: 0, inner: new Map() }), root = make();
  for (const { op, path } of changes) {
    let mark = root;
    for (const part of `${path}`.split("/").slice(1)) {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
      mark = mark.inner.get(key) ?? mark.inner.set(key, make()).get(key);
    }
    if (op === "remove") mark.removed += 1;
    else mark.op = op;
  }
  return root;
}
function markedNode(key, after, marks) {
  const change = { add: "added", replace: "replaced" }[marks?.op] ?? (marks?.inner.size > 0 ? "inside" : "");
  return { key, before: change ? unknown : after, after, change, marks };
}
/** A place in a list is that after the changes before it: what was removed stood before what is there now. */
function marked({ after, marks: { inner } }) {
  const keys = new Set([...Object.keys(after), ...inner.keys()]);
  return [...keys].flatMap((key) => [
    ...Array.from({ length: inner.get(key)?.removed ?? 0 }, () => nodeOf(key, unknown, absent)),
    ...(Object.hasOwn(after, key) ? [markedNode(key, after[key], inner.get(key))] : [])]);
}
function members({ isShape, isMessage, ...node }) {
  let nodes = node.change === "inside" ? (node.marks ? marked : compared)(node)
    : Object.entries(node.after === absent ? node.before : node.after).map(([key, value]) => nodeOf(key, value));
  // What changed must not hide behind the first step.
  if (nodes.length > step) nodes = [...nodes.filter((each) => each.change), ...nodes.filter((each) => !each.change)];
  return nodes.map((each) => ({ ...each, isShape, isWord: isMessage && each.key === "type" }));
}

// ---- trees
const signs = { added: "+", removed: "−", replaced: "~", inside: "~" };
function leaf(value, { isShape, isWord }, limit = 200) {
  if (value === unknown) return h("i", { class: "shape" }, "removed");
  if (isTree(value)) return Array.isArray(value) ? `[${value.length || ""}]` : isEmpty(value) ? "{}" : "{…}";
  if (typeof value !== "string") return h("span", { class: "literal" }, `${value}`);
  if (isShape && !isWord && /^(string|number|boolean)$/.test(value)) return h("i", { class: "shape" }, value);
  const isLong = value.length > limit, show = (text) => visible(JSON.stringify(text));
  const text = h("bdi", { class: "string" }, show(isLong ? cut(value, limit) : value), isLong && "…");
  if (!isLong || limit < 200) return text;
  const all = button(`Show all of ${value.length} characters`, () => { write(text, show(value)); all.remove(); });
  return h("span", {}, text, " ", all);
}
/** The first members on one line; long texts and branches are only indicated. */
function preview(value, { isShape, isMessage }) {
  const isList = Array.isArray(value), line = h("span", { class: "preview" }, isList ? "[" : "{");
  for (const [key, each] of Object.entries(value)) {
    if (line.childNodes.length > 1) line.append(", ");
    if (line.textContent.length > 90) { line.append("…"); break; }
    // One level more for the messages of parts.
    const inner = isMessage && isTree(each) && !isEmpty(each) && preview(each, { isShape });
    line.append(isList ? "" : `${plain(key, 40)}: `,
      inner || leaf(each, { isShape, isWord: isMessage && key === "type" }, 40));
  }
  line.append(isList ? "]" : "}");
  return line;
}
/** Appends the rows of nodes, in steps. What opens a changed branch goes into the queue. */
function fill(parent, nodes, queue) {
  parent.append(...nodes.slice(0, step).flatMap((node) => rowsOf(node, queue)));
  const rest = nodes.slice(step), changed = rest.filter((each) => each.change).length;
  const title = `Show ${Math.min(step, rest.length)} of ${rest.length} more${changed ? `, ${changed} changed` : ""}`;
  const more = button(title, () => { more.remove(); grow((inner) => fill(parent, rest, inner)); });
  if (rest.length > 0) parent.append(more);
}
function rowsOf(node, queue) {
  const { key, before, after, change } = node, isKnown = change === "replaced" && before !== unknown;
  if (isKnown && (isTree(before) || isTree(after))) {
    const both = [nodeOf(key, before, absent), nodeOf(key, absent, after)];
    return both.flatMap((each) => rowsOf({ ...node, ...each }, queue));
  }
  const value = after === absent ? before : after;
  const name = [h("span", { class: "sign", "aria-hidden": "true" }, signs[change] ?? ""),
    change && h("span", { class: "visually-hidden" }, `${change} `),
    ...(key === null ? [] : [h("bdi", { class: "key" }, plain(key)), ": "])];
  if (!isTree(value) || (change !== "inside" && isEmpty(value))) {
    const old = isKnown && [h("del", {}, leaf(before, node)), " → "];
    return [h("div", { class: "leaf", "data-change": change }, name, old, leaf(value, node))];
  }
  const count = h("span", { class: "count" }, leaf(value, node)), inside = h("div", { class: "branch" });
  const branch = h("details", { "data-change": change }, h("summary", {}, name, preview(value, node), count), inside);
  const open = (inner) => { if (!inside.firstChild) fill(inside, members(node), inner); };
  branch.addEventListener("toggle", () => grow(open), { once: true });
  if (change === "inside") queue.push((inner) => { branch.open = true; open(inner); });
  return [branch];
}
/** Runs a body and what it queues: level by level, not by recursion, and up to a bound. */
function grow(body, element) {
  const queue = [body];
  for (let place = 0; place < queue.length && place < 300; place++) queue[place](queue, element);
  return element;
}
const tree = (nodes) => grow((queue, element) => fill(element, nodes, queue), h("div", { class: "tree" }));

// ---- screens
const cells = (texts) => Object.entries(texts).flatMap(([name, text]) => [h("span", { class: name }, text), " "]);
function show(screen, title) {
  leave();
  [leave, session] = [() => {}, null];
  for (const id of ["sign-in", "sessions", "session"]) byId(id).hidden = id !== screen;
  [byId("signed-in").hidden, byId("to-list").hidden] = [screen === "sign-in", screen !== "session"];
  Object.assign(document, { title: `${title} · Inspector` }).body.dataset.screen = screen;
  condition("connecting", "Connecting…");
  showProblem(null);
  byId(screen === "sign-in" ? "token" : `${screen}-title`).focus({ preventScroll: true });
}
function askForToken(error) {
  token = "";
  show("sign-in", "Admin token");
  showProblem(error);
}
/** Shows what the address names. A token in it, or a code for one, is taken out at once. */
function route() {
  const [, kind, name] = /^#(token=|code=|session\/)(.+)/.exec(location.hash) ?? [];
  if (/=/.test(kind)) {
    history.replaceState(null, "", location.pathname + location.search);
    token = decoded(name);
  }
  if (kind === "code=") {
    ask("/admin/inspector/token", null, "POST").then((answer) => { ({ token } = answer); route(); }, askForToken);
  } else if (!token) askForToken();
  else if (kind === "session/") showSession(decoded(name));
  else showSessions();
}
function showSessions() {
  show("sessions", "Sessions");
  const query = new URLSearchParams({ limit: 50 }), list = byId("session-list"), rows = new Map();
  for (const id of ["subject", "issuer"]) if (byId("subject").value && byId(id).value) query.set(id, byId(id).value);
  list.replaceChildren();
  const run = poll(2000, async (signal) => {
    const { sessions, next } = await ask(`/admin/sessions?${query}`, signal);
    for (const [id, row] of rows) if (sessions.every((each) => each.id !== id) && rows.delete(id)) row.remove();
    sessions.forEach(({ id, identity, lastUsed, stores, memory }, place) => {
      const row = rows.get(id) ?? h("li", { "data-used": lastUsed }, h("a", { href: addressOf(id) }));
      const isActive = row.classList.toggle("active", row.dataset.used !== lastUsed);
      row.dataset.used = lastUsed;
      row.firstChild.replaceChildren(...cells({ id: plain(id), who: identity ? subjectOf(identity) : "no subject",
        used: `${ago(lastUsed)}${isActive ? " · active" : ""}`, stores: amount(stores, "store"),
        streams: memory ? amount(memory.streams, "stream") : "not loaded" }));
      if (list.children[place] !== row) list.insertBefore(row, list.children[place] ?? null);
      rows.set(id, row);
    });
    write(byId("sessions-count"), `${sessions.length || "None"}${next ? " shown, there are more" : ""}`);
    byId("more").hidden = !next || query.get("limit") >= 1000;
  });
  byId("more").onclick = () => { query.set("limit", Number(query.get("limit")) + 50); run(); };
}
function showSession(id) {
  show("session", `Session ${plain(id)}`);
  const path = `/admin/sessions/${encodeURIComponent(id)}`;
  let after = 0, polls = 0;
  session = { entries: [], numbers: new Map(), shown: [], selected: null };
  for (const each of ["session-facts", "recording", "turns-count", "turns", "stores"]) write(byId(each), "");
  for (const each of ["not-recorded", "stores-part", "detail"]) byId(each).hidden = true;
  write(byId("session-title"), `Session ${plain(id)}`);
  write(byId("record-request"), `POST ${path}/recording`);
  byId("by-feature").replaceChildren(h("option", { value: "" }, "all features"));
  clearFilters();
  follow(true);
  poll(1000, async (signal) => {
    for (let known = -1, next = 0; next !== undefined && after > known;) {
      const page = await ask(`${path}/turns?after=${after}&limit=200`, signal);
      takeTurns(page);
      [known, next] = [after, page.next];
      after = Math.max(after, next ?? 0, ...page.turns.map((turn) => turn.number));
    }
    if (polls++ % 5 === 0) showFacts(await ask(path, signal));
  });
}
function showFacts({ identity, created, lastUsed, expiresAt, memory, stores = [] }) {
  write(byId("session-facts"), [identity ? subjectOf(identity) : "no subject", `created ${moment(created)}`,
    `used ${ago(lastUsed)}`, expiresAt ? `expires ${moment(expiresAt)}` : "does not expire",
    memory ? amount(memory.streams, "stream") : "not loaded"].join(" · "));
  byId("stores-part").hidden = stores.length === 0;
  write(byId("stores-part").firstElementChild, amount(stores.length, "store"));
  byId("stores").replaceChildren(...stores.map((each) => h("li", {}, h("code", {}, plain(each.feature)),
    ` version ${each.version} · schema ${each.schemaVersion} · ${bytes(each.bytes)}`,
    each.viewBytes ? ` · view ${bytes(each.viewBytes)}` : "", each.loaded ? " · loaded" : "",
    each.runningWork ? ` · ${each.runningWork} running work` : "")));
}

// ---- the timeline
function entryOf(turn, isShape) {
  const tag = (text) => [h("span", { class: /^✗/.test(text) ? "tag bad" : "tag" }, plain(text, 40)), " "];
  const { launched = [], sends = [], tells = [], labels = [] } = turn, lists = [turn.cause, turn.actions, turn.messages, labels];
  const marks = [turn.failure == null ? [] : "✗ failure",
    turn.refusal == null ? [] : "✗ refused", turn.fault == null ? [] : "✗ not recorded",
    launched.map((name) => `⚙ ${name}`), sends.map((name) => `→ ${name}`), tells.map((name) => `✉ ${name}`),
    labels.length > 0 ? amount(labels.length, "label") : []];
  const row = h("li", {}, h("button", { type: "button", tabindex: -1, "data-number": turn.number }, cells({
    number: turn.number, time: plain(`${turn.time}`.slice(11, 23)), feature: plain(turn.feature, 80),
    what: titleOf(turn), took: durationOf(turn) }), h("span", { class: "marks" }, marks.flat().flatMap(tag))));
  const texts = JSON.stringify(lists, (_, value) => (typeof value === "bigint" ? `${value}` : value)).slice(0, 4000);
  const words = [turn.intent, turn.kind, ...launched, ...sends, ...tells, ...lists.flat().map(typeOf), texts];
  return { turn, row, isShape, words: words.join("\n").toLowerCase() };
}
function takeTurns({ turns, recording, values }) {
  const { entries, numbers, shown } = session, choice = byId("by-feature");
  byId("not-recorded").hidden = recording !== null;
  write(byId("recording"), recording ? `Recorded with ${values}: the last ${amount(recording.turns, "turn")}, at most `
    + `${bytes(recording.bytes)}${recording.until ? `, until ${moment(recording.until)}` : ""}.` : "");
  for (const turn of turns.filter(({ number }) => !numbers.has(number))) {
    const entry = entryOf(turn, values === "shapes"), { feature } = turn;
    entries.push(entry);
    numbers.set(turn.number, entry);
    entry.row.hidden = !matches(entry);
    if (!entry.row.hidden) shown.push(entry);
    byId("turns").append(entry.row);
    if ([...choice.options].some(({ value }) => value === feature)) continue;
    choice.append(h("option", { value: feature }, plain(feature, 80)));
  }
  for (const { turn, row } of entries.splice(0, Math.max(0, entries.length - keptTurns))) {
    numbers.delete(turn.number);
    if (shown[0]?.turn === turn) shown.shift();
    row.remove();
  }
  if (turns.length > 0 && session.selected) showRelated();
  showPlace();
}
const isFollowing = () => byId("follow").getAttribute("aria-pressed") === "true";
function follow(value) {
  if (isFollowing() !== value) write(byId("status"), value ? "Following the newest turn" : "Not following");
  byId("follow").setAttribute("aria-pressed", value);
}
function clearFilters() {
  for (const id of ["by-feature", "by-text", "by-duration"]) byId(id).value = "";
  byId("by-failure").checked = false;
}
function matches({ turn, words }) {
  const feature = byId("by-feature").value, slower = byId("by-duration").value;
  return (!feature || turn.feature === feature) && words.includes(byId("by-text").value.trim().toLowerCase())
    && (!byId("by-failure").checked || (turn.failure ?? turn.refusal ?? turn.fault) != null)
    && (slower === "" || turn.microseconds > slower * 1000);
}
function filter() {
  for (const entry of session.entries) entry.row.hidden = !matches(entry);
  session.shown = session.entries.filter(({ row }) => !row.hidden);
  write(byId("status"), `${amount(session.shown.length, "turn")} shown`);
  showPlace();
}
/** Shows where the selected turn is among those shown. One row can be reached by Tab. */
function showPlace() {
  const { entries, shown, selected } = session, newest = shown.at(-1);
  if (isFollowing() && newest && newest !== selected) return select(newest);
  write(byId("turns-count"), `${shown.length < entries.length ? `${shown.length} of ` : ""}${entries.length}`);
  write(byId("no-turns"), entries.length > 0 ? "No turn passes the filter." : "No turn is recorded yet.");
  byId("no-turns").hidden = shown.length > 0;
  byId("detail").hidden = !shown.includes(selected);
  [byId("previous").disabled, byId("next").disabled] = [!shown.length || shown[0] === selected, newest === selected];
  byId("turns").querySelector("[tabindex='0']")?.setAttribute("tabindex", -1);
  (shown.includes(selected) ? selected : newest)?.row.firstChild.setAttribute("tabindex", 0);
}
function select(entry) {
  const list = byId("turns"), { row, turn } = entry, end = row.offsetTop + row.offsetHeight;
  session.selected?.row.firstChild.removeAttribute("aria-current");
  session.selected = entry;
  row.firstChild.setAttribute("aria-current", "true");
  for (const each of session.entries) each.row.classList.toggle("kin", each.turn.intent === turn.intent);
  // Only the list scrolls, not the page.
  list.scrollTop = Math.min(row.offsetTop, Math.max(list.scrollTop, end - list.clientHeight));
  showDetail(entry);
  showPlace();
}
/** What a person chooses. It ends the following, unless it is the newest. */
function choose(entry, focus) {
  if (!entry) return;
  if (entry !== session.entries.at(-1)) follow(false);
  if (entry.row.hidden) clearFilters();
  if (entry.row.hidden) filter();
  select(entry);
  const isInList = focus === "list" || byId("turns").contains(document.activeElement);
  if (focus === "detail") byId("detail").querySelector("h2").focus({ preventScroll: true });
  else if (isInList) entry.row.firstChild.focus({ preventScroll: true });
}
function move(isForward) {
  const { shown, selected } = session, number = selected?.turn.number ?? Infinity;
  choose(isForward ? shown.find((each) => each.turn.number > number)
    : shown.findLast((each) => each.turn.number < number));
}

// ---- one turn
const part = (title, content, kind) => h("section", { class: kind }, h("h3", {}, title), ...[content].flat());
const factsOf = (pairs) => h("dl", { class: "facts" }, pairs.filter(([, value]) => value || value === 0)
  .flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
const textsOf = (values = []) => values.map((each) => plain(each)).join(", ");
/** What belongs to the selected turn. More may come later. */
function showRelated() {
  const { entries, numbers, selected } = session, { turn } = selected, place = byId("related");
  // The server's own ids, as of all stores' bootstraps, are the same in each store.
  const isShared = (each) => each.turn.feature === turn.feature || !turn.intent?.startsWith("‹");
  const others = entries.filter((each) => each.turn.intent === turn.intent && each !== selected && isShared(each));
  // In their order: one turn for each.
  const found = new Set(), sent = (turn.sends ?? []).map((name) => {
    const later = entries.filter((each) => each.turn.feature === name && each.turn.number > turn.number
      && each.turn.kind !== "step" && !found.has(each));
    const next = later.find((each) => each.turn.intent === turn.intent) ?? later[0];
    return next ? found.add(next) && next : `${plain(name)}: no turn yet`;
  });
  const earlier = others.filter((each) => each.turn.number < turn.number);
  const sender = turn.kind === "step" ? [] : earlier.filter((each) => each.turn.sends?.includes(turn.feature)).slice(-1);
  const launcher = turn.by === undefined || turn.toldBy !== undefined ? [] : [numbers.get(turn.by) ?? `#${turn.by} is not kept`];
  const work = entries.filter((each) => each.turn.by === turn.number && each.turn.toldBy === undefined);
  const read = (turn.reads ?? []).map((each) => numbers.get(each.number) ?? `${plain(each.feature)}: no turn is kept`);
  const readers = entries.filter((each) => each.turn.reads?.some(({ number }) => number === turn.number));
  const groups = Object.entries({ "Work of": launcher, "Sent by": sender, "Its work": work,
    "Same intent": others, "Sends to": sent, "Reads": read, "Read by": readers });
  const only = button("Show only these", () => { byId("by-text").value = turn.intent; filter(); });
  const nameOf = (other) => `#${other.number} ${plain(other.feature, 60)} · ${titleOf(other)}`;
  const jump = (each) => (each.turn ? button(nameOf(each.turn), () => choose(each, "detail")) : each);
  const list = factsOf(groups.map(([title, group]) => [title, group.length > 0
    && h("div", { class: "row" }, group.slice(0, 20).map(jump), group === others && only)]));
  if (place.textContent !== list.textContent) place.replaceChildren(list);
  place.parentElement.hidden = list.textContent === "";
}
/** The turn's state or view, compared with that of the store's latest earlier turn. */
function showValue(title, key, { turn, isShape }) {
  if (!Object.hasOwn(turn, key)) return null;
  // Without changes, turns that were not recorded may lie between.
  const value = turn[key], earlier = turn.changes && session.entries.findLast((each) =>
    each.turn.number < turn.number && each.turn.feature === turn.feature && Object.hasOwn(each.turn, key));
  const node = earlier && !isShape && !earlier.isShape ? nodeOf(null, earlier.turn[key], value)
    : key === "state" && turn.changes ? markedNode(null, value, marksOf(turn.changes)) : null;
  const note = !node ? "There is nothing to compare it with."
    : node.change ? "+ added   − removed   ~ changed" : "Unchanged.";
  const root = { ...(node ?? nodeOf(null, value)), isShape };
  const isOpen = isTree(value) && (root.change === "inside" || (!root.change && !isEmpty(value)));
  return part(title, [h("p", { class: "soft legend" }, note), tree(isOpen ? members(root) : [root])]);
}
const reasons = {
  bootstrap: "The store started.", signIn: "Somebody signed in.", intent: "An intent.",
  checked: "An intent that was checked first.", action: "An action from a reminder, another store or other code.",
  step: "A step of launched work.", failure: "onFailure, after an error.",
};
const addresseeOf = ({ label, to, name = "" }) => `${label + 1}: ${to} ${name}`;
function showDetail(entry) {
  const { turn, isShape } = entry, name = h("code", {}, plain(turn.feature));
  const list = (title, values = []) => (values.length > 0
    ? part(title, tree(values.map((each) => ({ ...nodeOf(null, each), isShape, isMessage: true }))), "beside") : null);
  const wrong = (title, text) => (text == null ? null
    : h("div", { class: "problem" }, h("strong", {}, title), h("span", {}, plain(text, 4000))));
  byId("detail").replaceChildren(...[
    h("header", {}, h("h2", { tabindex: -1 }, `Turn ${turn.number}: ${titleOf(turn)}`), name),
    wrong("Failure", turn.failure), wrong("Refused", turn.refusal), wrong("Not recorded", turn.fault),
    list("Cause", turn.cause === undefined ? [] : [turn.cause]), list("Actions", turn.actions),
    list("Messages", turn.messages), list("Labels", turn.labels),
    part("What belongs to it", h("div", { id: "related" })),
    showValue("State", "state", entry), showValue("View", "view", entry),
    part("Facts", factsOf([["Reason", reasons[turn.kind]], ["Time", moment(turn.time)], ["Now", turn.now && moment(turn.now)],
      ["Intent", plain(turn.intent)], ["Duration", durationOf(turn)],
      ["Told by", turn.toldBy && h("a", { href: addressOf(turn.toldBy) }, plain(`turn ${turn.by} of ${turn.toldBy}`))],
      ["Tells", textsOf(turn.tells)], ["Launched", textsOf(turn.launched)], ["Directed labels", textsOf(turn.directed?.map(addresseeOf))],
      ["Subject", turn.subject && subjectOf(turn.subject)],
      ["Schema version", turn.schemaVersion], ["UUIDs", textsOf(turn.uuids)]])),
  ].filter(Boolean));
  byId("detail").hidden = false;
  showRelated();
}

// ---- people
const submits = (id, body) => on(id, "submit", (event) => { event.preventDefault(); body(); });
submits("sign-in", () => { [token, byId("token").value] = [byId("token").value.trim(), ""]; route(); });
submits("open-form", () => { location.hash = addressOf(byId("open-id").value.trim()); });
submits("subject-form", showSessions);
on("sign-out", "click", () => askForToken());
const chosen = ({ target }) => session.numbers.get(Number(target.closest("button")?.dataset.number));
on("turns", "click", (event) => choose(chosen(event), "list"));
on("detail", "click", () => follow(false));
on("previous", "click", () => move(false));
on("next", "click", () => move(true));
on("follow", "click", () => { follow(!isFollowing()); showPlace(); });
for (const id of ["by-feature", "by-text", "by-failure", "by-duration"]) on(id, "input", filter);
const keys = {
  j: () => move(true), ArrowDown: () => move(true), k: () => move(false), ArrowUp: () => move(false),
  Home: () => choose(session.shown[0]), End: () => choose(session.shown.at(-1)), f: () => byId("follow").click(),
  "/": () => byId("by-text").focus(), Escape: () => { location.hash = "#sessions"; },
};
document.addEventListener("keydown", (event) => {
  const { key, target } = event, isText = target.closest("select, input:not([type='checkbox'])");
  if (!session || !Object.hasOwn(keys, key) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isText && key === "Escape") target.blur();
  // In the detail, arrows scroll.
  if (isText || (/Arrow|Home|End/.test(key) && target.closest("#detail"))) return;
  event.preventDefault();
  keys[key]();
});
addEventListener("hashchange", route);
route();
