import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser, Clock, Page, Server, live, problem, start } from "./support.mjs";

const ana = { name: "Ana" };
const ben = { name: "Ben" };
const look = (server, viewers, { count = viewers.length, feature = "counter", ...more } = {}) =>
  server.stream.send("presence", { feature, count, viewers, ...more });
const next = async (server, clock) => {
  await clock.advance(5_000);
  await server.stream.hello();
};

test("the presence is one object until it changes, and listeners are told of other sets only", async () => {
  const { server, store, shown } = await live();
  assert.equal(store.presence, undefined);
  await look(server, [ana], { count: 3, since: "today" });
  const first = store.presence;
  assert.deepEqual(first, { count: 3, viewers: [ana] });
  assert.equal(shown.length, 2);
  await look(server, [{ ...ana }], { count: 3 });
  await server.stream.state("counter", 2, { count: 1 });
  assert.equal(store.presence, first);
  assert.equal(shown.length, 3);
  await look(server, [ana], { count: 4 });
  await look(server, [ben], { count: 4 });
  assert.deepEqual(store.presence, { count: 4, viewers: [ben] });
  assert.equal(shown.length, 5);
});

test("the presence is kept over a reconnect, also if the event is broken, until another set comes", async () => {
  const { server, clock, store } = await live();
  await look(server, [ana]);
  const first = store.presence;
  await server.stream.end();
  await next(server, clock);
  await look(server, "Ben", { count: 1 });
  assert.equal(server.streams.length, 2);
  await next(server, clock);
  assert.equal(server.streams.length, 3, "as after any event that cannot be read");
  await server.stream.state("counter", 2, { count: 2 });
  await look(server, [ana]);
  assert.equal(store.presence, first);
  await look(server, [ben]);
  assert.deepEqual(store.presence.viewers, [ben]);
});

const ends = {
  "the store's end": ({ server }) => server.stream.send("end", { feature: "counter" }),
  "a denial": ({ server }) => server.stream.send("denied", { feature: "counter" }),
  "an unknown feature": async ({ server, clock }) => {
    server.answer("GET /events", () => problem(404, "feature-not-found"));
    await server.stream.end();
    await clock.advance(5_000);
  },
  "the session's end": ({ server }) => server.stream.send("goaway", { reason: "ended" }),
  "a sign-out": async ({ server, clock }) => {
    await server.stream.send("goaway", { reason: "identity" });
    await clock.advance();
  },
  "another session": async ({ server, clock }) => {
    server.become(null);
    await server.stream.end();
    await next(server, clock);
  },
};
for (const [what, happen] of Object.entries(ends)) {
  test(`${what} forgets the presence, and listeners are told`, async () => {
    const setup = await live();
    const { server, store } = setup;
    await look(server, [ana]);
    const seen = [];
    store.subscribe(() => seen.push(store.presence));
    await happen(setup);
    assert.equal(store.presence, undefined);
    assert.ok(seen.length > 0);
  });
}

test("a store that nobody watches has no presence", async () => {
  const { client, server, clock, store } = await live();
  const end = client.store("order:1").subscribe(() => {});
  await next(server, clock);
  await look(server, [ana], { feature: "order:1" });
  end();
  await clock.advance();
  await server.stream.hello();
  await look(server, [ana], { feature: "order:1" });
  await look(server, [ana], { feature: "order:2" });
  assert.equal(client.store("order:1").presence, undefined);
  assert.equal(store.presence, undefined);
});

test("tabs get the presence by the leader's stream, also one that comes later, while they watch", async () => {
  const shared = { browser: new Browser(), server: new Server(), clock: new Clock() };
  const open = async (feature) => {
    const { client } = start({ ...shared, page: new Page() });
    client.store(feature).subscribe(() => {});
    await shared.clock.advance();
    return client;
  };
  const [leader, other] = [await open("counter"), await open("order:1")];
  await shared.server.stream.hello();
  for (const feature of ["counter", "order:1"]) {
    await shared.server.stream.state(feature, 1, { of: feature });
    await look(shared.server, [ana], { feature });
  }
  const late = await open("counter");
  const end = late.store("order:1").subscribe(() => {});
  await shared.clock.advance();
  const all = [leader.store("counter"), other.store("order:1"), late.store("counter"), late.store("order:1")];
  assert.deepEqual(all.map(({ presence }) => presence), Array(4).fill({ count: 1, viewers: [ana] }));
  end();
  await shared.clock.advance();
  await look(shared.server, [ben], { feature: "order:1" });
  assert.deepEqual(all.map(({ presence }) => presence?.viewers), [[ana], [ben], [ana], undefined]);
  assert.equal(shared.server.streams.filter(({ isOpen }) => isOpen).length, 1);
});

test("a later tab gets no presence of a store that ended, nor of the stream before", async () => {
  const shared = { browser: new Browser(), server: new Server(), clock: new Clock() };
  const { server, clock } = shared;
  const open = async () => {
    const { client } = start({ ...shared, page: new Page() });
    const stores = ["counter", "order:1"].map((feature) => client.store(feature));
    for (const store of stores) store.subscribe(() => {});
    await clock.advance();
    return stores;
  };
  const told = await open();
  await server.stream.hello();
  await look(server, [ana]);
  await look(server, [ana], { feature: "order:1" });
  await server.stream.send("end", { feature: "counter" });
  const whose = (stores) => stores.map(({ presence }) => presence?.viewers);
  assert.deepEqual(whose(told), [undefined, [ana]]);
  assert.deepEqual(whose(await open()), [undefined, [ana]]);
  await server.stream.end();
  await next(server, clock);
  assert.deepEqual(whose(told), [undefined, [ana]]);
  const late = await open();
  assert.deepEqual(whose(late), [undefined, undefined]);
  await look(server, [ben], { feature: "order:1" });
  assert.deepEqual(whose(late), [undefined, [ben]]);
});
