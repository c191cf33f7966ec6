extension PostgresSchema {
    /// Functions for the statements of each append: the server keeps their plans, also behind a pooler, where a
    /// prepared statement would belong to another server process.
    ///
    /// An array may be shorter than the first of its table: the missing elements are NULL.
    static let sixth = Migration(sql: beginning() + append(), isAdditive: true)

    /// An append notes the use of the stores that it changes.
    static let ninth = Migration(
        sql: append(seen: ", seen = (SELECT h.seen FROM @.heads AS h WHERE h.key = s.session)"), isAdditive: true)

    /// The guard of programs whose writes end as soon as the schema needs a newer one, also on connections from before.
    /// The other one stays for nodes of older builds.
    static let fourteenth = Migration(
        sql: beginning(parameter: ", integer", condition: " AND minimum <= $7"), isAdditive: true)

    private static func beginning(parameter: String = "", condition: String = "") -> String {
        """
        -- Begins a writing transaction: its writer and generation; limits of a statement, a lock, silence and all, in
        -- milliseconds; and maybe the program's migrations. Fails if another connection writes in place of this one, and in another database.
        CREATE FUNCTION @.guard(bigint, bigint, text, text, text, text\(parameter)) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM set_config('statement_timeout', $3, true), set_config('lock_timeout', $4, true),
                set_config('idle_in_transaction_session_timeout', $5, true),
                set_config('client_min_messages', 'warning', true),
                CASE WHEN current_setting('server_version_num')::int >= 170000
                    THEN set_config('transaction_timeout', $6, true) END,
                -- Row by row through the keys' indexes, whatever the tables' statistics are.
                set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
                set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true),
                1 / (SELECT count(*) FROM (SELECT FROM @.writers WHERE id = $1 AND generation = $2 FOR SHARE) AS w)::int,
                1 / (SELECT count(*) FROM @.meta WHERE place = (SELECT system_identifier::text FROM pg_control_system())
                    || '/' || substring(pg_walfile_name(pg_current_wal_lsn()) FROM 1 FOR 8)
                    || '/' || to_regclass(format('%I.heads', #))::oid\(condition))::int;
        END $$;

        """
    }

    /// - Parameter seen: what else it sets in the rows of changed stores.
    private static func append(seen: String = "") -> String {
        """
        -- Appends to different sessions, in the order of their keys. Returns the heads of the others: NULL for a session
        -- that is gone. Fails with MVI01 if a changed store is missing.
        CREATE OR REPLACE FUNCTION @.append(
            -- 1: session, expected head, head, time
            bigint[], bigint[], bigint[], bigint[], bigint[], bigint[],
            -- 7: epoch, lost labels, first label, whether it has labels, number of new stores, access
            bytea[], bytea[], bigint[], bigint[], boolean[], bigint[], bigint[],
            -- 14: receipts that must not exist: session, hash, scope, name
            bigint[], bigint[], bytea[], bytea[],
            -- 18: stores that must exist
            bigint[], text[],
            -- 20: expected owner and fence, whether it changes, the next owner, fence and working stores
            bigint[], bigint[], bigint[], boolean[], bigint[], bigint[], bigint[], bytea[],
            -- 28: states to set aside: session, feature, time, reason
            bigint[], text[], bigint[], bytea[],
            -- 32: changed stores: session, feature, number, version, schema, intent, state, view
            bigint[], text[], bigint[], bigint[], bigint[], bytea[], bytea[], bytea[]
        ) RETURNS TABLE (head_key bigint, head_number bigint, head_nonce bigint, is_current boolean, head_owner bigint,
            owner_number bigint, owner_nonce bigint, access bigint)
        LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
        DECLARE
            barred bigint[] := '{}';
            done bigint[];
            is_all boolean;
            changed bigint;
        BEGIN
            IF cardinality($14) > 0 THEN
                barred := ARRAY(SELECT c.session FROM unnest($14, $15, $16, $17) AS c (session, hash, scope, name)
                    JOIN @.receipts AS r
                        ON r.session = c.session AND r.hash = c.hash AND r.scope = c.scope AND r.name = c.name);
            END IF;
            IF cardinality($18) > 0 THEN
                barred := barred || ARRAY(SELECT c.session FROM unnest($18, $19) AS c (session, feature)
                    WHERE NOT EXISTS (
                        SELECT FROM @.stores AS s WHERE s.session = c.session AND s.feature = c.feature));
            END IF;
            IF 0 < ANY ($12) THEN
                barred := barred || ARRAY(SELECT c.session FROM unnest($1, $12) AS c (session, added)
                    WHERE c.added > 0 AND c.added
                        + (SELECT count(*) FROM @.stores AS s WHERE s.session = c.session) > 65536);
            END IF;

            -- The planner expects few rows of the product, so it begins with the arrays, in their order.
            WITH appended AS (
                UPDATE @.heads AS h SET number = i.number, nonce = i.nonce,
                    recent = substring(int8send(h.number) || int8send(h.nonce) || h.recent FROM 1 FOR 240),
                    seen = greatest(h.seen, i.time), epoch = coalesce(i.epoch, h.epoch), lost = coalesce(i.lost, h.lost),
                    first_number = CASE WHEN (i.first_number, i.first_place) > (h.first_number, h.first_place)
                        THEN i.first_number ELSE h.first_number END,
                    first_place = CASE WHEN (i.first_number, i.first_place) > (h.first_number, h.first_place)
                        THEN i.first_place ELSE h.first_place END,
                    label_era = coalesce(h.label_era,
                        CASE WHEN i.labelled THEN floor(extract(epoch FROM now()) / 86400)::int END),
                    owner = CASE WHEN i.moves THEN i.owner ELSE h.owner END,
                    fence_number = CASE WHEN i.moves THEN i.fence ELSE h.fence_number END,
                    fence_nonce = CASE WHEN i.moves THEN i.fence_nonce ELSE h.fence_nonce END,
                    working = CASE WHEN i.moves THEN i.working ELSE h.working END
                FROM (SELECT unnest($1) AS session, unnest($2) AS expected, unnest($3) AS expected_nonce,
                    unnest($4) AS number, unnest($5) AS nonce, unnest($6) AS time, unnest($7) AS epoch,
                    unnest($8) AS lost, unnest($9) AS first_number, unnest($10) AS first_place,
                    unnest($11) AS labelled, unnest($13) AS access, unnest($20) AS expected_owner,
                    unnest($21) AS expected_fence, unnest($22) AS expected_fence_nonce, unnest($23) AS moves,
                    unnest($24) AS owner, unnest($25) AS fence, unnest($26) AS fence_nonce, unnest($27) AS working) AS i
                WHERE h.key = i.session AND i.session * 0 = 0 AND i.session <> ALL (barred)
                    AND h.number = i.expected AND h.nonce = i.expected_nonce
                    AND coalesce(i.access, h.access_changes) = h.access_changes
                    AND h.owner IS NOT DISTINCT FROM i.expected_owner
                    AND h.fence_number IS NOT DISTINCT FROM i.expected_fence
                    AND h.fence_nonce IS NOT DISTINCT FROM i.expected_fence_nonce
                    AND h.past = (SELECT past FROM @.meta WHERE one)
                RETURNING h.key)
            SELECT coalesce(array_agg(key), '{}') INTO done FROM appended;
            is_all := cardinality(done) = cardinality($1);

            IF cardinality($28) > 0 THEN
                INSERT INTO @.set_aside (session, feature, time, reason, schema, state)
                SELECT s.session, s.feature, i.time, i.reason, s.schema, s.state
                FROM unnest($28, $29, $30, $31) AS i (session, feature, time, reason)
                JOIN @.stores AS s ON s.session = i.session AND s.feature = i.feature
                WHERE i.session = ANY (done);
            END IF;
            IF cardinality($32) > 0 THEN
                UPDATE @.stores AS s SET number = i.number, version = i.version,
                    schema = CASE WHEN i.state IS NULL THEN s.schema ELSE i.schema END,
                    state = coalesce(i.state, s.state),
                    view_intent = CASE WHEN i.view IS NULL THEN s.view_intent ELSE i.view_intent END,
                    view = coalesce(i.view, s.view)\(seen)
                FROM (SELECT unnest($32) AS session, unnest($33) AS feature, unnest($34) AS number,
                    unnest($35) AS version, unnest($36) AS schema, unnest($37) AS view_intent, unnest($38) AS state,
                    unnest($39) AS view) AS i
                WHERE s.session = i.session AND s.feature = i.feature AND i.session * 0 = 0
                    AND (is_all OR i.session = ANY (done));
                GET DIAGNOSTICS changed = ROW_COUNT;
                IF changed < cardinality($32) AND EXISTS (
                    SELECT FROM unnest($32, $33) AS c (session, feature)
                    WHERE c.session = ANY (done) AND NOT EXISTS (
                        SELECT FROM @.stores AS s WHERE s.session = c.session AND s.feature = c.feature))
                THEN
                    RAISE 'A store is missing.' USING ERRCODE = 'MVI01';
                END IF;
            END IF;
            IF NOT is_all THEN
                RETURN QUERY
                    SELECT i.session, h.number, h.nonce, h.past = (SELECT past FROM @.meta WHERE one), h.owner,
                        h.fence_number, h.fence_nonce, h.access_changes
                    FROM unnest($1) AS i (session) LEFT JOIN @.heads AS h ON h.key = i.session
                    WHERE i.session <> ALL (done);
            END IF;
        END $$;
        """
    }
}
