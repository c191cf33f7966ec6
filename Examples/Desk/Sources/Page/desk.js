import { createClient } from "/mvi-client.js";

const byID = (id) => document.getElementById(id);
const element = (tag, text, options = {}) => Object.assign(document.createElement(tag), { textContent: text, ...options });
const button = (text, onclick, className = "") => element("button", text, { onclick, className: `quiet ${className}` });

const client = createClient();
const list = client.store("tickets");
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
  const { items, count, isStaff } = list.state;
  byID("count").textContent = count > items.length ? `${items.length} of ${count}` : `${count}`;
  byID("note").hidden = !isStaff;
  rows("tickets", items.map(({ id, title, customer, isOpen, changed }) => [
    isOpen ? "" : "closed", button(title, () => show(id), "grow"), customer.id,
    element("time", new Date(changed).toLocaleString(), { className: "hint" }),
  ]), "No tickets.");
}

function show(id) {
  stopShowing();
  open = client.store(`ticket:${id}`);
  byID("text").value = "";
  stopShowing = open.subscribe(showTicket);
  showTicket();
}

const texts = {
  open: () => "opened the ticket", close: () => "closed it", reopen: () => "opened it again",
  comment: ({ text }) => text, note: ({ text }) => text,
};

function showTicket() {
  byID("ticket").hidden = !open?.state;
  if (!open?.state) {
    if (["denied", "missing"].includes(open?.status)) notify(`${open.id} is ${open.status}.`, true);
    return;
  }
  const { ticket, entries } = open.state;
  byID("ticket-title").textContent = ticket?.title ?? "There is no such ticket.";
  byID("viewers").textContent = open.presence ? `Here: ${[...new Set(open.presence.viewers)].join(", ")}` : "";
  rows("rows", entries.map(({ intent, author }) => [
    intent.type === "note" ? "note" : "", element("strong", author?.id ?? "somebody"),
    element("span", texts[intent.type](intent), { className: "grow" }), intent.type === "note" ? "staff only" : "",
  ]), "");
  byID("toggle").hidden = !ticket;
  byID("comment").disabled = !ticket?.isOpen;
  byID("comment-form").hidden = !ticket || (!ticket.isOpen && byID("note").hidden);
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
  list.onLabel(({ id }) => notify(`“${list.state.items.find((item) => item.id === id)?.title}” has changed.`));
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
  // Nobody can guess it.
  const id = crypto.randomUUID();
  if (await sendField("title", client.store(`ticket:${id}`), (title) => ({ type: "open", title }))) show(id);
});
const sendText = (type) => sendField("text", open, (text) => ({ type, text }));
onSubmit("comment-form", () => sendText("comment"));
byID("note").onclick = () => byID("comment-form").reportValidity() && sendText("note");
client.onCondition(() => {
  if (client.condition !== "signedOut") return;
  byID("sign-in").hidden = false;
  notify("Sign in again to go on.", true);
});
byID("toggle").onclick = () => send(open, { type: open.state.ticket.isOpen ? "close" : "reopen" });
byID("sign-out").onclick = () => client.endSession().finally(() => location.reload());
start();
