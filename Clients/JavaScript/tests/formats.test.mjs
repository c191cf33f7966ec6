import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { applyJSONPatch, applyMergePatch, EventParser } from "../mvi-client.js";

const events = (...texts) => {
  const parser = new EventParser();
  return texts.flatMap((text) => [...parser.push(text)]);
};

test("events do not depend on the chunks", () => {
  const text = "id: 1\r\nevent: a\rdata: x\ndata:y\n\r\n: comment\nretry: 9\ndata\n\ndata: lost";
  const whole = events(text);
  assert.deepEqual(whole, [
    { event: "a", data: "x\ny", id: "1" }, { event: "message", data: "", id: "1" },
  ]);
  for (let cut = 0; cut <= text.length; cut += 1) {
    assert.deepEqual(events(text.slice(0, cut), text.slice(cut)), whole, `cut at ${cut}`);
  }
  assert.deepEqual(events(...text), whole);
});

// The bytes that all parsers of this repository read; the client's package does not contain them.
const golden = new URL("../../Conformance/golden/parser/", import.meta.url);

test("golden files are parsed correctly in any chunks", { skip: !existsSync(golden) }, async () => {
  const names = (await readdir(golden)).filter((name) => name.endsWith(".json"));
  assert.ok(names.length > 10);
  for (const name of names) {
    const bytes = await readFile(new URL(name.replace(/json$/, "bytes"), golden));
    const wanted = JSON.parse(await readFile(new URL(name, golden), "utf8"));
    for (const size of [1, 2, 3, 7, bytes.length || 1]) {
      const parser = new EventParser();
      const decoder = new TextDecoder();
      const found = [];
      for (let at = 0; at < bytes.length; at += size) {
        const text = decoder.decode(bytes.subarray(at, at + size), { stream: true });
        for (const { event, data, id = "" } of parser.push(text)) found.push({ type: event, data, lastID: id });
      }
      const result = { events: found, lastID: parser.lastId ?? "", retry: parser.retry ?? null };
      assert.deepEqual(result, { events: wanted.events, lastID: wanted.lastID, retry: wanted.retry }, `${name} in pieces of ${size}`);
    }
  }
});

test("an id takes effect at its blank line, even without data, but not with NUL", () => {
  const parser = new EventParser();
  assert.equal([...parser.push("id: 7\n")].length, 0);
  assert.equal(parser.lastId, undefined);
  assert.equal([...parser.push("\n")].length, 0);
  assert.equal(parser.lastId, "7");
  assert.deepEqual([...parser.push("id: 8\0\ndata: x\n\n")], [{ event: "message", data: "x", id: "7" }]);
});

test("a JSON Patch is applied whole or not at all, and shares unchanged parts", () => {
  const state = Object.freeze({ list: Object.freeze([1, 2]), other: Object.freeze({}) });
  const result = applyJSONPatch(state, [
    { op: "test", path: "/list", value: [1, 2] }, { op: "add", path: "/list/1", value: 9 },
    { op: "copy", from: "/list", path: "/copy" }, { op: "move", from: "/list/0", path: "/copy/-" },
    { op: "remove", path: "/list/0" }, { op: "add", path: "/a~1b", value: 1 },
  ]);
  assert.deepEqual(result, { list: [2], other: {}, copy: [1, 9, 2, 1], "a/b": 1 });
  assert.equal(result.other, state.other);
  for (const operation of [
    { op: "replace", path: "/none", value: 1 }, { op: "add", path: "/list/3", value: 1 }, { op: "add", path: "list", value: 1 },
    { op: "remove", path: "/list/-" }, { op: "add", path: "/list/01", value: 1 }, { op: "test", path: "/list", value: [1] },
    { op: "add", path: "/x" }, { op: "move", from: "/list", path: "/list/0" }, { op: "turn", path: "" },
    { op: "add", path: "/toString/x", value: 1 }, { op: "remove", path: "/constructor" },
  ]) {
    assert.throws(() => applyJSONPatch(state, [{ op: "add", path: "/x", value: 1 }, operation]), undefined, JSON.stringify(operation));
  }
});

test("patches set own members with inherited names", () => {
  const patched = applyJSONPatch({}, [{ op: "add", path: "/__proto__", value: { isBad: true } }]);
  const merged = applyMergePatch({}, JSON.parse('{"__proto__":{"isBad":true},"constructor":{"x":1}}'));
  for (const value of [patched, merged]) {
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.equal(value.isBad, undefined);
    assert.deepEqual(Object.entries(value)[0], ["__proto__", { isBad: true }]);
  }
  assert.equal({}.isBad, undefined);
});

// https://www.rfc-editor.org/rfc/rfc7396#appendix-A
test("merge patches follow RFC 7396", () => {
  for (const [target, patch, result] of [
    [{ a: "b" }, { a: "c" }, { a: "c" }], [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }], [{ a: "b" }, { a: null }, {}],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }], [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [["a"], ["c"], ["c"]], [{ a: "b" }, ["c"], ["c"]], [{ e: null }, { a: 1 }, { e: null, a: 1 }], [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ]) assert.deepEqual(applyMergePatch(target, patch), result);
});

// With a copy for each operation this takes hours.
test("a patch copies each container once, however many operations it has", { timeout: 120_000 }, () => {
  const count = 60_000;
  const items = Object.fromEntries(Array.from({ length: count }, (_, index) => [`item-${index}`, { done: false }]));
  const document = { items, list: Array.from({ length: count }, () => ({ done: false })) };
  const operations = ["items/item-", "list/"].flatMap((path) =>
    Array.from({ length: count }, (_, index) => ({ op: "replace", path: `/${path}${index}/done`, value: true })));
  const patched = applyJSONPatch(document, operations);
  assert.ok(Object.values(patched.items).every(({ done }) => done) && patched.list.every(({ done }) => done));
  assert.ok(Object.values(items).every(({ done }) => !done) && document.list.every(({ done }) => !done));
});
