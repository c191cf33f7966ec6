import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as client from "../mvi-client.js";

const run = promisify(execFile);
const folder = fileURLToPath(new URL("..", import.meta.url));

/** The output of tsc for a text; empty without errors. */
async function compile(text) {
  const place = await mkdtemp(join(tmpdir(), "mvi-client-"));
  try {
    const paths = { "mvi-client": [join(folder, "mvi-client.d.ts")] };
    const compilerOptions = {
      strict: true, noEmit: true, target: "es2022", module: "es2022", lib: ["es2022", "dom"], types: [], baseUrl: place, paths,
    };
    await writeFile(join(place, "use.ts"), text);
    await writeFile(join(place, "features.ts"), features);
    await writeFile(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["use.ts"] }));
    return await run("tsc", ["--project", place]).then(() => "", ({ stdout }) => stdout);
  } finally {
    await rm(place, { recursive: true });
  }
}

/** The types in the form of `mvi-server types --typescript`. */
const features = `
  export namespace Counter {
    export interface State { count: number }
    export type Intent = { type: "increment" } | { type: "add"; amount: number };
    export type Label = { type: "milestone"; count: number };
  }
  export interface Features {
    "counter": { state: Counter.State; intent: Counter.Intent; label: Counter.Label };
    [key: \`order-detail:\${string}\`]: { state: { id: string }; intent: { type: "refresh" }; label: never };
  }`;

const readme = await readFile(join(folder, "../../docs/javascript-client.md"), "utf8");
const [, example] = /```ts\n([^]*?)```/.exec(readme);

test("states, intents and labels have the types of their feature, as the manual says", async () => {
  assert.equal(await compile(`${example}
    client.store("counter").send({ type: "add", amount: 1 }, { until: "shown" });
    client.store("counter").onLabel((label, info) => { const n: number = label.count; const r: boolean = info.replay; });
    const keyed: string | undefined = client.store("order-detail:42").state?.id;
    const other: unknown = client.store("other").state;
    async function read() { for await (const label of client.store("counter").labels) label.count.toFixed(); }
    const store = client.store("counter", { predict: { add: (state, { amount }) => ({ count: state.count + amount }) } });
    for (const { id, status, retry } of store.pending) if (status === "failed") { id.trim(); retry(); }
    const confirmed: number | undefined = store.confirmed?.count;
    // @ts-expect-error A prediction returns a state.
    client.store("counter", { predict: { increment: () => 1 } });
    // @ts-expect-error The feature has no such intent.
    client.store("counter", { predict: { shrink: (state) => state } });
    // @ts-expect-error The feature has no such intent.
    client.store("counter").send({ type: "shrink" });
    // @ts-expect-error There may be no state yet.
    client.store("counter").state.count;
    // @ts-expect-error The key changes nothing about the types.
    client.store("order-detail:42").send({ type: "add" });
    createClient<{ order: { state: { id: string }; intent: never; label: never } }>().store("order:7").state?.id;
    const viewers: unknown = client.store("counter").presence?.viewers[0];
    const here = createClient<{ room: { state: {}; intent: {}; label: {}; presence: { name: string } } }>().store("room:1");
    const names: string[] | undefined = here.presence?.viewers.map(({ name }) => name);
    // @ts-expect-error There may be no presence yet.
    here.presence.count;
    // @ts-expect-error Viewers show no such member.
    here.presence?.viewers[0].face;
    export { keyed, other, read, confirmed, viewers, names };
  `), "");
});

test("the types declare exactly the module's exports", async () => {
  const types = await readFile(join(folder, "mvi-client.d.ts"), "utf8");
  const named = [...types.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(named.sort(), Object.keys(client).sort());
});

test("the package has the module, its types and the README, in the server's version", async () => {
  const { stdout } = await run("npm", ["pack", "--dry-run", "--json"], { cwd: folder });
  const [{ files, version }] = JSON.parse(stdout);
  assert.deepEqual(files.map(({ path }) => path).sort(), ["README.md", "mvi-client.d.ts", "mvi-client.js", "package.json"]);
  const openAPI = await readFile(join(folder, "../../openapi.yaml"), "utf8");
  assert.ok(openAPI.includes(`\n  version: ${version}\n`), version);
});
