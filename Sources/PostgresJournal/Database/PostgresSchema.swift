/// The database's own schema as a list of migrations.
///
/// The result of a released migration never changes: another one is added. `@` stands for the schema's name as an
/// identifier, `#` for the same name as a text.
enum PostgresSchema {
    /// A migration from one version to the next.
    struct Migration: Sendable {
        /// Run in one transaction, with short waits for locks, since others append meanwhile.
        let sql: String
        /// Indexes that are created after `sql`, concurrently with writes and without a time limit.
        var indexes: [Index] = []
        /// True if programs that do not know the migration can use the schema, because it only adds to it.
        var isAdditive = false
    }

    struct Index: Sendable {
        let name: String
        /// The text after `CREATE INDEX CONCURRENTLY name`.
        let definition: String
        var isUnique = false

        var creation: String { isUnique ? "CREATE UNIQUE INDEX" : "CREATE INDEX" }
    }

    /// Their number is the `version` of a fully migrated database.
    static let migrations = [
        Migration(sql: first), second, Migration(sql: third), Migration(sql: fourth), fifth, sixth, seventh, eighth,
        ninth, tenth, eleventh, twelfth, thirteenth, fourteenth,
        fifteenth, sixteenth, seventeenth, eighteenth,
        nineteenth,
    ]

    /// The version that a program must know to use a journal with spaces.
    static let spacesVersion = 17

    /// Returns the number of migrations that a program must know to use a schema with all of these.
    static func minimum(of migrations: [Migration]) -> Int {
        (migrations.lastIndex { !$0.isAdditive } ?? -1) + 1
    }

    /// The length of an era in seconds. Labels and receipts of each era have partitions of their own.
    static let eraSeconds = 86_400

