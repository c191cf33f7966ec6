// The types of mvi-client.js. Times are milliseconds.

/** The types of a feature: its view state, its intents, its labels, and what clients are shown of each other. */
export interface FeatureTypes {
  state: unknown;
  intent: unknown;
  label: unknown;
  presence?: unknown;
}

/**
 * The features of a server by name, such as `{ counter: { state: …; intent: …; label: … } }`, as `mvi-server types
 * --typescript` prints them.
 */
export type Features = Record<string, FeatureTypes>;

/** The types of the feature with an id such as `counter` or `order-detail:42`. */
export type FeatureOf<F, Id extends string> =
  Id extends keyof F ? Known<F[Id]>
  : Id extends `${infer Name}:${string}` ? (Name extends keyof F ? Known<F[Name]> : FeatureTypes)
  : FeatureTypes;

type Known<Feature> = Feature extends FeatureTypes ? Feature : FeatureTypes;
type PresenceOf<Feature> = Feature extends { presence?: infer Presence } ? Presence : unknown;

/** Stops the listening; call it once. */
export type End = () => void;

export type Condition =
  /** Nothing is watched. */
  | "idle"
  | "connecting"
  /** The stream is open and works. */
  | "live"
  /** The client retries, or waits for the next try. */
  | "reconnecting"
  /** The browser reports that there is no network. */
  | "offline"
  /** A newer stream replaced this one, or the page is hidden; until the page is visible again. */
  | "paused"
  /** The server asks for an identity, and the client has none that it accepts. */
  | "signedOut"
  /** The server refuses the stream permanently: a fault of the program. */
  | "failed"
  /** The session was ended. The next intent, or `reconnect`, creates another one. */
  | "ended"
  /** The client was closed. */
  | "closed";

export interface ConditionDetails {
  condition: Condition;
  /** `reconnecting`: the time of the next try, as in `Date.now()`. */
  retryAt?: number;
  /** The reason why there is no stream. */
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
  /** The delay of `Retry-After`. */
  readonly retryAfter?: number;
  /** A URI such as `/problems/session-ended`. */
  readonly type: string | null;
  /** The last part of the type, such as `session-ended`. */
  readonly kind: string | undefined;
  /** The feature author's code for the refusal. */
  readonly code: string | null;
}

/** An intent without an answer. */
export class SendError extends Error {
  constructor(reason: SendError["reason"], message: string, mayHaveRun?: boolean, cause?: unknown);
  /**
   * The time ran out, a thousand intents were waiting already, the client was closed, or the intent's session does not
   * belong to the client any more.
   */
  readonly reason: "no-answer" | "queue-full" | "closed" | "other-session" | "aborted";
  /** True if the server may have run the intent. */
  readonly mayHaveRun: boolean;
}

/** The server's answer to an intent. */
export interface Sent {
  intent: string;
  session: string;
  /** The store's version after the intent. */
  version: number;
}

/** Details of a label. */
export interface LabelInfo {
  id: string;
  version: number;
  /** The intent that led to it, if there was one. */
  intent?: string;
  /** True if it was published while this client had no stream. */
  replay: boolean;
}

export type StoreStatus = "loading" | "ready" | "ended" | "denied" | "missing";

/** An intent that a prediction shows, until the server has confirmed it. A new object when it changes. */
export interface Pending<Intent = unknown> {
  /** The idempotency key. */
  readonly id: string;
  readonly intent: Intent;
  /** `sent`: it has an answer, and its state has not come. `failed`: it is not shown; see `error`. */
  readonly status: "sending" | "sent" | "failed";
  readonly error: Error | undefined;
  /** Shows and sends a failed intent again, with the same key: it runs once. */
  retry(): void;
  /** Forgets a failed intent. */
  dismiss(): void;
}

/**
 * Functions by the `type` of intents: each returns the state as the server is expected to have it after the intent. They
 * change nothing, and run again with each new state; one that throws is skipped.
 */
export type Predictions<State, Intent> = {
  [Type in Intent extends { type: infer T extends string } ? T : string]?:
    (state: State, intent: Extract<Intent, { type: Type }>) => State;
};

/** The clients that look at a store. */
export interface StorePresence<Viewer = unknown> {
  /** Their number, also of those that show nothing. A client with several tabs counts once. */
  readonly count: number;
  /** What they show, of at most 100. */
  readonly viewers: readonly Viewer[];
}

