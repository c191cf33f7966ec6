import { createClient } from "/mvi-client.js";

const show = (id, text) => { document.getElementById(id).textContent = text; };
const store = createClient().store("tally");

store.subscribe(() => show("count", store.state?.count ?? "…"));
store.onLabel((label) => { if (label.type === "dozen") show("notice", `${label.count} is full dozens.`); });

for (const [id, intent] of [["increment", { type: "increment" }], ["add", { type: "add", amount: 5 }]]) {
  document.getElementById(id).onclick = () => store.send(intent).catch((error) => show("notice", error.message));
}
