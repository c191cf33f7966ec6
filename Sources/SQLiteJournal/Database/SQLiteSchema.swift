/// The database's own schema as a list of migrations.
///
/// A released migration never changes: another one is added.
enum SQLiteSchema {
    /// Identifies the file as a journal: "mviJ" in ASCII, https://sqlite.org/pragma.html#pragma_application_id.
    static let applicationID: Int64 = 0x6d76_694a

    /// A migration's index plus one is the `user_version` after it.
    static let migrations = [
        first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth, eleventh,
        twelfth,
    ]

    /// Cheap queries at opening that show if each tree is readable.
    static let tables = [
        "sessions", "stores", "labels", "receipts", "recordings", "set_aside", "tombstones", "garbage", "probe",
        "secrets", "credentials", "reminders", "scrub", "forgotten",
        "visits",
        "heard",
    ]

    /// The number of bits in a store's id for its place in its session; the others are the session's key.
    static let placeBits = 16
    /// Likewise in a recording's id. The setting `record-turns` is smaller than their places.
    static let recordingBits = 20

    /// Related rows share pages. A store's id begins with its session's key, in a table with row ids: without them each
    /// look-up would read all rows that it passes, including states of megabytes. Labels, receipts and epochs have
    /// short rows and are clustered by their own keys. Blobs come last, so that reads of other columns skip them.
    private static let first = """
        CREATE TABLE sessions (
            key INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again
            token BLOB NOT NULL UNIQUE,             -- SHA-256
            id TEXT NOT NULL UNIQUE,
            epoch TEXT NOT NULL,
            credential TEXT NOT NULL,
            created INTEGER NOT NULL,               -- nanoseconds since 1970, as all times
            last_seen INTEGER NOT NULL,             -- or newer: the stores' times
            sequence_floor INTEGER NOT NULL DEFAULT 0, -- of stores that are gone
            version_floor INTEGER NOT NULL DEFAULT 0,
            dropped INTEGER NOT NULL DEFAULT 0,
            flags INTEGER NOT NULL DEFAULT 0        -- 1 has labels, 2 has unheard ones
        ) STRICT;
        CREATE INDEX sessions_by_last_seen ON sessions (last_seen);

        CREATE TABLE stores (
            id INTEGER PRIMARY KEY,                 -- session << 16 | place
            feature TEXT NOT NULL,
            sequence INTEGER NOT NULL,              -- of its last turn
            time INTEGER NOT NULL,                  -- of its last append
            version INTEGER NOT NULL,
            nonce INTEGER NOT NULL,
            dropped INTEGER NOT NULL,
            flags INTEGER NOT NULL,
            replaced INTEGER NOT NULL DEFAULT 0,
            schema INTEGER NOT NULL,
            view_intent TEXT,
            state BLOB NOT NULL,
            view BLOB NOT NULL
        ) STRICT;

        CREATE TABLE labels (
            session INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            place INTEGER NOT NULL,
            feature TEXT NOT NULL,
            version INTEGER NOT NULL,
            intent TEXT,
            expiry INTEGER NOT NULL,
            written INTEGER NOT NULL DEFAULT 0,
            json BLOB NOT NULL,
            PRIMARY KEY (session, sequence, place)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE receipts (
            session INTEGER NOT NULL,
            scope TEXT NOT NULL,                    -- 'k' and the feature, or 's' and the client's epoch
            name ANY NOT NULL,                      -- the key, or the number
            place INTEGER NOT NULL,                 -- the order in which they were made
            made INTEGER NOT NULL,
            intent TEXT NOT NULL,
            version INTEGER,                        -- NULL: refused
            status INTEGER,
            body_hash BLOB NOT NULL,
            body BLOB,
            PRIMARY KEY (session, scope, name)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE epochs (
            session INTEGER NOT NULL,
            epoch TEXT NOT NULL,
            number INTEGER NOT NULL,
            PRIMARY KEY (session, epoch)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE recordings (
            id INTEGER PRIMARY KEY,
            session INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            feature TEXT NOT NULL,
            time INTEGER NOT NULL,
            body BLOB NOT NULL,
            UNIQUE (session, sequence)
        ) STRICT;

        CREATE TABLE set_aside (
            id INTEGER PRIMARY KEY,
            session INTEGER NOT NULL,
            sequence INTEGER NOT NULL,              -- of the turn that took the state's place
            feature TEXT NOT NULL,
            time INTEGER NOT NULL,
            reason TEXT NOT NULL,
            schema INTEGER NOT NULL,
            state BLOB NOT NULL,
            UNIQUE (session, sequence)
        ) STRICT;

        -- Tokens of sessions that are gone.
        CREATE TABLE tombstones (token BLOB PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        CREATE INDEX tombstones_by_end ON tombstones (until);

        -- Sessions that are gone while rows of theirs are still to be deleted.
        CREATE TABLE garbage (session INTEGER PRIMARY KEY) STRICT;

        -- Written to find out whether the disk takes it.
        CREATE TABLE probe (id INTEGER PRIMARY KEY, count INTEGER NOT NULL, ballast BLOB NOT NULL) STRICT;
        INSERT INTO probe VALUES (1, 0, x'');
        """

