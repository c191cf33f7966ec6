import { createClient } from "/mvi-client.js";

const client = createClient();
const catalogue = client.store("catalogue");
const element = (id) => document.getElementById(id);
const failed = (error) => { element("notice").textContent = error.message; };

catalogue.subscribe(() => {
  element("products").replaceChildren(...(catalogue.state?.products ?? []).map((product) => {
    const item = document.createElement("li");
    item.textContent = product.name;
    return item;
  }));
});
catalogue.onLabel((label) => { if (label.type === "notice") element("notice").textContent = label.text; });

element("text").oninput = () => {
  catalogue.send({ type: "search", text: element("text").value }).catch(failed);
};
