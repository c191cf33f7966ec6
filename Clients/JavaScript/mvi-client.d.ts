// The types of mvi-client.js. Times are milliseconds.

/** What a feature has: its view state, its intents and its labels. */
export interface FeatureTypes {
  state: unknown;
  intent: unknown;
  label: unknown;
}

/**
 * The features of a server by name, such as `{ counter: { state: …; intent: …; label: … } }`. `mvi-server types
 * --typescript` prints them.
 */
export type Features = Record<string, FeatureTypes>;

/** The types of the feature that an id such as `counter` or `order-detail:42` names. */
export type FeatureOf<F, Id extends string> =
  Id extends keyof F ? Known<F[Id]>
  : Id extends `${infer Name}:${string}` ? (Name extends keyof F ? Known<F[Name]> : FeatureTypes)
  : FeatureTypes;

type Known<Feature> = Feature extends FeatureTypes ? Feature : FeatureTypes;

/** Ends the listening; to be called once. */
export type End = () => void;

export type Condition =
  /** Nothing is watched. */
  | "idle"
  | "connecting"
  /** The stream is there and in health. */
  | "live"
  /** The client waits for its next try, or makes it. */
  | "reconnecting"
  /** The browser says that there is no network. */
  | "offline"
  /** A newer stream took the place of this one, or the page is not shown; until a person looks at the page. */
  | "paused"
  /** The server asks who is signed in, and there is no identity that it takes. */
  | "signedOut"
  /** The server refuses the stream for good: a fault of the program. */
  | "failed"
  /** The session was ended. The next intent, or `reconnect`, makes another one. */
  | "ended"
  /** The client was closed. */
  | "closed";

export interface ConditionDetails {
  condition: Condition;
  /** `reconnecting`: when the next try is, as `Date.now()` counts. */
  retryAt?: number;
  /** Why there is no stream. */
  problem?: Error;
}

export interface ProblemDocument {
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  instance?: string;
  code?: string;
  errors?: { pointer: string; detail: string }[];
  [member: string]: unknown;
}

/** A refusal by the server, with its problem document (RFC 9457) if it sent one. */
export class Problem extends Error {
  constructor(status: number, document?: ProblemDocument, retryAfter?: number);
  readonly status: number;
  readonly document: ProblemDocument;
  /** Of `Retry-After`. */
  readonly retryAfter?: number;
  /** Such as `/problems/session-ended`. */
  readonly type: string | null;
  /** The last part of the type, such as `session-ended`. */
  readonly kind: string | undefined;
  /** The name that the feature's author gave to the refusal. */
  readonly code: string | null;
}

/** An intent without an answer. */
export class SendError extends Error {
  constructor(reason: SendError["reason"], message: string, mayHaveRun?: boolean, cause?: unknown);
  /**
   * Patience ran out, a thousand intents were waiting already, the client was closed, or the session that the intent was
   * meant for is not the client's any more.
   */
  readonly reason: "no-answer" | "queue-full" | "closed" | "other-session";
  /** The server may have run the intent all the same. */
  readonly mayHaveRun: boolean;
}

/** What the server answered to an intent. */
export interface Sent {
  intent: string;
  session: string;
  /** The store's version after the intent. */
  version: number;
}

/** Of a label. */
export interface LabelInfo {
  id: string;
  version: number;
  /** The intent that led to it, if one did. */
  intent?: string;
  /** It was published while this client had no stream. */
  replay: boolean;
}

export type StoreStatus = "loading" | "ready" | "ended" | "denied" | "missing";

/** One feature as the server shows it. */
export interface Store<State = unknown, Intent = unknown, Label = unknown> {
  readonly id: string;
  /** The view state, undefined before the first. The same object until it changes. */
  readonly state: State | undefined;
  readonly version: number | undefined;
  /** `ended`: the store was disposed of. `denied`: the caller may not see it. `missing`: there is no such feature. */
  readonly status: StoreStatus;
  /** Something listens, so the stream shows the store. */
  readonly isWatched: boolean;
  /** Labels from now on. */
  readonly labels: AsyncIterable<Label>;
  /** Watches the store: `listener` is called after each change of its state or status. Needs no `this`. */
  subscribe: (listener: () => void) => End;
  /**
   * Watches the store: `listener` gets each label once. Labels that came while only `subscribe` watched are handed
   * over first.
   */
  onLabel(listener: (label: Label, info: LabelInfo) => void): End;
  /**
   * Sends an intent, or the JSON of one as text. It is sent until it is answered, in the order of the calls, and runs
   * once, never in another user's session. Rejects with `Problem` if it is refused, with `SendError` if no answer came.
   *
   * @param options `until: "shown"` waits until the watched store shows what the intent did.
   */
  send(intent: Intent | string, options?: { until?: "shown" }): Promise<Sent>;
  /** Resolves with true when the store shows the version or a later one, with false when it never will. */
  shown(version: number): Promise<boolean>;
}