    /// One head for a session instead of a token for each store. Of a store's row only the record of lost labels is
    /// written, so that large journals migrate fast.
    ///
    /// The head is above all used numbers, including versions. Stores keep their versions. The turns that created them
    /// are unknown; 0 is before all turns. A session's record of labels of disposed stores applies to every store, as
    /// in the code before; without stores, to a feature that has none.
    private static let second = """
        ALTER TABLE sessions ADD COLUMN recent BLOB;    -- the heads before it, see EarlierHeads
        ALTER TABLE sessions ADD COLUMN lost TEXT NOT NULL DEFAULT '0'; -- see LostLabels.text
        UPDATE sessions SET lost = '1' || coalesce(
            (SELECT group_concat(
                ' ' || feature || '=' || max(stores.dropped, sessions.dropped) ||
                    CASE (stores.flags | sessions.flags) & 2 WHEN 2 THEN '!' ELSE '' END, '')
            FROM stores WHERE id >= key << 16 AND id < (key + 1) << 16
                AND (max(stores.dropped, sessions.dropped) > 0 OR (stores.flags | sessions.flags) & 2)),
            CASE WHEN dropped > 0 OR flags & 2
                THEN ' gone=' || dropped || CASE flags & 2 WHEN 2 THEN '!' ELSE '' END ELSE '' END)
        WHERE dropped > 0 OR flags > 0 OR key IN (SELECT id >> 16 FROM stores WHERE dropped > 0 OR flags > 0);

        -- An epoch's last number is that of its last receipt: without that the epoch is forgotten.
        DELETE FROM receipts WHERE (session, scope) IN (
            SELECT session, 's' || epoch FROM epochs WHERE NOT EXISTS (
                SELECT 1 FROM receipts WHERE receipts.session = epochs.session
                    AND receipts.scope = 's' || epochs.epoch AND receipts.name = epochs.number));
        DROP TABLE epochs;

        UPDATE sessions SET (sequence_floor, version_floor) = (
            SELECT last + (last > 0), CASE WHEN last > 0 THEN random() ELSE 0 END FROM (
                SELECT max(
                    sequence_floor, version_floor,
                    coalesce((SELECT max(max(sequence, version)) FROM stores
                        WHERE id >= key << 16 AND id < (key + 1) << 16), 0),
                    coalesce((SELECT max(place) FROM receipts WHERE session = key), 0)) AS last));
        ALTER TABLE sessions RENAME COLUMN sequence_floor TO head;
        ALTER TABLE sessions RENAME COLUMN version_floor TO nonce;
        ALTER TABLE sessions DROP COLUMN dropped;
        ALTER TABLE sessions DROP COLUMN flags;

        UPDATE stores SET dropped = 0, flags = replaced WHERE dropped <> 0 OR flags <> replaced;
        ALTER TABLE stores RENAME COLUMN sequence TO number;
        ALTER TABLE stores RENAME COLUMN dropped TO head; -- -1: the row has none; 0 in rows that are older
        ALTER TABLE stores RENAME COLUMN flags TO made;
        ALTER TABLE stores ADD COLUMN recent BLOB;

        ALTER TABLE labels RENAME COLUMN sequence TO number;
        ALTER TABLE receipts RENAME COLUMN place TO number;
        ALTER TABLE recordings RENAME COLUMN sequence TO number;
        ALTER TABLE set_aside RENAME COLUMN sequence TO number;
        """

    /// Random bytes, see `JournalSecret`. Opening the database for writing creates missing ones.
    private static let third = """
        CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
        """

    /// Access to a session, and its reminders. Expiry examines only sessions without reminders, so the session's row
    /// has a flag for them.
    private static let fourth = """
        ALTER TABLE sessions ADD COLUMN issuer TEXT;            -- of its subject
        ALTER TABLE sessions ADD COLUMN subject TEXT;           -- NULL: anonymous
        ALTER TABLE sessions ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE sessions ADD COLUMN reminded INTEGER NOT NULL DEFAULT 0; -- 1: it has rows in reminders
        CREATE INDEX sessions_by_subject ON sessions (subject, issuer) WHERE subject IS NOT NULL;
        CREATE UNIQUE INDEX sessions_shared ON sessions (subject, issuer) WHERE shared = 1;
        DROP INDEX sessions_by_last_seen;
        CREATE INDEX sessions_by_last_seen ON sessions (last_seen) WHERE reminded = 0;

        CREATE TABLE credentials (
            session INTEGER NOT NULL,
            number INTEGER NOT NULL,
            token BLOB NOT NULL UNIQUE,             -- SHA-256
            kind TEXT NOT NULL,
            made INTEGER NOT NULL,
            revoked_until INTEGER,                  -- NULL: it is good
            proof BLOB,
            principal BLOB NOT NULL,
            PRIMARY KEY (session, number)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE reminders (
            session INTEGER NOT NULL,
            feature TEXT NOT NULL,
            name TEXT NOT NULL,
            due INTEGER NOT NULL,
            number INTEGER NOT NULL,
            action BLOB NOT NULL,
            PRIMARY KEY (session, feature, name)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX reminders_by_due ON reminders (due, session);
        """

