import PostgreSQL
import SessionJournal

/// The statements' texts for one schema. None has a name on the server.
///
/// Statements of an append run in groups: each receives arrays with one element for each row, and writes only rows of
/// sessions whose heads are the new ones of the group.
struct Statements: Sendable {
    /// The schema's name as an identifier, and for names inside texts.
    let schema: String
    let plainSchema: String

    init(schema: String) {
        plainSchema = schema
        self.schema =
            "\"" + schema.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
        let at = self.schema
        place = """
            ((SELECT system_identifier::text FROM pg_control_system())
                || '/' || substring(pg_walfile_name(pg_current_wal_lsn()) FROM 1 FOR 8)
                || '/' || '\(Self.quoted(at + ".heads"))'::regclass::oid::text)
            """
        let isSamePlace = "1 / (SELECT count(*) FROM \(at).meta WHERE place = \(place))::int"
        guardText = """
            SELECT \(at).guard($1, $2, $3, $4, $5, $6, $7), (SELECT past FROM \(at).meta), \(Self.position)
            """
        let parameters = (1...39).map { "$\($0)" }
        appendText = "SELECT * FROM \(at).append(\(parameters.joined(separator: ", ")))"
        let changedCallers = { (first: Int) in
            """
            FROM unnest($\(first)::bigint[], $\(first + 1)::bigint[], $\(first + 2)::bytea[], $\(first + 3)::bigint[],
                    $\(first + 4)::bigint[]) AS c (session, place, token, caller, access)
                LEFT JOIN \(at).tokens AS t ON t.token = c.token LEFT JOIN \(at).heads AS h ON h.key = t.session
                WHERE CASE WHEN t.token IS NULL THEN c.caller IS NOT NULL
                    ELSE t.session IS NULL OR t.session <> c.caller OR h.access_changes IS DISTINCT FROM c.access END
            """
        }
        findChangedCallers = "SELECT c.session, c.place \(changedCallers(1))"
        let heardBefore = { (first: Int) in
            """
            FROM unnest($\(first)::bigint[], $\(first + 1)::bigint[], $\(first + 2)::bytea[], $\(first + 3)::bigint[])
                    AS c (session, place, sender, number)
                JOIN \(at).heard AS k ON k.session = c.session AND k.sender = c.sender WHERE k.number >= c.number
            """
        }
        findHeard = "SELECT c.session, c.place \(heardBefore(1))"
        let append = { (refused: [String]) in
            let isRefused = refused.map { "EXISTS (SELECT \($0) AND c.session = i.session)" }
            // No log has the head -1.
            let expected = """
                ARRAY(SELECT CASE WHEN \(isRefused.joined(separator: " OR ")) THEN -1 ELSE i.number END
                    FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS i (session, number, row) ORDER BY i.row)
                """
            return "SELECT * FROM \(at).append($1, \(expected), \(parameters[2...].joined(separator: ", ")))"
        }
        appendOfCallersText = append([changedCallers(40)])
        appendOfHeardText = append([heardBefore(40)])
        appendOfCallersAndHeardText = append([changedCallers(40), heardBefore(45)])
        readGuard = """
            SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true),
                set_config('idle_in_transaction_session_timeout', $3, true),
                set_config('client_min_messages', 'warning', true), \(Self.transactionLimit("$4")), \(Self.planSettings), \(isSamePlace)
            """
        lockHeads = """
            SELECT key, number, nonce, past = (SELECT past FROM \(at).meta), owner, fence_number, fence_nonce,
                access_changes
            FROM \(at).heads WHERE key = ANY ($1) ORDER BY key FOR NO KEY UPDATE
            """
        lockFreeHeads = "SELECT key FROM \(at).heads WHERE key = ANY ($1) ORDER BY key FOR NO KEY UPDATE SKIP LOCKED"
        presentHeads = "SELECT key FROM \(at).heads WHERE key = ANY ($1)"
        // The sessions that were appended to: those with the group's heads, written by this transaction. The head alone
        // is not enough: the same append may have been committed by a transaction whose response was lost.
        let committed = """
            JOIN \(at).heads AS h ON h.key = i.session AND h.number = i.head AND h.nonce = i.nonce
                AND h.xmin = pg_current_xact_id()::xid AND \(Self.fewRows)
            """
        let foundReceipts = """
            FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[])
                AS i (row, session, hash, scope, name)
            JOIN \(at).receipts AS r
                ON r.session = i.session AND r.hash = i.hash AND r.scope = i.scope AND r.name = i.name
            """
        findReceipts = "SELECT i.row, \(Rows.receipts.table.selection("r")) \(foundReceipts)"
        let storeRows = """
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
                    $8::bytea[], $9::bytea[], $10::bytea[]
            """
        let storeNames = "session, head, nonce, feature, number, version, schema, view_intent, state, view"
        makeStores = """
            INSERT INTO \(at).stores AS s
                (session, feature, number, version, schema, view_intent, state, view, made, replaced, seen)
            SELECT i.session, i.feature, i.number, i.version, i.schema, i.view_intent, i.state, i.view, i.made, i.replaced,
                h.seen
            \(storeRows), $11::bigint[], $12::bigint[]) AS i (\(storeNames), made, replaced) \(committed)
            ON CONFLICT (session, feature) DO UPDATE SET number = excluded.number, version = excluded.version,
                schema = excluded.schema, view_intent = excluded.view_intent, state = excluded.state,
                view = excluded.view, made = excluded.made, replaced = excluded.replaced, seen = excluded.seen
            """
        disposeStores = """
            DELETE FROM \(at).stores AS s
            USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) AS i (session, head, nonce, feature)
            \(committed) WHERE s.session = i.session AND s.feature = i.feature
            """
        addLabels = Rows.labels.table.insertion(into: at, committed: committed)
        addReceipts = Rows.receipts.table.insertion(into: at, committed: committed)
        addVisits = Rows.visits.table.insertion(into: at, committed: committed)
        addSenders = Rows.senders.table.insertion(into: at, committed: committed)
        addReminders = Rows.reminders.table.insertion(into: at, committed: committed)
        forgetLabels = """
            DELETE FROM \(at).labels AS l
            USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                AS i (session, head, nonce, number, place)
            \(committed) WHERE l.session = i.session AND l.number = i.number AND l.place = i.place
            """
        forgetReceipts = """
            DELETE FROM \(at).receipts AS r
            USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[])
                AS i (session, head, nonce, hash, scope, name)
            \(committed)
            WHERE r.session = i.session AND r.hash = i.hash AND r.scope = i.scope AND r.name = i.name
            """
        forgetReminders = """
            DELETE FROM \(at).reminders AS r
            USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[])
                AS i (session, head, nonce, feature, name)
            \(committed) WHERE r.session = i.session AND r.feature = i.feature AND r.name = i.name
            """
        noteReminded = """
            UPDATE \(at).sessions AS s SET reminded = now.reminded
            FROM (SELECT c.key, EXISTS (SELECT FROM \(at).reminders AS r WHERE r.session = c.key) AS reminded
                FROM unnest($1::bigint[]) AS c (key)) AS now
            WHERE s.key = now.key AND s.reminded <> now.reminded
            """
    }

