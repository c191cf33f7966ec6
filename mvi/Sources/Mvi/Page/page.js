import { createClient } from "/mvi-client.js";

const show = (id, text) => { document.getElementById(id).textContent = text; };
const tally = createClient().store("tally");

tally.subscribe(() => show("count", tally.state?.count ?? "…"));
tally.onLabel((label) => { if (label.type === "dozen") show("notice", `${label.count} is full dozens.`); });

for (const [id, intent] of [["increment", { type: "increment" }], ["add", { type: "add", amount: 5 }]]) {
  document.getElementById(id).onclick = () => tally.send(intent).catch((error) => show("notice", error.message));
}