    /// A proof, with the key and the session's token hash, was enough to compute the credential of a sign-in.
    /// Overwritten first: a dropped column may remain in free pages.
    private static let fifth = """
        UPDATE credentials SET proof = zeroblob(length(proof)) WHERE proof IS NOT NULL;
        ALTER TABLE credentials DROP COLUMN proof;
        """

    /// Expiry examines each class of lifetime by its own time. The last use of a credential, which ends by itself. Zeros
    /// that overwrote free pages before `secure_delete` did. Deleted subjects, see `ForgottenSubject`.
    private static let sixth = """
        ALTER TABLE sessions ADD COLUMN life INTEGER
            AS (CASE WHEN subject IS NULL THEN 0 ELSE 1 + shared END) VIRTUAL;  -- see LifeClass
        DROP INDEX sessions_by_last_seen;
        CREATE INDEX sessions_by_life ON sessions (life, last_seen) WHERE reminded = 0;
        ALTER TABLE credentials ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;     -- or newer: made
        UPDATE credentials SET seen = coalesce((SELECT last_seen FROM sessions WHERE key = session), 0);
        CREATE TABLE scrub (id INTEGER PRIMARY KEY, zeros BLOB NOT NULL) STRICT;
        CREATE TABLE forgotten (time INTEGER NOT NULL, key BLOB NOT NULL, code BLOB NOT NULL) STRICT;
        """

    /// A recorded turn takes the place of the oldest one: see `RecordingRows`.
    private static let seventh = """
        ALTER TABLE recordings RENAME TO recordings_before;
        CREATE TABLE recordings (
            id INTEGER PRIMARY KEY,                 -- session << 20 | place
            number INTEGER NOT NULL,
            feature TEXT NOT NULL,
            time INTEGER NOT NULL,
            body BLOB NOT NULL
        ) STRICT;
        INSERT INTO recordings SELECT
            session << 20 | row_number() OVER (PARTITION BY session ORDER BY number) - 1, number, feature, time, body
            FROM recordings_before;
        DROP TABLE recordings_before;
        """

    /// A reminder that could not fire is attempted again after a pause. How long it keeps its session depends on `due`.
    private static let eighth = """
        ALTER TABLE reminders ADD COLUMN not_before INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE reminders ADD COLUMN next INTEGER AS (max(due, not_before)) VIRTUAL;
        CREATE INDEX reminders_by_next ON reminders (next, session);
        """

    /// Spaces: sessions with a name. Their lifetime is a class of its own.
    private static let ninth = """
        ALTER TABLE sessions ADD COLUMN space TEXT;             -- NULL: a session of clients
        CREATE UNIQUE INDEX sessions_by_space ON sessions (space) WHERE space IS NOT NULL;
        DROP INDEX sessions_by_life;
        ALTER TABLE sessions DROP COLUMN life;
        ALTER TABLE sessions ADD COLUMN life INTEGER
            AS (CASE WHEN space IS NOT NULL THEN 3 WHEN subject IS NULL THEN 0 ELSE 1 + shared END) VIRTUAL;
        CREATE INDEX sessions_by_life ON sessions (life, last_seen) WHERE reminded = 0;
        """

    /// The sessions that sent intents to spaces: see `Visit`.
    private static let tenth = """
        CREATE TABLE visits (
            session INTEGER NOT NULL,               -- the space
            visitor TEXT NOT NULL,                  -- the id of a session
            last_use INTEGER NOT NULL,
            issuer TEXT,
            subject TEXT,                           -- NULL: the visitor was always anonymous
            forgotten INTEGER NOT NULL DEFAULT 0,   -- 1: the subject was deleted
            PRIMARY KEY (session, visitor)
        ) STRICT;
        CREATE INDEX visits_by_subject ON visits (subject, issuer) WHERE subject IS NOT NULL;
        CREATE INDEX visits_forgotten ON visits (forgotten) WHERE forgotten = 1;
        CREATE INDEX visits_by_visitor ON visits (visitor) WHERE subject IS NULL;
        CREATE INDEX visits_by_use ON visits (last_use) WHERE subject IS NULL;
        """

    /// The values that clients have set, see `ClientSettings`: that with the session's own token, and each credential's.
    private static let eleventh = """
        ALTER TABLE sessions ADD COLUMN client TEXT;
        ALTER TABLE credentials ADD COLUMN client TEXT;
        """

    /// The senders of messages that a session received: see `StoredSender`.
    private static let twelfth = """
        CREATE TABLE heard (
            session INTEGER NOT NULL,
            sender BLOB NOT NULL,                   -- a hash that names its log
            number INTEGER NOT NULL,                -- of its last message
            time INTEGER NOT NULL,                  -- of that message's append
            PRIMARY KEY (session, sender)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX heard_by_time ON heard (time);
        """
}
