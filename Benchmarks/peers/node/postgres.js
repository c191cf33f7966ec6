// Debian's node-pg: one connection, and one statement for each batch, which is its own transaction.
'use strict';
const { Client } = require('pg');

exports.open = async url => {
    const client = new Client(url);
    await client.connect();
    await client.query(`
        CREATE TABLE IF NOT EXISTS sessions (id text PRIMARY KEY, token text);
        CREATE TABLE IF NOT EXISTS stores (
            session text, feature text, count integer, version integer, intent text, PRIMARY KEY (session, feature)
        );
        CREATE TABLE IF NOT EXISTS answers (session text, slot integer, key text, text text, PRIMARY KEY (session, slot))`);
    const all = async sql => (await client.query(sql)).rows;
    const text = `
        WITH new AS (INSERT INTO sessions SELECT value->>0, value->>1 FROM json_array_elements($1)),
        answered AS (
            INSERT INTO answers SELECT value->>0, (value->>1)::integer, value->>2, value->>3 FROM json_array_elements($3)
            ON CONFLICT (session, slot) DO UPDATE SET key = excluded.key, text = excluded.text
        )
        INSERT INTO stores
        SELECT value->>0, value->>1, (value->>2)::integer, (value->>3)::integer, value->>4 FROM json_array_elements($2)
        ON CONFLICT (session, feature)
            DO UPDATE SET count = excluded.count, version = excluded.version, intent = excluded.intent`;
    return {
        sessions: await all('SELECT * FROM sessions'),
        stores: await all('SELECT * FROM stores'),
        answers: await all('SELECT * FROM answers'),
        commit(rows) {
            const values = [rows.sessions, rows.stores, rows.answers].map(each => JSON.stringify(each));
            return client.query({ name: 'commit', text, values });
        },
    };
};
