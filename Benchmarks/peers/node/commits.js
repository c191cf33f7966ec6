// One transaction for all that came while the last one was under way: each library runs one at a time on a connection.
'use strict';

module.exports = class Commits {
    constructor(database) {
        this.database = database;
        this.waiting = [];
        this.busy = false;
    }

    // `taken`: a session that is to be kept, or with `store`, `amount`, `id` and `key` an intent.
    // Calls its `committed` once it is in the database, with the answer.
    add(taken) {
        this.waiting.push(taken);
        if (this.busy) return;
        this.busy = true;
        setImmediate(() => this.run());
    }

    async run() {
        while (this.waiting.length > 0) {
            const batch = this.waiting;
            this.waiting = [];
            await this.database.commit(rowsOf(batch));
            for (const { session, store, count, version, id, text, committed } of batch) {
                if (version) session.show(store, count, version, id);
                committed(text);
            }
        }
        this.busy = false;
    }
};

// Gives each intent its new state, hidden until the commit, and its answer; that of the first
// to those that repeat a key.
function rowsOf(batch) {
    const rows = { sessions: [], stores: [], answers: [] };
    const newest = new Map();
    for (const taken of batch) {
        const { session, store, key } = taken;
        if (!store) {
            rows.sessions.push([session.id, session.token]);
            continue;
        }
        if (key && (taken.text = session.answers.get(key))) continue;
        const before = newest.get(store) ?? store;
        taken.count = before.count + taken.amount;
        taken.version = before.version + 1;
        taken.text = session.acceptance(store, taken.id, taken.version);
        newest.set(store, taken);
        if (key) rows.answers.push([session.id, session.keep(key, taken.text), key, taken.text]);
    }
    for (const [store, { session, count, version, id }] of newest) {
        rows.stores.push([session.id, store.feature, count, version, id]);
    }
    return rows;
}
