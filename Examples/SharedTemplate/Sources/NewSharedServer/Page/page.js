import { createClient } from "/mvi-client.js";

const byID = (id) => document.getElementById(id);
const element = (tag, text, options = {}) => Object.assign(document.createElement(tag), { textContent: text, ...options });
const notify = (text) => { byID("notice").textContent = text; };
const onSubmit = (id, handle) => byID(id).addEventListener("submit", (event) => { event.preventDefault(); handle(); });

const client = createClient();
const store = client.store("waitlist");

function send(intent) {
  notify("");
  store.send(intent).catch((error) => notify(error.message));
}

function rows(id, parties, button) {
  const rows = parties.map(({ number, name }) => {
    const row = element("li");
    row.append(element("b", number), element("span", name), ...(button ? [button(number)] : []));
    return row;
  });
  byID(id).replaceChildren(...(rows.length ? rows : [element("li", "Nobody", { className: "empty" })]));
}

// The type of the state is the role, and the id of the part that shows it.
store.subscribe(() => {
  const { state, presence } = store;
  for (const part of document.querySelectorAll("main > section")) part.hidden = part.id !== state?.type;
  const isStaff = state?.type === "staff";
  byID("sign-in").hidden = isStaff;
  byID("sign-out").hidden = !isStaff;
  const staff = presence?.viewers ?? [];
  byID("here").textContent = !presence ? ""
    : isStaff ? `Here: ${staff.join(", ")} · Guests: ${presence.count - staff.length}` : `Staff here: ${staff.length}`;
  for (const output of document.querySelectorAll(".number")) output.textContent = state?.number ?? "";
  if (state?.type !== "called") byID("by").textContent = "";
  if (state?.type === "waiting") byID("place").textContent = state.place === 1 ? "You are next." : `${state.place - 1} before you.`;
  if (!isStaff) return;
  byID("call").disabled = !state.waiting.length;
  rows("waiting-rows", state.waiting);
  rows("called-rows", state.called, (number) =>
    element("button", "Undo", { className: "quiet", onclick: () => send({ type: "undo", number }) }));
});
// Only the called guest gets it.
store.onLabel((label) => { if (label.type === "called") byID("by").textContent = `Called by ${label.by}.`; });

onSubmit("join-form", () => send({ type: "join", name: byID("name").value }));
for (const button of document.querySelectorAll(".leave")) button.onclick = () => send({ type: "leave" });
byID("call").onclick = () => send({ type: "call" });

// A token comes from your issuer; `keep: false`, since a guest of this browser may be somebody else.
onSubmit("sign-in-form", () => client.signIn(byID("token").value.trim(), { keep: false })
  .then(() => { byID("token").value = ""; notify(""); }, (error) => notify(error.message)));
client.onCondition(() => {
  if (client.condition !== "signedOut") return;
  byID("sign-in").hidden = !(byID("sign-in").open = true);
  notify("Sign in again to go on.");
});
byID("sign-out").onclick = () => client.endSession().finally(() => location.reload());
