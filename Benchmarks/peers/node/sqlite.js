// Debian's node-sqlite3: write-ahead log, synced at each commit.
'use strict';
const { promisify } = require('node:util');
const { Database } = require('sqlite3');

exports.open = async file => {
    const db = new Database(file);
    await promisify(db.exec.bind(db))(`
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = FULL;
        CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, token TEXT) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS stores (
            session TEXT, feature TEXT, count INTEGER, version INTEGER, intent TEXT, PRIMARY KEY (session, feature)
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS answers (
            session TEXT, slot INTEGER, key TEXT, text TEXT, PRIMARY KEY (session, slot)
        ) WITHOUT ROWID`);
    const all = promisify(db.all.bind(db));
    const prepare = sql => {
        const statement = db.prepare(sql);
        return promisify(statement.run.bind(statement));
    };
    const begin = prepare('BEGIN');
    const end = prepare('COMMIT');
    // All rows of a batch at once: each call goes to another thread and back.
    const insert = {
        sessions: prepare('INSERT INTO sessions SELECT value->>0, value->>1 FROM json_each(?)'),
        stores: prepare(`REPLACE INTO stores
            SELECT value->>0, value->>1, value->>2, value->>3, value->>4 FROM json_each(?)`),
        answers: prepare('REPLACE INTO answers SELECT value->>0, value->>1, value->>2, value->>3 FROM json_each(?)'),
    };
    return {
        sessions: await all('SELECT * FROM sessions'),
        stores: await all('SELECT * FROM stores'),
        answers: await all('SELECT * FROM answers'),
        async commit(rows) {
            const kinds = Object.keys(rows).filter(kind => rows[kind].length > 0);
            // One statement alone is a transaction.
            if (kinds.length > 1) await begin();
            for (const kind of kinds) await insert[kind](JSON.stringify(rows[kind]));
            if (kinds.length > 1) await end();
        },
    };
};