    /// Plans writing transactions row by row through the keys' indexes, whatever the tables' statistics are. New tables
    /// have none, and one bad plan takes a hundred times as long.
    private static let planSettings = ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"]
        .map { "set_config('\($0)', 'off', true)" }.joined(separator: ", ")
    let plans = "SELECT \(planSettings)"
    /// True for each row of an array. The planner expects few such rows, so it begins with them, in their order.
    private static let fewRows = "i.session * 0 = 0"
    /// The present era by the database's clock.
    static let era = "floor(extract(epoch FROM now()) / \(PostgresSchema.eraSeconds))::int"

    // MARK: Writers

    /// Time limits in a transaction, in milliseconds: for a statement, for a lock, and without a statement.
    let limits = """
        SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true),
            set_config('idle_in_transaction_session_timeout', $3, true),
            set_config('client_min_messages', 'warning', true), \(transactionLimit("$4"))
        """

    /// Limits the whole transaction if the database can (since version 17). Half a pipeline, after which nothing
    /// follows, is not ended by the other limits.
    private static func transactionLimit(_ time: String) -> String {
        """
        CASE WHEN current_setting('server_version_num')::int >= 170000
            THEN set_config('transaction_timeout', \(time), true) ELSE \(time)::text END
        """
    }

    /// Makes the database notice a lost client as fast as the client notices a lost database. Behind a pooler these are
    /// the pooler's connections.
    let keepalives = """
        SELECT set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '2', false),
            set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '10000', false)
        """
    /// Ends the transaction of a writer's last connection if it still runs: it may be half a pipeline whose rest never
    /// comes. It is identified by its lock on the writer's row, not by its connection, which may be a pooler's.
    var endPredecessor: String {
        """
        SELECT count(pg_terminate_backend(a.pid)) FROM \(schema).writers AS w JOIN pg_stat_activity AS a
            ON a.backend_xid = w.xmax WHERE w.id = $1 AND a.pid <> pg_backend_pid()
        """
    }
    /// Increments a writer's generation.
    var settle: String {
        """
        INSERT INTO \(schema).writers AS w (id, generation) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, seen = now()
            WHERE w.generation < excluded.generation
        RETURNING id
        """
    }
    /// Sends a notification to a channel.
    let notify = "SELECT pg_notify($1, $2)"
    var noteWriter: String { "UPDATE \(schema).writers SET seen = now() WHERE id = $1" }
    var leave: String { "DELETE FROM \(schema).writers WHERE id = $1" }
    /// Commits a row in new pages and removes it. A small change may fit into the pages of a full disk.
    func takeRoom(_ bytes: [UInt8]) -> [PostgresStatement] {
        [
            PostgresStatement("INSERT INTO \(schema).former_keys (key, until) VALUES ($1, 0)", [.bytea(bytes)]),
            PostgresStatement("DELETE FROM \(schema).former_keys WHERE octet_length(key) > 65536"),
        ]
    }
    var storeNames: String { "SELECT feature FROM \(schema).stores WHERE session = $1" }

