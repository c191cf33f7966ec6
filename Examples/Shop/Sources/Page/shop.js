import { createClient } from "/mvi-client.js";

const byID = (id) => document.getElementById(id);
const money = (cents) => (cents / 100).toLocaleString("en", { style: "currency", currency: "EUR" });

let shop = "tea";
let session = {};
/** Of a shared session another one: see `open`. */
let client;
/** Ends the watching of the shown features. */
let unwatch = () => {};

// --- Elements --------------------------------------------------------------------------------------------------------

function element(tag, text, options = {}) {
  return Object.assign(document.createElement(tag), { textContent: text, ...options });
}

function button(text, onclick, className = "quiet") {
  return element("button", text, { onclick, className });
}

function list(id, rows, emptyText = "") {
  byID(id).replaceChildren(...rows.map((parts) => {
    const row = document.createElement("li");
    row.append(...parts);
    return row;
  }));
  if (!rows.length && emptyText) byID(id).append(element("li", emptyText, { className: "empty" }));
}

function notify(text, isAlarm = false) {
  byID("notice").textContent = text;
  byID("notice").classList.toggle("alarm", isAlarm);
}

// --- Features --------------------------------------------------------------------------------------------------------

const views = {
  catalogue({ products, isSearching, hasFailed, text }) {
    if (document.activeElement !== byID("search")) byID("search").value = text;
    byID("searching").textContent = isSearching ? "Searching …" : hasFailed ? "The search failed." : "";
    list("products", products.map((product) => [
      element("span", product.name, { className: "grow" }),
      element("span", money(product.price)),
      button("Add", () => send(`cart:${product.shop}`, { type: "add", product: product.id, count: 1 }), ""),
    ]), "Nothing was found.");
  },

  cart({ lines, coupon, total }, { pending }) {
    const set = (line, count) => send(`cart:${shop}`, { type: "set", product: line.id, count });
    list("lines", lines.map((line) => [
      element("span", line.name, { className: "grow" }),
      button("−", () => set(line, line.count - 1)),
      element("span", line.count),
      button("+", () => set(line, line.count + 1)),
      element("span", money(line.price * line.count)),
      element("span", line.isSaving ? "…" : line.hasFailed ? "There are not so many." : "", {
        className: line.hasFailed ? "alarm" : "hint",
      }),
    ]), "The cart is empty.");
    const failed = pending.filter(({ status }) => status === "failed");
    list("failed", failed.map((each) => [
      element("span", each.error.message, { className: "grow alarm" }),
      button("Try again", each.retry), button("Dismiss", each.dismiss),
    ]));
    byID("sending").textContent = pending.some(({ status }) => status === "sending") ? "sending …" : "";
    byID("total").textContent = `${money(total)}${coupon ? `, ${coupon.percent} % off with ${coupon.code}` : ""}`;
    byID("place").disabled = !session.identity || !lines.some((line) => line.count > 0);
    byID("place").textContent = session.identity ? "Order and reserve" : "Sign in to order";
  },

  checkout({ orders }) {
    const texts = {
      reserved: (order) => `reserved until ${new Date(order.reservedUntil).toLocaleTimeString("en")}`,
      paid: () => "paid",
      expired: () => "not paid in time; the goods are back in the cart",
      cancelled: () => "cancelled",
    };
    list("orders", orders.map((order) => [
      element("span", `${money(order.total)}, ${texts[order.status](order)}`, { className: "grow" }),
      element("code", order.id.slice(0, 8), { title: order.id }),
      ...(order.status === "reserved" ? [
        button("Cancel", () => send(`checkout:${shop}`, { type: "cancel" })),
        ...(byID("development").hidden ? [] : [
          button("Pay (development)", () => request("POST", "/development/payment", {
            id: crypto.randomUUID(), session: session.id, shop, order: order.id,
          }), ""),
        ]),
      ] : []),
    ]), "No orders.");
  },

  offers({ offers }) {
    list("offers", [
      ...offers.map((offer) => [element("span", offer.text, { className: "grow" }), element("code", offer.coupon)]),
      [button("Refresh", () => send("offers", { type: "refresh" }))],
    ]);
  },

  "session-list"({ sessions, isLoading, hasFailed }) {
    byID("sessions").hidden = false;
    list("session-list", sessions.map((each) => [
      element("code", each.id, { className: "grow" }),
      element("span", `${each.isShared ? "shared, " : ""}since ${new Date(each.created).toLocaleString("en")}`),
      button("End", () => send("session-list", { type: "end", session: each.id })),
    ]), isLoading ? "Loading …" : hasFailed ? "The sessions could not be listed." : "None.");
  },
};

/** A feature that this customer may not use. */
function deny(feature) {
  if (feature === "offers") list("offers", [], "For premium customers.");
  if (feature === "session-list") byID("sessions").hidden = true;
}

const labels = { placed: "Ordered.", paid: "Paid. Thank you.", expired: "The order was not paid in time." };

