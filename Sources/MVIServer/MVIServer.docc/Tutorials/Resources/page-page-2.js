import { createClient } from "/mvi-client.js";

const client = createClient();
const catalogue = client.store("catalogue");
const cart = client.store("cart:tea");
const element = (id) => document.getElementById(id);
const failed = (error) => { element("notice").textContent = error.message; };

catalogue.subscribe(() => {
  element("products").replaceChildren(...(catalogue.state?.products ?? []).map((product) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.textContent = product.name;
    button.disabled = product.shop !== "tea";
    button.onclick = () => cart.send({ type: "add", product: product.id, count: 1 }).catch(failed);
    item.append(button);
    return item;
  }));
});
catalogue.onLabel((label) => { if (label.type === "notice") element("notice").textContent = label.text; });

cart.subscribe(() => {
  element("cart").replaceChildren(...(cart.state?.lines ?? []).map((line) => {
    const item = document.createElement("li");
    item.textContent = `${line.count} × ${line.product.name}`;
    return item;
  }));
  element("total").textContent = ((cart.state?.total ?? 0) / 100).toFixed(2);
});

element("text").oninput = () => {
  catalogue.send({ type: "search", text: element("text").value }).catch(failed);
};
