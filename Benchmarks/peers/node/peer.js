// The benchmark's workload on Node's http: sessions, a counter, answers and event streams.
//
//   node peer.js PORT [sqlite FILE | postgres URL]
//
// Without a database all is in memory. One process: workers of `cluster` would have separate sessions, but a session's
// posts and streams arrive over several connections.
'use strict';
const http = require('node:http');
const { randomFillSync } = require('node:crypto');
const Commits = require('./commits.js');

const keptLabels = 64;
const keptAnswers = 64;
const streamFields = {
    Connection: 'close', 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-store, no-transform',
    'X-Accel-Buffering': 'no', Vary: 'Authorization, Cookie, Origin', 'X-Content-Type-Options': 'nosniff',
};
const sessions = new Map();
const streams = new Set();
let commits;

// Random bytes from the kernel, fetched many at a time.
const pool = Buffer.alloc(8192);
let used = pool.length;
function random(bytes) {
    if (used + bytes > pool.length) {
        randomFillSync(pool);
        used = 0;
    }
    used += bytes;
    return pool.toString('hex', used - bytes, used);
}

class Store {
    constructor(feature, rest) {
        this.feature = feature;
        this.count = 0;
        this.version = 1;
        this.intent = null;
        // The state's JSON after the count.
        this.rest = rest;
    }

    // Undefined if no feature has that id.
    static make(feature) {
        if (feature === 'counter') return new Store(feature, ',"isLoading":false}');
        const sized = /^sized:([0-9]{2,7})(-|$)/.exec(feature);
        const bytes = sized ? Number(sized[1]) : 0;
        if (bytes < 64 || bytes > 1 << 20) return undefined;
        return new Store(feature, `,"isLoading":false,"text":"${'x'.repeat(bytes - 45)}"}`);
    }

    event() {
        const intent = this.intent ? `,"intent":"${this.intent}"` : '';
        return `event: state\ndata: {"feature":"${this.feature}","version":${this.version}${intent},"state":{"count":${this.count}${this.rest}}\n\n`;
    }
}

class Session {
    constructor(id = random(8), token = random(32)) {
        this.id = id;
        this.token = token;
        this.epoch = random(8);
        this.stores = new Map();
        this.streams = [];
        this.labels = [];
        this.sequence = 0;
        // With a database: answers by their Idempotency-Key, and how many there were.
        this.answers = new Map();
        this.answered = 0;
        sessions.set(token, this);
    }

    // Keeps an answer; returns the place of the one that it displaces.
    keep(key, text) {
        this.answers.set(key, text);
        if (this.answers.size > keptAnswers) this.answers.delete(this.answers.keys().next().value);
        return this.answered++ % keptAnswers;
    }

    acceptance(store, intent, version) {
        return `{"intent":"${intent}","session":"${this.id}","feature":"${store.feature}","version":${version}}`;
    }

    store(feature) {
        let store = this.stores.get(feature);
        if (!store && (store = Store.make(feature))) this.stores.set(feature, store);
        return store;
    }

    // Makes this the store's state, and sends it to the streams.
    show(store, count, version, intent) {
        store.count = count;
        store.version = version;
        store.intent = intent;
        const cursor = `${this.epoch}.${++this.sequence}`;
        let events;
        if (store.count !== 0 && store.count % 10 === 0) {
            const label = {
                feature: store.feature, version: store.version, intent: store.intent, sequence: this.sequence,
                count: store.count,
            };
            if (this.labels.push(label) > keptLabels) this.labels.shift();
            events = store.event() + this.label(label, cursor, false);
        } else {
            events = `id: ${cursor}\n${store.event()}`;
        }
        const bytes = Buffer.from(events, 'latin1');
        for (const stream of this.streams) {
            if (!stream.features.includes(store.feature)) continue;
            stream.response.write(bytes);
            stream.quiet = false;
        }
    }

    label(label, cursor, replay) {
        return `id: ${cursor}\nevent: label\ndata: {"feature":"${label.feature}","version":${label.version},"intent":"${label.intent}","id":"${this.epoch}.${label.sequence}.0","replay":${replay},"label":{"type":"milestone","count":${label.count}}}\n\n`;
    }