/** One feature's state and labels. */
export interface Store<State = unknown, Intent = unknown, Label = unknown, Presence = unknown> {
  readonly id: string;
  /**
   * The view state with the predictions of pending intents, undefined before the first one, after the end of the session
   * and while signed out. The same object until it changes.
   */
  readonly state: State | undefined;
  /** The view state as the server sent it. */
  readonly confirmed: State | undefined;
  /** The version of the confirmed state. */
  readonly version: number | undefined;
  /**
   * Who looks at the store, while it is watched and if the feature tells. Kept over reconnects; undefined before the first,
   * after the end of the store or the session, and while signed out. The same object until it changes.
   */
  readonly presence: StorePresence<Presence> | undefined;
  /** The intents that a prediction shows, in order, and those of them that failed. The same array until it changes. */
  readonly pending: readonly Pending<Intent>[];
  /** `ended`: the store was disposed. `denied`: the caller must not see it. `missing`: there is no such feature. */
  readonly status: StoreStatus;
  /** True if the store has listeners, so that the stream shows it. */
  readonly isWatched: boolean;
  /** The labels from now on. */
  readonly labels: AsyncIterable<Label>;
  /** Watches the store: calls `listener` after each change of its state, status or presence. Needs no `this`. */
  subscribe: (listener: () => void) => End;
  /**
   * Watches the store: calls `listener` once for each label. Labels that arrived while only `subscribe` watched come
   * first, if they are not older than their time to live.
   */
  onLabel(listener: (label: Label, info: LabelInfo) => void): End;
  /**
   * Sends an intent, or the JSON of one as text. It is repeated until it is answered, in the order of the calls, and
   * runs once, never in another user's session. Rejects with `Problem` if it is refused, with `SendError` if no answer
   * came.
   *
   * @param options `until: "shown"` waits until the watched store shows the effect of the intent. `signal` gives the
   *   intent up: it rejects with the reason `aborted`, and `mayHaveRun` says whether it was sent. `ifMatch` is the version
   *   of the state that the user decided by: with another one the server refuses the intent with 412.
   */
  send(intent: Intent | string, options?: { until?: "shown"; signal?: AbortSignal; ifMatch?: number }): Promise<Sent>;
  /**
   * Disposes of the store on the server, after the intents that were sent before: its state is gone, and its work ends.
   * The next use creates a new one. Rejects as `send` does.
   */
  dispose(): Promise<void>;
  /** Resolves with true when the store has the version or a later one confirmed, with false when it never will. */
  shown(version: number): Promise<boolean>;
}

export interface ClientOptions {
  /** The server, such as `https://example.com`. Default: the page's origin. */
  url?: string;
  /** `cookie` (the default) for pages of the server's own origin, `bearer` for other origins and for Node.js. */
  credential?: "cookie" | "bearer";
  /**
   * The storage of the bearer token, such as `sessionStorage`. Without it the token is kept in memory. Tabs share a stream
   * if they have the same token: those with one `localStorage` do.
   */
  storage?: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  /** Returns the user's identity, such as a JWT; nothing if nobody is signed in. */
  identity?: () => string | null | undefined | Promise<string | null | undefined>;
  /** Joins the session that all devices of the signed-in user share. */
  shared?: boolean;
  /** The language tag (BCP 47) that the server gets. Default: the browser's `navigator.language`; null: none. */
  locale?: string | null;
  /** The IANA time zone that the server gets. Default: that of `Intl`; null: none. */
  timeZone?: string | null;
  /** Receives states as patches if these are smaller. */
  delta?: "json-patch" | "merge-patch" | null;
  /** The time for which an intent is repeated without an answer, not counting offline time. Default: 5 minutes. */
  patience?: number;
  /** False: this tab has a stream of its own. */
  share?: boolean;
  /**
   * Keeps the intents that wait for their answers, so that they survive the end of the page or the app: the next client with
   * this storage and URL sends them first, with their keys, if it has the same session and their patience is not over by the
   * wall clock. Its methods may return promises (React Native's AsyncStorage). One client at a time may use it: give tabs
   * `sessionStorage`. Without it a waiting intent ends with the page.
   */
  pendingStorage?: PendingStorage;
  /** `fetch`: reads the stream by `fetch`, not by `EventSource`, even with a cookie. */
  transport?: "fetch";
  /** Replaces parts of the browser's functions; for tests. */
  platform?: Partial<Platform>;
}

