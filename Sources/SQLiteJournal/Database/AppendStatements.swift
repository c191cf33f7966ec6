import SQLite

/// The statements of an append, compiled once.
final class AppendStatements {
    let begin: PreparedStatement
    let commit: PreparedStatement
    let rollback: PreparedStatement

    /// No row if the session is gone.
    let floor: PreparedStatement
    let stores: PreparedStatement
    let seen: PreparedStatement
    let marks: PreparedStatement

    let updateStore: PreparedStatement
    let insertStore: PreparedStatement
    let storeToken: PreparedStatement
    let setAside: PreparedStatement

    let findReceipt: PreparedStatement
    let insertReceipt: PreparedStatement
    let deleteReceipt: PreparedStatement
    let lastPlace: PreparedStatement
    let putEpoch: PreparedStatement
    let deleteEpoch: PreparedStatement

    let insertLabel: PreparedStatement
    let deleteLabels: PreparedStatement

    let insertRecording: PreparedStatement
    let countRecordings: PreparedStatement
    let trimRecordings: PreparedStatement

    init(_ connection: inout Connection) throws(SQLiteError) {
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        rollback = try connection.prepare("ROLLBACK")

        floor = try connection.prepare("SELECT sequence_floor FROM sessions WHERE key = ?1")
        stores = try connection.prepare(
            "SELECT id, feature, sequence FROM stores WHERE id >= ?1 << 16 AND id < (?1 + 1) << 16 ORDER BY id")
        seen = try connection.prepare("UPDATE sessions SET last_seen = ?2 WHERE key = ?1 AND last_seen < ?2")
        marks = try connection.prepare(
            "UPDATE sessions SET version_floor = ?2, dropped = ?3, flags = ?4 WHERE key = ?1")

        // What is NULL stays as it is; COALESCE reads the old value only then.
        updateStore = try connection.prepare(
            """
            UPDATE stores SET version = ?5, nonce = ?6, sequence = ?7, time = max(time, ?8), dropped = ?9, flags = ?10,
                schema = CASE WHEN ?11 IS NULL THEN schema ELSE ?12 END, state = coalesce(?11, state),
                view_intent = CASE WHEN ?13 IS NULL THEN view_intent ELSE ?14 END, view = coalesce(?13, view),
                replaced = CASE ?15 WHEN 0 THEN replaced ELSE ?15 END
            WHERE id = ?1 AND version = ?3 AND nonce = ?4
            """)
        insertStore = try connection.prepare(
            """
            INSERT INTO stores (id, feature, version, nonce, sequence, time, dropped, flags, schema, state,
                view_intent, view)
            VALUES (?1, ?2, ?5, ?6, ?7, ?8, ?9, ?10, ?12, ?11, ?14, ?13)
            """)
        storeToken = try connection.prepare("SELECT version, nonce FROM stores WHERE id = ?1")
        setAside = try connection.prepare(
            """
            INSERT INTO set_aside (session, sequence, feature, time, reason, schema, state)
            SELECT id >> 16, ?2, feature, ?3, ?4, schema, state FROM stores WHERE id = ?1
            """)

        findReceipt = try connection.prepare(
            """
            SELECT body_hash, intent, version, status, body, made FROM receipts
            WHERE session = ?1 AND scope = ?2 AND name = ?3
            """)
        insertReceipt = try connection.prepare(
            """
            INSERT INTO receipts (session, scope, name, place, made, intent, version, status, body_hash, body)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            """)
        deleteReceipt = try connection.prepare(
            "DELETE FROM receipts WHERE session = ?1 AND scope = ?2 AND name = ?3")
        lastPlace = try connection.prepare("SELECT coalesce(max(place), 0) FROM receipts WHERE session = ?1")
        putEpoch = try connection.prepare(
            """
            INSERT INTO epochs (session, epoch, number) VALUES (?1, ?2, ?3)
            ON CONFLICT DO UPDATE SET number = excluded.number
            """)
        deleteEpoch = try connection.prepare("DELETE FROM epochs WHERE session = ?1 AND epoch = ?2")

        insertLabel = try connection.prepare(
            """
            INSERT INTO labels (session, sequence, place, feature, version, intent, expiry, json)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """)
        deleteLabels = try connection.prepare(
            "DELETE FROM labels WHERE session = ?1 AND (sequence, place) < (?2, ?3)")

        insertRecording = try connection.prepare(
            "INSERT INTO recordings (session, sequence, feature, time, body) VALUES (?1, ?2, ?3, ?4, ?5)")
        countRecordings = try connection.prepare("SELECT count(*) FROM recordings WHERE session = ?1")
        trimRecordings = try connection.prepare(
            """
            DELETE FROM recordings WHERE session = ?1 AND sequence IN
                (SELECT sequence FROM recordings WHERE session = ?1 ORDER BY sequence LIMIT ?2)
            """)
    }
}
