import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import Module, { createRequire } from "node:module";
import { test } from "node:test";
import { settle, start } from "./support.mjs";

// The folder of Debian's packages; other builds of Node.js do not search it.
process.env.NODE_PATH = [process.env.NODE_PATH, "/usr/share/nodejs"].filter(Boolean).join(":");
Module._initPaths();
const load = createRequire(import.meta.url);

/** The hooks in docs/javascript-client.md. */
async function hooks() {
  const readme = await readFile(new URL("../../../docs/javascript-client.md", import.meta.url), "utf8");
  const [, code] = /<!-- hook: begin -->\n```jsx\n([^]*?)```\n<!-- hook: end -->/.exec(readme);
  const names = [...code.matchAll(/export function (\w+)/g)].map(([, name]) => name);
  const body = code.replace(/import (\{[^}]*\}) from "react";/, "const $1 = React;").replaceAll("export function", "function");
  return new Function("React", `${body}\nreturn { ${names.join(", ")} };`)(load("react"));
}

const { JSDOM } = load("jsdom");
const dom = new JSDOM("<div id=root></div>");
for (const [name, value] of Object.entries({
  window: dom.window, document: dom.window.document, navigator: dom.window.navigator, IS_REACT_ACT_ENVIRONMENT: true,
})) Object.defineProperty(globalThis, name, { value, configurable: true });
const React = load("react");
const { createRoot } = load("react-dom/client");
const { act } = load("react-dom/test-utils");
const { useFeature, useLabels, useCondition } = await hooks();

test("a component shows the state, the condition and labels, and watches while it is mounted", async () => {
  const { client, server, clock } = start();
  const labels = [];
  const hear = (label) => labels.push(label);
  const send = () => client.store("counter").send({ type: "increment" });
  function Counter() {
    const state = useFeature(client, "counter");
    const condition = useCondition(client);
    useLabels(client, "counter", hear);
    return React.createElement("button", { onClick: send }, `${condition} ${state?.count}`);
  }

  const root = document.getElementById("root");
  const reactRoot = createRoot(root);
  await act(async () => reactRoot.render(React.createElement(React.StrictMode, null, React.createElement(Counter))));
  await act(() => clock.advance());
  assert.equal(server.streams.length, 1, "StrictMode watches twice, by one stream");

  await act(() => server.stream.hello());
  await act(() => server.stream.state("counter", 1, { count: 4 }));
  assert.equal(root.textContent, "live 4");

  await act(async () => root.querySelector("button").dispatchEvent(new dom.window.MouseEvent("click", { bubbles: true })));
  await settle();
  assert.equal(server.asked("POST /features/counter/intents").length, 1);

  await act(() => server.stream.send("label", { feature: "counter", id: "a", label: { type: "milestone" } }));
  assert.deepEqual(labels, [{ type: "milestone" }]);

  await act(async () => reactRoot.unmount());
  await clock.advance();
  assert.equal(server.stream.isOpen, false);
  assert.equal(client.condition, "idle");
});