/** A storage such as `sessionStorage` or AsyncStorage. One that throws or rejects keeps nothing. */
export interface PendingStorage {
  getItem(key: string): string | null | Promise<string | null>;
  setItem(key: string, value: string): unknown;
}

/** The client's environment. */
export interface Platform {
  fetch: typeof fetch;
  EventSource: typeof EventSource | undefined;
  BroadcastChannel: typeof BroadcastChannel | undefined;
  locks: LockManager | undefined;
  window: EventTarget | undefined;
  document: (EventTarget & { visibilityState?: string }) | undefined;
  /** Milliseconds of a clock that nobody sets. */
  now: () => number;
  /** The time since 1970 in milliseconds. */
  wallTime: () => number;
  setTimeout: (call: () => void, milliseconds: number) => unknown;
  clearTimeout: (timer: any) => void;
  /** A number from 0 to 1. */
  random: () => number;
  uuid: () => string;
  /** Reports the errors of listeners. */
  report: (error: unknown) => void;
  /** The user's language and time zone. */
  locale: string | undefined;
  timeZone: string | undefined;
}

/** A client for one server: one session, one stream for all watched stores, one queue of intents. */
export interface Client<F = Features> {
  readonly condition: Condition;
  readonly conditionDetails: ConditionDetails;
  /** The session's id on the last stream. */
  readonly session: string | null;
  /** The intents that wait for their answers, of all stores, in the order of the calls. */
  readonly pending: readonly { readonly id: string; readonly feature: string; readonly intent: unknown }[];
  /**
   * The store of a feature: the same object for the same id. Throws a `TypeError` if it can be no store's id, so that a key
   * from a link leads nowhere else.
   *
   * @param options `predict` has intents shown before their answers; without it the store keeps its predictions.
   */
  store<Id extends string>(
    id: Id, options?: { predict?: Predictions<FeatureOf<F, Id>["state"], FeatureOf<F, Id>["intent"]> },
  ): Store<
    FeatureOf<F, Id>["state"], FeatureOf<F, Id>["intent"], FeatureOf<F, Id>["label"], PresenceOf<FeatureOf<F, Id>>>;
  /** Calls `listener` after each change of the condition. Needs no `this`. */
  onCondition: (listener: () => void) => End;
  /**
   * Calls `listener` with every event of the stream, with `session` after a change of the session, and with
   * `misprediction` (`feature`, `intent`, `predicted`, `state`) if a state differs from the prediction; for logs. With
   * `abandoned` (`feature`, `intent`, `error`) if an intent that `pendingStorage` kept failed.
   */
  onEvent: (listener: (event: string, data: any) => void) => End;
  /** Disposes of a feature's store; see `Store.dispose`. */
  dispose(id: string): Promise<void>;
  /**
   * A request with the session's credential, for that session only; `body` becomes JSON. Rejects with `Problem` if it is
   * refused.
   */
  request<Answer = any>(
    method: string, path: string, options?: { body?: unknown; headers?: Record<string, string> }): Promise<Answer>;
  /** Opens the stream now in any condition; after the end of a session with a new session. */
  reconnect(): void;
  /**
   * Signs in or renews with the given identity, or the callback's.
   *
   * @param options `keep: false` makes the server dispose the anonymous session's stores, and rejects waiting intents.
   */
  signIn(identity?: string, options?: { keep?: boolean }): Promise<void>;
  /**
   * Ends the session after the intents sent so far. Rejects if the server could not be reached; resolves if the session
   * does not belong to this client any more.
   */
  endSession(): Promise<void>;
  /** Reports what a page reports automatically. */
  notify(what: "online" | "offline" | "foreground"): void;
  /** Ends everything; waiting intents are rejected. The session stays. */
  close(): void;
}

/** Creates a client. `F` has the types of the server's features. */
export function createClient<F = Features>(options?: ClientOptions): Client<F>;

/** Parses server-sent events as the WHATWG standard specifies. */
export class EventParser {
  readonly lastId: string | undefined;
  readonly retry: number | undefined;
  push(text: string): Generator<{ event: string; data: string; id: string | undefined }>;
}

/** Applies a JSON Patch (RFC 6902), whole or not at all. */
export function applyJSONPatch(target: any, operations: unknown[]): any;
/** Applies a JSON Merge Patch (RFC 7396). */
export function applyMergePatch(target: any, patch: any): any;