export interface ClientOptions {
  /** The server, such as `https://example.com`. Default: the page's own. */
  url?: string;
  /** `cookie` (the default) for pages of the server's own origin, `bearer` for other origins and for Node.js. */
  credential?: "cookie" | "bearer";
  /** Keeps the bearer token, such as `sessionStorage`. Without it the token is kept in memory. */
  storage?: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  /** Gives a text that proves who is signed in, such as a JWT; nothing if nobody is. */
  identity?: () => string | null | undefined | Promise<string | null | undefined>;
  /** Joins the session that all devices of the signed-in user share. */
  shared?: boolean;
  /** Has states come as patches where they are smaller. */
  delta?: "json-patch" | "merge-patch" | null;
  /** How long an intent is sent again without an answer, the time offline not counted. Default: 5 minutes. */
  patience?: number;
  /** False: this tab has a stream of its own. */
  share?: boolean;
  /** `fetch`: also with a cookie the stream is read by `fetch` and not by `EventSource`. */
  transport?: "fetch";
  /** In place of what the browser has; for tests. */
  platform?: Partial<Platform>;
}

/** What a client has of its surroundings. */
export interface Platform {
  fetch: typeof fetch;
  EventSource: typeof EventSource | undefined;
  BroadcastChannel: typeof BroadcastChannel | undefined;
  locks: LockManager | undefined;
  window: EventTarget | undefined;
  document: (EventTarget & { visibilityState?: string }) | undefined;
  now: () => number;
  setTimeout: (call: () => void, milliseconds: number) => unknown;
  clearTimeout: (timer: any) => void;
  /** From 0 to 1. */
  random: () => number;
  uuid: () => string;
  /** Takes what listeners throw. */
  report: (error: unknown) => void;
}

/** A client for one server: one session, one stream for all watched stores, one queue of intents. */
export interface Client<F = Features> {
  readonly condition: Condition;
  readonly conditionDetails: ConditionDetails;
  /** The session's id, as the last stream said. */
  readonly session: string | null;
  /** The store of a feature: the same object for the same id. */
  store<Id extends string>(id: Id): Store<
    FeatureOf<F, Id>["state"], FeatureOf<F, Id>["intent"], FeatureOf<F, Id>["label"]>;
  /** Calls `listener` after each change of the condition. Needs no `this`. */
  onCondition: (listener: () => void) => End;
  /** Calls `listener` with every event of the stream, and with `session` when there is another one; for logs. */
  onEvent: (listener: (event: string, data: any) => void) => End;
  /** A request with the session's credential; `body` becomes JSON. Rejects with `Problem` if it is refused. */
  request<Answer = any>(
    method: string, path: string, options?: { body?: unknown; headers?: Record<string, string> }): Promise<Answer>;
  /** Opens the stream now, whatever the condition; after the end of a session with a new one. */
  reconnect(): void;
  /**
   * Signs in, or renews who is signed in, with the given identity or the callback's.
   *
   * @param options `keep: false` has the server dispose of the anonymous session's stores, and rejects intents that wait.
   */
  signIn(identity?: string, options?: { keep?: boolean }): Promise<void>;
  /**
   * Ends the session behind the intents sent so far. Rejects if the server could not be told; resolves if the session is
   * not this client's any more.
   */
  endSession(): Promise<void>;
  /** Tells the client what a page tells it by itself. */
  notify(what: "online" | "offline" | "foreground"): void;
  /** Ends everything; waiting intents are rejected. The session stays. */
  close(): void;
}

/** Makes a client. `F` has the types of the server's features. */
export function createClient<F = Features>(options?: ClientOptions): Client<F>;

/** Reads server-sent events as the WHATWG text says. */
export class EventParser {
  readonly lastId: string | undefined;
  readonly retry: number | undefined;
  push(text: string): Generator<{ event: string; data: string; id: string | undefined }>;
}

/** Applies a JSON Patch (RFC 6902), whole or not at all. */
export function applyJSONPatch(target: any, operations: unknown[]): any;
/** Applies a JSON Merge Patch (RFC 7396). */
export function applyMergePatch(target: any, patch: any): any;