    /// Texts of clients and authors are `bytea`, since a `text` cannot contain a NUL and may not be compared byte for
    /// byte. Unsigned 64-bit numbers are stored bit for bit. Times are nanoseconds since 1970.
    ///
    /// Columns that turns change have no index, and their tables leave room on their pages: the new row is put beside
    /// the old one. `sessions` has columns that seldom change, `heads` those that each append changes.
    private static let first = """
        CREATE TABLE @.meta (
            one boolean PRIMARY KEY DEFAULT true CHECK (one),
            version integer NOT NULL,
            place text NOT NULL,                -- which database this is, see Past
            past integer NOT NULL DEFAULT 0,    -- how often it was another one
            key bytea NOT NULL,                 -- see JournalSecret
            generation bytea NOT NULL
        );

        -- One row for each connection that writes, see WriteLane.
        CREATE TABLE @.writers (
            id bigint PRIMARY KEY,
            generation bigint NOT NULL,
            seen timestamptz NOT NULL DEFAULT now()
        ) WITH (fillfactor = 50);

        CREATE TABLE @.sessions (
            key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,    -- never used again
            token bytea NOT NULL,               -- SHA-256
            id bytea NOT NULL UNIQUE,
            credential text NOT NULL,
            created bigint NOT NULL,
            noted bigint NOT NULL,              -- heads.seen or earlier
            issuer bytea,                       -- of its subject
            subject bytea,                      -- NULL: anonymous
            shared boolean NOT NULL,
            reminded boolean NOT NULL DEFAULT false -- whether it has rows in reminders
        );
        CREATE INDEX sessions_by_noted ON @.sessions (noted) WHERE NOT reminded;
        -- By hashes: an index has no room for long texts.
        CREATE INDEX sessions_by_subject ON @.sessions (sha256(subject), key) WHERE subject IS NOT NULL;
        CREATE UNIQUE INDEX sessions_shared ON @.sessions (sha256(subject), sha256(issuer))
            WHERE shared AND subject IS NOT NULL;

        -- What appends lock, always in the order of the keys.
        CREATE TABLE @.heads (
            key bigint PRIMARY KEY,
            number bigint NOT NULL DEFAULT 0,
            nonce bigint NOT NULL DEFAULT 0,
            recent bytea NOT NULL DEFAULT '',   -- at most 15 heads before it, the newest first, 16 bytes each
            seen bigint NOT NULL,
            epoch bytea NOT NULL,
            lost bytea NOT NULL DEFAULT '0',    -- see LostLabels.text
            first_number bigint NOT NULL DEFAULT 0, -- labels before this one are not kept any more
            first_place bigint NOT NULL DEFAULT 0,
            label_era integer,                  -- of its first label
            past integer NOT NULL               -- meta.past when the epoch was given
        ) WITH (fillfactor = 60);

        -- Each token names one session, or one that has ended.
        CREATE TABLE @.tokens (
            token bytea PRIMARY KEY,
            session bigint,
            until bigint,                       -- of one that has ended
            CHECK ((session IS NULL) <> (until IS NULL))
        );
        CREATE INDEX tokens_by_session ON @.tokens (session) WHERE session IS NOT NULL;
        CREATE INDEX tokens_by_end ON @.tokens (until) WHERE until IS NOT NULL;

        CREATE TABLE @.credentials (
            session bigint NOT NULL,
            number bigint NOT NULL,
            token bytea NOT NULL,
            kind text NOT NULL,
            made bigint NOT NULL,
            revoked_until bigint,               -- NULL: it is good
            proof bytea,
            principal bytea NOT NULL,
            PRIMARY KEY (session, number)
        );

        CREATE TABLE @.stores (
            session bigint NOT NULL,
            feature text COLLATE "C" NOT NULL,
            number bigint NOT NULL,
            version bigint NOT NULL,
            made bigint NOT NULL,
            replaced bigint NOT NULL,
            schema bigint NOT NULL,
            view_intent bytea,
            state bytea NOT NULL,
            view bytea NOT NULL,
            PRIMARY KEY (session, feature)
        ) WITH (fillfactor = 60);

        CREATE TABLE @.reminders (
            session bigint NOT NULL,
            feature text COLLATE "C" NOT NULL,
            name bytea NOT NULL,
            due bigint NOT NULL,
            number bigint NOT NULL,
            action bytea NOT NULL
        );
        CREATE INDEX reminders_by_session ON @.reminders (session);
        CREATE INDEX reminders_by_due ON @.reminders (due, session);

        CREATE TABLE @.recordings (
            session bigint NOT NULL,
            number bigint NOT NULL,
            feature text COLLATE "C" NOT NULL,
            time bigint NOT NULL,
            body bytea NOT NULL,
            PRIMARY KEY (session, number)
        );

        CREATE TABLE @.set_aside (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            session bigint NOT NULL,
            feature text COLLATE "C" NOT NULL,
            time bigint NOT NULL,
            reason bytea NOT NULL,
            schema bigint NOT NULL,
            state bytea NOT NULL
        );
        CREATE INDEX set_aside_by_session ON @.set_aside (session);

        -- Days since 1970 by the database's clock that have partitions.
        CREATE TABLE @.eras (era integer PRIMARY KEY);

        CREATE TABLE @.labels (
            era integer NOT NULL,
            session bigint NOT NULL,
            number bigint NOT NULL,
            place bigint NOT NULL,
            feature text COLLATE "C" NOT NULL,
            version bigint NOT NULL,
            intent bytea,
            expiry bigint NOT NULL,
            written boolean NOT NULL,
            json bytea NOT NULL
        ) PARTITION BY LIST (era);
        CREATE INDEX labels_by_session ON @.labels (session, number, place);

        CREATE TABLE @.receipts (
            era integer NOT NULL,
            session bigint NOT NULL,
            hash bigint NOT NULL,               -- of scope and name
            scope bytea NOT NULL,               -- 'k' and the feature, or 's' and the client's epoch
            name bytea NOT NULL,                -- the key, or the number
            number bigint NOT NULL,
            made bigint NOT NULL,
            intent bytea NOT NULL,
            version bigint,                     -- NULL: refused
            status bigint,
            body_hash bytea NOT NULL,
            body bytea
        ) PARTITION BY LIST (era);
        CREATE INDEX receipts_by_session ON @.receipts (session, hash);
        """

    /// Nodes that share the database: owners of sessions, members, and claims.
    ///
    /// Owners change seldom, so they may have an index; it contains only sessions with an owner.
    private static let second = Migration(
        sql: """
            ALTER TABLE @.heads
                ADD COLUMN owner bigint,            -- a node; NULL: any node may append
                ADD COLUMN fence_number bigint,     -- see SessionOwner
                ADD COLUMN fence_nonce bigint,
                ADD COLUMN working bytea,           -- stores whose work runs, see WorkingStores
                ADD COLUMN access_changes bigint NOT NULL DEFAULT 0;

            CREATE TABLE @.nodes (
                id bigint PRIMARY KEY,
                address bytea NOT NULL,
                draining boolean NOT NULL,
                renewals bigint NOT NULL,
                seen timestamptz NOT NULL DEFAULT now()     -- for people to look at
            ) WITH (fillfactor = 50);

            -- Open streams; those of nodes that are gone do not count.
            CREATE TABLE @.streams (
                session bigint NOT NULL,
                node bigint NOT NULL,
                count integer NOT NULL CHECK (count > 0),
                PRIMARY KEY (session, node)
            ) WITH (fillfactor = 80);
            CREATE INDEX streams_by_node ON @.streams (node);

            -- Until when the node that fires a reminder is waited for.
            ALTER TABLE @.reminders ADD COLUMN claimed_until timestamptz;
            ALTER TABLE @.reminders SET (fillfactor = 80);
            """,
        indexes: [Index(name: "heads_by_owner", definition: "ON @.heads (owner) WHERE owner IS NOT NULL")])

