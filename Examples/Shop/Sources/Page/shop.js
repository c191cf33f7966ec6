const byID = (id) => document.getElementById(id);
const money = (cents) => (cents / 100).toLocaleString("en", { style: "currency", currency: "EUR" });

let shop = "tea";
let session = null;
let source = null;
const seen = new Set();

// --- Elements --------------------------------------------------------------------------------------------------------

function element(tag, text, options = {}) {
  return Object.assign(document.createElement(tag), { textContent: text, ...options });
}

function button(text, onclick, className = "quiet") {
  return element("button", text, { onclick, className });
}

function list(id, rows, emptyText) {
  byID(id).replaceChildren(...rows.map((parts) => {
    const row = document.createElement("li");
    row.append(...parts);
    return row;
  }));
  if (!rows.length) byID(id).append(element("li", emptyText, { className: "empty" }));
}

function notify(text, isAlarm = false) {
  byID("notice").textContent = text;
  byID("notice").classList.toggle("alarm", isAlarm);
}

// --- Requests --------------------------------------------------------------------------------------------------------

async function request(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: body ? { "Content-Type": "application/json", "Idempotency-Key": `"${crypto.randomUUID()}"` } : {},
    body: body && JSON.stringify(body),
  }).catch(() => null);
  const answer = response?.headers.get("Content-Type")?.includes("json") ? await response.json() : {};
  if (!response?.ok) notify(answer.detail ?? "The server does not answer.", true);
  return response?.ok ? answer : null;
}

function send(feature, intent) {
  notify("");
  return request("POST", `/features/${feature}/intents`, intent);
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

  cart({ lines, coupon, total }) {
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

function connect() {
  source?.close();
  deny("offers");
  deny("session-list");
  const features = ["catalogue", `cart:${shop}`, `checkout:${shop}`, "offers", "session-list"];
  source = new EventSource(`/events?${features.map((each) => `feature=${each}`).join("&")}`);
  const on = (name, handle) => source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
  on("state", ({ feature, state }) => views[feature.split(":")[0]]?.(state));
  on("label", ({ id, label }) => {
    if (seen.has(id)) return;
    seen.add(id);
    notify({ placed: "Ordered.", paid: "Paid. Thank you.", expired: "The order was not paid in time." }[label.type]);
  });
  on("denied", ({ feature }) => deny(feature));
  on("identity", ({ expiresIn }) => notify(`You are signed out in ${expiresIn} s: sign in again to stay.`, true));
  on("goaway", ({ reason }) => {
    if (["ended", "expired", "identity"].includes(reason)) { source.close(); start(); }
    if (reason === "superseded") { source.close(); notify("Another page has taken this one's place.", true); }
  });
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) notify("The connection is closed; load the page again.", true);
  };
}

// --- Sign-in ---------------------------------------------------------------------------------------------------------

/** Returns the browser's session with a cookie; creates one if there is none. */
async function start() {
  const current = await fetch("/sessions/current");
  // The identity has expired: this browser's session is abandoned.
  if (current.status === 401 && (await current.json()).type.endsWith("identity-expired")) {
    await fetch("/sessions/current", { method: "DELETE" });
  }
  show(current.ok ? await current.json() : await request("POST", "/sessions", { credential: "cookie" }));
}

function show(found) {
  if (!found) return;
  session = found;
  const { identity } = session;
  byID("who").textContent = identity ? `${identity.subject}${session.shared ? " on several devices" : ""}` : "";
  byID("sign-in").hidden = Boolean(identity);
  byID("sign-out").hidden = !identity;
  connect();
}

async function signIn(identity) {
  const body = { credential: "cookie", identity };
  // The old credential and its stream end here.
  source?.close();
  // A private session keeps its cart; a shared one has the cart of the other devices.
  const answer = byID("shared").checked
    ? await request("POST", "/sessions", { ...body, shared: true })
    : await request("PUT", "/sessions/current/identity", body);
  if (!answer) return connect();
  byID("jwt").value = "";
  notify("");
  show(answer);
}

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
byID("sign-out").onclick = async () => {
  source.close();
  await request("DELETE", "/sessions/current");
  start();
};
for (const each of document.querySelectorAll("[data-shop]")) {
  each.onclick = () => {
    shop = each.dataset.shop;
    for (const other of document.querySelectorAll("[data-shop]")) other.ariaPressed = String(other === each);
    connect();
  };
}
for (const each of document.querySelectorAll("[data-person]")) {
  each.onclick = async () => {
    const answer = await request("POST", "/development/jwt", JSON.parse(each.dataset.person));
    if (answer) await signIn(answer.jwt);
  };
}

byID("development").hidden = !(await fetch("/development/jwt", { method: "OPTIONS" })).ok;
start();
