import { createClient } from "/mvi-client.js";

const byID = (id) => document.getElementById(id);
const element = (tag, text, options = {}) => Object.assign(document.createElement(tag), { textContent: text, ...options });
const button = (text, onclick) => element("button", text, { onclick, className: "quiet" });

const client = createClient();
const list = client.store("tickets");
// Tickets that this page opened, by intent: other tabs have their own.
const sent = new Set();
const opened = new Map();
let open = null;
let stopShowing = () => {};

function notify(text, isAlarm = false) {
  byID("notice").textContent = text;
  byID("notice").classList.toggle("alarm", isAlarm);
}

function rows(id, parts, emptyText) {
  byID(id).replaceChildren(...parts.map(([className, ...children]) => {
    const row = element("li", "", { className });
    row.append(...children);
    return row;
  }));
  if (!parts.length) byID(id).append(element("li", emptyText, { className: "empty" }));
}

function send(store, intent) {
  notify("");
  return store.send(intent).catch((error) => {
    notify(error.message, true);
    return null;
  });
}

// --- Features --------------------------------------------------------------------------------------------------------

function showList() {
  if (!list.state) return;
  const { list: { tickets, count }, pending } = list.state;
  byID("count").textContent = count > tickets.length ? `${tickets.length} of ${count}` : `${count}`;
  rows("tickets", [
    ...pending.map(({ title, hasFailed }) => [
      "pending", element("span", title, { className: "grow" }),
      hasFailed ? button("Try again", () => send(list, { type: "retry" })) : "…",
    ]),
    ...tickets.map(({ id, title, customer, isOpen }) => [
      isOpen ? "" : "closed", button(`${id}`, () => show(id)), element("span", title, { className: "grow" }), customer,
    ]),
  ], "No tickets.");
}

function show(id) {
  stopShowing();
  open = client.store(`ticket:${id}`);
  byID("text").value = "";
  stopShowing = open.subscribe(showTicket);
  showTicket();
}

function showTicket() {
  byID("ticket").hidden = !open?.state;
  if (!open?.state) {
    if (open?.status === "denied") notify(`${open.id} is refused.`, true);
    return;
  }
  const { ticket, isMissing, rows: entries, hasFailed } = open.state;
  byID("ticket-title").textContent = isMissing ? "There is no such ticket." : ticket ? `${ticket.id}: ${ticket.title}` : "…";
  const texts = { comment: ({ text }) => text, close: () => "closed it", reopen: () => "opened it again" };
  rows("rows", entries.map(({ entry, isPending }) => [
    isPending ? "pending" : "", element("strong", entry.author),
    element("span", texts[entry.kind](entry), { className: "grow" }), isPending && !hasFailed ? "…" : "",
  ]), "Nobody wrote anything yet.");
  if (hasFailed) byID("rows").append(button("Try again", () => send(open, { type: "retry" })));
  byID("comment-form").hidden = !ticket?.isOpen;
  byID("toggle").hidden = !ticket;
  byID("toggle").textContent = ticket?.isOpen ? "Close the ticket" : "Open it again";
}

// --- Signing in ------------------------------------------------------------------------------------------------------

async function start() {
  const session = await client.request("GET", "/sessions/current").catch((error) => error);
  if (session instanceof Error && ![401, 404].includes(session.status)) return notify(session.message, true);
  const who = session?.identity?.subject;
  byID("who").textContent = who ?? "";
  byID("sign-in").hidden = Boolean(who);
  byID("desk").hidden = byID("sign-out").hidden = !who;
  if (!who) return;
  list.subscribe(showList);
  list.onLabel(({ ticket }, { intent }) => (sent.has(intent) ? show(ticket) : opened.set(intent, ticket)));
  showList();
}

const onSubmit = (id, handle) => byID(id).addEventListener("submit", (event) => {
  event.preventDefault();
  handle();
});

onSubmit("sign-in-form", () => client.signIn(byID("identity").value.trim()).then(start, (error) => notify(error.message, true)));
/** Sends the text of a field, and clears the field if it still has it. */
async function sendField(id, store, intent) {
  const { value } = byID(id);
  const answer = await send(store, intent(value));
  if (answer && byID(id).value === value) byID(id).value = "";
  return answer;
}

onSubmit("open-form", async () => {
  const answer = await sendField("title", list, (title) => ({ type: "open", title }));
  if (!answer) return;
  sent.add(answer.intent);
  if (opened.has(answer.intent)) show(opened.get(answer.intent));
});
onSubmit("comment-form", () => sendField("text", open, (text) => ({ type: "comment", text })));
client.onCondition(() => {
  if (client.condition !== "signedOut") return;
  byID("sign-in").hidden = false;
  notify("Sign in again to go on.", true);
});
byID("toggle").onclick = () => send(open, { type: open.state.ticket.isOpen ? "close" : "reopen" });
byID("sign-out").onclick = () => client.endSession().finally(() => location.reload());
start();