    /// A proof, with the key and the session's token hash, was enough to compute the credential of a sign-in. The
    /// column stays for nodes of older builds.
    private static let third = "UPDATE @.credentials SET proof = '' WHERE proof <> '';"

    /// Replaced keys, and the time from which the present one proves tokens: see `JournalSecret`.
    private static let fourth = """
        ALTER TABLE @.meta ADD COLUMN key_since bigint NOT NULL DEFAULT 0;
        CREATE TABLE @.former_keys (key bytea NOT NULL, until bigint NOT NULL);
        """

    /// Functions that create and drop partitions for nodes whose role does not own the tables. And the lowest version
    /// of a program that may use the schema.
    private static let fifth = Migration(
        sql: """
            ALTER TABLE @.meta ADD COLUMN minimum integer NOT NULL DEFAULT 0;

            ALTER TABLE @.eras
                ADD COLUMN labels_until bigint,     -- the last expiry of its labels; NULL: not known yet
                ADD COLUMN has_receipts boolean NOT NULL DEFAULT true;

            -- Partitions of the present day and the next two. Attached afterwards, which keeps nobody from writing meanwhile.
            CREATE FUNCTION @.make_eras() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
                SET search_path = pg_catalog, pg_temp AS $$
            DECLARE
                present integer := floor(extract(epoch FROM now()) / 86400);
                new_era integer;
                parent text;
            BEGIN
                PERFORM pg_advisory_xact_lock(hashtextextended('mvi eras ' || #, 0));
                FOR new_era IN SELECT e FROM generate_series(present, present + 2) AS e
                    WHERE e NOT IN (SELECT era FROM @.eras)
                LOOP
                    FOREACH parent IN ARRAY ARRAY['labels', 'receipts'] LOOP
                        EXECUTE format('CREATE TABLE %I.%I (LIKE %I.%I INCLUDING ALL) WITH (fillfactor = 90)',
                            #, parent || '_' || new_era, #, parent);
                        EXECUTE format('ALTER TABLE %I.%I ATTACH PARTITION %I.%I FOR VALUES IN (%s)',
                            #, parent, #, parent || '_' || new_era, new_era);
                    END LOOP;
                    INSERT INTO @.eras (era) VALUES (new_era);
                END LOOP;
            END $$;

            -- Drops a past day's partition of a table. The caller bounds how long others wait for that.
            CREATE FUNCTION @.drop_era(parent text, old integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
                SET search_path = pg_catalog, pg_temp AS $$
            BEGIN
                IF parent NOT IN ('labels', 'receipts') OR old >= floor(extract(epoch FROM now()) / 86400) THEN
                    RAISE EXCEPTION '% has no past era %', parent, old;
                END IF;
                EXECUTE format('DROP TABLE IF EXISTS %I.%I', #, parent || '_' || old);
                IF parent = 'labels' THEN
                    DELETE FROM @.eras WHERE era = old;
                ELSE
                    UPDATE @.eras SET has_receipts = false WHERE era = old;
                END IF;
            END $$;
            """, isAdditive: true)

    /// Expiry examines each class of lifetime by its own time. The last use of credentials and of stores, which end by
    /// themselves.
    private static let seventh = Migration(
        sql: """
            ALTER TABLE @.credentials ADD COLUMN seen bigint NOT NULL DEFAULT 0;    -- or newer: made
            UPDATE @.credentials AS c SET seen = h.seen FROM @.heads AS h WHERE h.key = c.session;
            ALTER TABLE @.stores ADD COLUMN seen bigint NOT NULL DEFAULT 0;         -- or newer: heads.seen
            DROP INDEX @.sessions_by_noted;
            """,
        indexes: [
            Index(
                name: "sessions_by_life",
                definition: """
                    ON @.sessions ((CASE WHEN subject IS NULL THEN 0 WHEN shared THEN 2 ELSE 1 END), noted)
                    WHERE NOT reminded
                    """)
        ],
        isAdditive: true)