function watch() {
  unwatch();
  const ids = ["catalogue", `cart:${shop}`, `checkout:${shop}`, "offers", "session-list"];
  const ends = ids.flatMap((id) => {
    const name = id.split(":")[0];
    const store = client.store(id, { predict: predictions[name] });
    const show = () => (store.status === "ready" ? views[name](store.state, store) : deny(name));
    show();
    return [store.subscribe(show), store.onLabel(({ type }) => notify(labels[type]))];
  });
  unwatch = () => ends.forEach((end) => end());
}

// --- Predictions: what a cart shows before the server answers ----------------------------------------------------------

/** The cart with another count of a product, as `Cart.execute` changes it. */
function changed(cart, id, count) {
  const product = client.store("catalogue").state?.products.find((each) => each.id === id);
  const old = cart.lines.find((each) => each.id === id);
  const { name, price } = product ?? {};
  const line = { id, name, price, savedCount: 0, ...old, isSaving: Boolean(session.identity), hasFailed: false };
  line.count = Math.min(Math.max(count(old?.count ?? 0), 0), 99);
  if (line.price === undefined) throw new Error("The page does not know the product.");
  const lines = (old ? cart.lines.map((each) => (each === old ? line : each)) : [...cart.lines, line])
    .filter((each) => each.count > 0 || each.hasFailed);
  const sum = lines.reduce((before, each) => before + each.price * each.count, 0);
  return { ...cart, lines, total: Math.trunc(sum * (100 - (cart.coupon?.percent ?? 0)) / 100) };
}

const predictions = {
  cart: {
    add: (cart, { product, count }) => changed(cart, product, (before) => before + Math.min(Math.max(count, 0), 99)),
    set: (cart, { product, count }) => changed(cart, product, () => count),
  },
};

// --- Requests --------------------------------------------------------------------------------------------------------

/** Returns the answer, null if it is an error. */
async function tried(answer) {
  notify("");
  return answer.catch((error) => {
    notify(error.message, true);
    return null;
  });
}

const request = (method, path, body) => tried(client.request(method, path, { body }));

function send(feature, intent) {
  const store = client.store(feature);
  for (const each of store.pending) each.dismiss();
  return tried(store.send(intent));
}

// --- Sign-in ---------------------------------------------------------------------------------------------------------

/** The browser's session by cookie; it is created if there is none. */
function open(options) {
  unwatch();
  client?.close();
  const opened = client = createClient(options);
  client.onEvent((event, data) => {
    if (event === "session") show(data);
    if (event === "identity") notify(`You are signed out in ${data.expiresIn} s: sign in again to stay.`, true);
  });
  client.onCondition(() => {
    // The identity has expired: this browser's session is abandoned.
    if (client.condition === "signedOut") signOut();
    if (client.condition === "paused") notify("Another page has taken this one's place.", true);
    if (client.condition === "ended" && client === opened) open();
  });
  watch();
}

function show(found) {
  session = found;
  const { identity } = session;
  byID("who").textContent = identity ? `${identity.subject}${session.shared ? " on several devices" : ""}` : "";
  byID("sign-in").hidden = Boolean(identity);
  byID("sign-out").hidden = !identity;
  watch();
}

/** A private session keeps its cart; a shared one has the cart of the other devices. */
async function signIn(identity) {
  if (byID("shared").checked) open({ shared: true, identity: () => identity });
  if (await tried(client.signIn(identity).then(() => true))) byID("jwt").value = "";
}

const signOut = () => tried(client.endSession());

// --- User actions ----------------------------------------------------------------------------------------------------

const onSubmit = (id, handle) => byID(id).addEventListener("submit", (event) => {
  event.preventDefault();
  handle();
});

onSubmit("sign-in-form", () => signIn(byID("jwt").value.trim()));
onSubmit("coupon-form", async () => {
  if (await send(`cart:${shop}`, { type: "coupon", code: byID("coupon").value.trim() })) byID("coupon").value = "";
});
onSubmit("sessions-form", () => send("session-list", { type: "show", customer: byID("customer").value.trim() }));
byID("place").onclick = () => send(`checkout:${shop}`, { type: "place" });
byID("search").oninput = () => send("catalogue", { type: "search", text: byID("search").value });
byID("sign-out").onclick = signOut;
for (const each of document.querySelectorAll("[data-shop]")) {
  each.onclick = () => {
    shop = each.dataset.shop;
    for (const other of document.querySelectorAll("[data-shop]")) other.ariaPressed = String(other === each);
    watch();
  };
}
for (const each of document.querySelectorAll("[data-person]")) {
  each.onclick = async () => {
    const answer = await request("POST", "/development/jwt", JSON.parse(each.dataset.person));
    if (answer) await signIn(answer.jwt);
  };
}

byID("development").hidden = !(await fetch("/development/jwt", { method: "OPTIONS" })).ok;
open();