    /// A text inside a statement's text.
    func quotedText(_ text: String) -> String { Self.quoted(text) }

    private static func quoted(_ text: String) -> String {
        text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
    }

    // MARK: Appends

    /// The identity of the database: the cluster, its timeline, and the table, which a restore replaces.
    let place: String
    /// The first statement of each writing transaction. Fails if the connection no longer belongs to its writer, and
    /// blocks a newer one until the transaction ends. Also fails if the database is not the noted one, which can change
    /// behind a pooler without a new connection. Its row has the past and the log's position before the
    /// transaction's commit.
    let guardText: String
    /// The end of the write-ahead log, in bytes.
    static let position = "(pg_current_wal_insert_lsn() - '0/0')::bigint"
    /// The first statement of each reading transaction, with the same check of the database.
    let readGuard: String
    let lockHeads: String
    /// Locks the heads that no other transaction has locked.
    let lockFreeHeads: String
    let presentHeads: String
    let findReceipts: String
    /// Replaces heads and changes stores: see `PostgresSchema.sixth`.
    let appendText: String
    /// The same for batches with expected callers: one with a changed caller expects a head that no log has.
    let appendOfCallersText: String
    let findChangedCallers: String
    /// Likewise for batches with messages: one with a message from before.
    let appendOfHeardText: String
    let appendOfCallersAndHeardText: String
    let findHeard: String
    let makeStores: String
    let disposeStores: String
    let addLabels: String
    let forgetLabels: String
    let forgetReceipts: String
    let addReceipts: String
    let forgetReminders: String
    let addReminders: String
    let addVisits: String
    let addSenders: String
    let noteReminded: String
}