    /// Deleted subjects, see `ForgottenSubject`, and those whose data is being deleted.
    private static let eighth = Migration(
        sql: """
            CREATE TABLE @.forgotten (key bytea PRIMARY KEY, time bigint NOT NULL, code bytea NOT NULL);
            -- The row of a server that crashed meanwhile is void after some time.
            CREATE TABLE @.forgetting (
                subject bytea PRIMARY KEY,      -- the SHA-256 of issuer and id
                until timestamptz NOT NULL
            );
            """, isAdditive: true)

    /// A reminder that could not fire is attempted again after a pause.
    private static let tenth = Migration(
        sql: "ALTER TABLE @.reminders ADD COLUMN not_before bigint NOT NULL DEFAULT 0;",
        indexes: [Index(name: "reminders_by_next", definition: "ON @.reminders (\(Statements.next), session)")],
        isAdditive: true)

    /// The sessions that are reclaimed when the journal is full, and those whose stores are searched.
    private static let eleventh = Migration(
        sql: "",
        indexes: [
            Index(
                name: "sessions_by_brief_use",
                definition: """
                    ON @.sessions (noted, key)
                    WHERE subject IS NULL AND NOT reminded AND noted::numeric - created <= 300000000000
                    """),
            Index(name: "sessions_of_subjects", definition: "ON @.sessions (key) WHERE subject IS NOT NULL"),
        ], isAdditive: true)

    /// Removed sessions of which labels or receipts are left.
    private static let twelfth = Migration(
        sql: "CREATE TABLE @.removed (session bigint PRIMARY KEY);", isAdditive: true)

    /// The time since when each look finds an era old. Only then, and after an hour, its partitions are dropped.
    private static let thirteenth = Migration(
        sql: """
            ALTER TABLE @.eras ADD COLUMN old_since timestamptz;
            ALTER FUNCTION @.drop_era(text, integer) RENAME TO drop_old_era;
            CREATE FUNCTION @.drop_era(parent text, old integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
                SET search_path = pg_catalog, pg_temp AS $$
            BEGIN
                -- Nodes of older builds call it before an era is surely old.
                IF EXISTS (SELECT FROM @.eras WHERE era = old AND old_since <= now() - interval '1 hour') THEN
                    PERFORM @.drop_old_era(parent, old);
                END IF;
            END $$;
            """, isAdditive: true)

    /// A failover counts as lossless only if each node has that setting.
    private static let fifteenth = Migration(
        sql: "ALTER TABLE @.nodes ADD COLUMN lossless boolean NOT NULL DEFAULT false;", isAdditive: true)

    /// Spaces: sessions with a name. Their lifetime is a class of its own, and they are not reclaimed. The indexes
    /// `sessions_by_life` and `sessions_by_brief_use` stay for nodes of older builds, which go on until the first space is
    /// made: see `Statements.create`.
    private static let sixteenth = Migration(
        sql: #"ALTER TABLE @.sessions ADD COLUMN space text COLLATE "C";"#,
        indexes: [
            Index(
                name: "sessions_by_space", definition: "ON @.sessions (space) WHERE space IS NOT NULL", isUnique: true),
            Index(
                name: "sessions_by_class", definition: "ON @.sessions (\(Statements.life), noted) WHERE NOT reminded"),
            Index(
                name: "sessions_used_briefly",
                definition: "ON @.sessions (noted, key) WHERE \(Statements.isBrieflyUsed)"),
        ], isAdditive: true)

    /// The sessions that sent intents to spaces: see `Visit`. Programs that do not note them are excluded from spaces.
    private static let seventeenth = Migration(
        sql: """
            CREATE TABLE @.visits (
                session bigint NOT NULL,            -- the space
                visitor bytea NOT NULL,             -- the id of a session
                seen bigint NOT NULL,
                issuer bytea,
                subject bytea,                      -- NULL: the visitor was always anonymous
                forgotten boolean NOT NULL,         -- whether the subject was deleted
                PRIMARY KEY (session, visitor)
            );
            CREATE INDEX visits_by_subject ON @.visits (sha256(subject)) WHERE subject IS NOT NULL;
            CREATE INDEX visits_forgotten ON @.visits (session) WHERE forgotten;
            CREATE INDEX visits_by_visitor ON @.visits (visitor) WHERE subject IS NULL;
            CREATE INDEX visits_by_use ON @.visits (seen) WHERE subject IS NULL;
            UPDATE @.meta SET minimum = 17
                WHERE minimum < 17 AND EXISTS (SELECT FROM @.sessions WHERE space IS NOT NULL);
            """, isAdditive: true)
}
