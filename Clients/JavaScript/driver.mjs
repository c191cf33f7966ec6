#!/usr/bin/env node
// The driver of this client for the conformance kit: JSON lines in, JSON lines out. Clients/Conformance/README.md has
// the commands.
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createClient, Problem } from "./mvi-client.js";

let client;
let window;
const watches = new Map();
const readers = new Map();
const presences = new Map();

const say = (saw, members) => process.stdout.write(`${JSON.stringify({ saw, ...members })}\n`);

/** `fetch` with the cookies of a browser, which Node.js does not keep. */
function fetchWithCookies() {
  const cookies = new Map();
  return async (url, { headers, ...request }) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { ...request, headers: { ...headers, ...(cookie && { Cookie: cookie }) } });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=;]+)=([^;]*)/.exec(line);
      if (value === "" || /max-age=0/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
}

/** A file with one value. */
function stored(file) {
  return {
    getItem: () => { try { return readFileSync(file, "utf8"); } catch { return null; } },
    setItem: (_, value) => {
      writeFileSync(`${file}.new`, value);
      renameSync(`${file}.new`, file);
    },
    removeItem: () => rmSync(file, { force: true }),
  };
}

function open({ url, features, credential, delta, identities, patience, folder, locale = null, timeZone = null }) {
  window = new EventTarget();
  client = createClient({
    url, credential, delta, locale, timeZone, patience: patience && patience * 1000, identity: () => identities.shift(),
    ...(folder && { storage: stored(`${folder}/credential`), pendingStorage: stored(`${folder}/pending`) }),
    platform: { window, ...(credential === "cookie" && { fetch: fetchWithCookies() }) },
  });
  client.onCondition(() => say("condition", { condition: client.condition }));
  client.onEvent((event, data) => {
    if (event === "end" || event === "denied") say(event, { feature: data.feature });
    if (event === "missing") say("denied", { feature: data.feature });
    if (event === "abandoned") say(event, { feature: data.feature, intent: data.intent });
    if (event === "reset") say("reset", { reason: data.reason, labelsLost: data.labelsLost });
  });
  features.forEach((feature) => watch(feature));
}

function watch(feature, labels = true) {
  const store = client.store(feature);
  let shown = {};
  const tellPresence = () => {
    const { presence = null } = store;
    if (presence !== (presences.get(feature) ?? null)) say("presence", { feature, presence });
    presences.set(feature, presence);
  };
  tellPresence();
  const read = () => store.onLabel((label, { id, replay }) => say("label", { feature, id, replay, label }));
  readers.set(feature, () => ends.push(read()));
  const ends = [
    store.subscribe(() => {
      tellPresence();
      if (store.status !== "ready" || (store.state === shown.state && store.version === shown.version)) return;
      shown = { state: store.state, version: store.version };
      say("state", { feature, version: store.version, state: store.state });
    }),
  ];
  if (labels) ends.push(read());
  watches.set(feature, () => ends.forEach((end) => end()));
}

function send({ feature, intent, tag }) {
  client.store(feature).send(intent).then(
    ({ version = null }) => say("sent", { tag, version }),
    (error) => say("refused", {
      tag, status: error instanceof Problem ? error.status : null, problem: error instanceof Problem ? error.type : null,
    }));
}

function close() {
  client?.close();
  process.stdout.write("", () => process.exit(0));
}

const commands = {
  open, send, close,
  watch: ({ feature, labels }) => watch(feature, labels),
  read: ({ feature }) => readers.get(feature)(),
  unwatch: ({ feature }) => watches.get(feature)?.(),
  offline: () => window.dispatchEvent(new Event("offline")),
  online: () => window.dispatchEvent(new Event("online")),
  foreground: () => window.dispatchEvent(new Event("focus")),
};

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const command = JSON.parse(line);
    commands[command.do](command);
  })
  .on("close", close);
