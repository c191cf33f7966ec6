// What a view's author writes with the features' types; compiled by MadeTypesTests.
import type { Counter, Features, OrderDetail } from "./features";

interface Store<F extends { state: unknown; intent: unknown; label: unknown }> {
  watch(show: (state: F["state"]) => void, happened: (label: F["label"]) => void): void;
  send(intent: F["intent"]): Promise<number>;
}
declare const client: { store<Name extends keyof Features>(name: Name): Store<Features[Name]> };

const counter = client.store<"counter">("counter");
counter.watch(
  (state) => {
    const count: number = state.count;
    // @ts-expect-error There is no such member.
    return [count, state.total];
  },
  (label) => {
    if (label.type === "milestone") return label.count.toFixed();
    const text: string = label.text;
    return text;
  },
);
counter.send({ type: "add", amount: 5 });
// @ts-expect-error The value is missing.
counter.send({ type: "add" });
// @ts-expect-error There is no such intent.
counter.send({ type: "multiply", by: 2 });

const order = client.store("order-detail:42");
order.watch((state) => state.status.content?.buttons.map((button) => button.title), (label) => label.text);
order.send({ type: "retrySection", section: "fee" });
// @ts-expect-error There is no such section.
order.send({ type: "retrySection", section: "refund" });
// @ts-expect-error There is no such feature.
client.store("basket");

export function describe(label: Counter.Label): string {
  switch (label.type) {
    case "milestone": return `${label.count}`;
    case "toast": return label.text;
  }
}
export const empty: OrderDetail.Intent[] = [];