    open(stores, features, lastEventID, response) {
        const head = `${this.epoch}.${this.sequence}`;
        const resumed = lastEventID !== undefined && lastEventID.startsWith(this.epoch + '.');
        const start = resumed ? lastEventID : head;
        const from = Number(start.slice(this.epoch.length + 1));
        const labels = this.labels.filter(label => label.sequence > from && features.includes(label.feature));
        const shown = [
            `: ok\nretry: 2750\n\nid: ${start}\nevent: hello\ndata: {"session":"${this.id}","epoch":"${this.epoch}","resumed":${resumed},"cursor":"${start}","heartbeat":20,"features":${JSON.stringify(features)}}\n\n`,
        ];
        stores.forEach((store, index) => {
            const isLast = index === stores.length - 1 && labels.length === 0;
            shown.push(isLast ? `id: ${head}\n${store.event()}` : store.event());
        });
        labels.forEach((label, index) => {
            shown.push(this.label(label, index === labels.length - 1 ? head : `${this.epoch}.${label.sequence}`, true));
        });
        const stream = { response, features, quiet: false };
        this.streams.push(stream);
        streams.add(stream);
        response.on('close', () => {
            this.streams.splice(this.streams.indexOf(stream), 1);
            streams.delete(stream);
        });
        response.writeHead(200, streamFields);
        response.write(Buffer.from(shown.join(''), 'latin1'));
    }
}

function answer(response, status, text) {
    response.writeHead(status, {
        'Content-Type': 'application/json', 'Cache-Control': 'no-store', Vary: 'Authorization, Cookie, Origin, Prefer',
        'X-Content-Type-Options': 'nosniff', 'Content-Length': Buffer.byteLength(text),
    });
    response.end(text);
}

function refuse(response, status, title) {
    answer(response, status, `{"type":"about:blank","title":"${title}","status":${status}}`);
}

// The session of the request's token; if there is none, answers the request and returns undefined.
function sessionOf(request, response) {
    const field = request.headers.authorization;
    if (!field || !field.startsWith('Bearer ')) return void refuse(response, 401, 'no credential');
    const session = sessions.get(field.slice(7));
    if (!session) refuse(response, 404, 'no such session');
    return session;
}

function takeIntent(session, store, request, response, body) {
    let intent;
    try {
        intent = JSON.parse(body);
    } catch {
        return refuse(response, 400, 'not JSON');
    }
    if (intent === null || intent.type !== 'add' || !Number.isSafeInteger(intent.amount)) {
        return refuse(response, 422, 'no intent of this feature');
    }
    if (commits) {
        const key = request.headers['idempotency-key'];
        return commits.add({
            session, store, key, amount: intent.amount, id: random(8), committed: text => answer(response, 202, text),
        });
    }
    session.show(store, store.count + intent.amount, store.version + 1, random(8));
    answer(response, 202, session.acceptance(store, store.intent, store.version));
}

function openStream(session, features, request, response) {
    const stores = features.map(feature => session.store(feature));
    if (stores.includes(undefined)) return refuse(response, 404, 'no such feature');
    session.open(stores, features, request.headers['last-event-id'], response);
}

const server = http.createServer((request, response) => {
    const { method, url } = request;
    if (method === 'POST' && url === '/sessions') {
        const session = new Session();
        const text = `{"id":"${session.id}","token":"${session.token}","expiresAt":"2100-01-01T00:00:00Z"}`;
        if (!commits) return answer(response, 201, text);
        return commits.add({ session, committed: () => answer(response, 201, text) });
    }
    if (url === '/health/ready') return answer(response, 200, '{}');
    const session = sessionOf(request, response);
    if (!session) return;
    if (method === 'POST' && url.startsWith('/features/') && url.endsWith('/intents')) {
        const store = session.store(url.slice(10, -8));
        if (!store) return refuse(response, 404, 'no such feature');
        let body = '';
        request.setEncoding('utf8');
        request.on('data', part => { body += part; });
        request.on('end', () => takeIntent(session, store, request, response, body));
    } else if (method === 'GET' && url.startsWith('/features/') && url.endsWith('/events')) {
        openStream(session, [url.slice(10, -7)], request, response);
    } else if (method === 'GET' && url.startsWith('/events?')) {
        openStream(session, new URLSearchParams(url.slice(8)).getAll('feature'), request, response);
    } else {
        refuse(response, 404, 'no such resource');
    }
});

setInterval(() => {
    const ping = `event: ping\ndata: {"t":${Date.now()}}\n\n`;
    for (const stream of streams) {
        if (stream.quiet) stream.response.write(ping);
        stream.quiet = true;
    }
}, 20000).unref();

server.keepAliveTimeout = 0;
server.requestTimeout = 0;
process.on('SIGTERM', () => process.exit(0));

// What is in the database is there again. Streams start anew: their labels and cursors are in memory.
async function start(port, engine, place) {
    if (engine) {
        const database = await require(`./${engine}.js`).open(place);
        commits = new Commits(database);
        const restored = new Map();
        for (const { id, token } of database.sessions) restored.set(id, new Session(id, token));
        for (const { session, feature, ...state } of database.stores) {
            Object.assign(restored.get(session).store(feature), state);
        }
        for (const { session, key, text } of database.answers) restored.get(session).keep(key, text);
    }
    server.listen({ port: Number(port), host: '127.0.0.1', backlog: 4096 });
}

start(...process.argv.slice(2));
