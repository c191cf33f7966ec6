-- A journal of schema 16 that a real server wrote; dumped by pg_dump.
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA mvi;
CREATE FUNCTION mvi.append(bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bytea[], bytea[], bigint[], bigint[], boolean[], bigint[], bigint[], bigint[], bigint[], bytea[], bytea[], bigint[], text[], bigint[], bigint[], bigint[], boolean[], bigint[], bigint[], bigint[], bytea[], bigint[], text[], bigint[], bytea[], bigint[], text[], bigint[], bigint[], bigint[], bytea[], bytea[], bytea[]) RETURNS TABLE(head_key bigint, head_number bigint, head_nonce bigint, is_current boolean, head_owner bigint, owner_number bigint, owner_nonce bigint, access bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $_$
DECLARE
    barred bigint[] := '{}';
    done bigint[];
    is_all boolean;
    changed bigint;
BEGIN
    IF cardinality($14) > 0 THEN
        barred := ARRAY(SELECT c.session FROM unnest($14, $15, $16, $17) AS c (session, hash, scope, name)
            JOIN "mvi".receipts AS r
                ON r.session = c.session AND r.hash = c.hash AND r.scope = c.scope AND r.name = c.name);
    END IF;
    IF cardinality($18) > 0 THEN
        barred := barred || ARRAY(SELECT c.session FROM unnest($18, $19) AS c (session, feature)
            WHERE NOT EXISTS (
                SELECT FROM "mvi".stores AS s WHERE s.session = c.session AND s.feature = c.feature));
    END IF;
    IF 0 < ANY ($12) THEN
        barred := barred || ARRAY(SELECT c.session FROM unnest($1, $12) AS c (session, added)
            WHERE c.added > 0 AND c.added
                + (SELECT count(*) FROM "mvi".stores AS s WHERE s.session = c.session) > 65536);
    END IF;
    -- The planner expects few rows of the product, so it begins with the arrays, in their order.
    WITH appended AS (
        UPDATE "mvi".heads AS h SET number = i.number, nonce = i.nonce,
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
            AND h.past = (SELECT past FROM "mvi".meta WHERE one)
        RETURNING h.key)
    SELECT coalesce(array_agg(key), '{}') INTO done FROM appended;
    is_all := cardinality(done) = cardinality($1);
    IF cardinality($28) > 0 THEN
        INSERT INTO "mvi".set_aside (session, feature, time, reason, schema, state)
        SELECT s.session, s.feature, i.time, i.reason, s.schema, s.state
        FROM unnest($28, $29, $30, $31) AS i (session, feature, time, reason)
        JOIN "mvi".stores AS s ON s.session = i.session AND s.feature = i.feature
        WHERE i.session = ANY (done);
    END IF;
    IF cardinality($32) > 0 THEN
        UPDATE "mvi".stores AS s SET number = i.number, version = i.version,
            schema = CASE WHEN i.state IS NULL THEN s.schema ELSE i.schema END,
            state = coalesce(i.state, s.state),
            view_intent = CASE WHEN i.view IS NULL THEN s.view_intent ELSE i.view_intent END,
            view = coalesce(i.view, s.view), seen = (SELECT h.seen FROM "mvi".heads AS h WHERE h.key = s.session)
        FROM (SELECT unnest($32) AS session, unnest($33) AS feature, unnest($34) AS number,
            unnest($35) AS version, unnest($36) AS schema, unnest($37) AS view_intent, unnest($38) AS state,
            unnest($39) AS view) AS i
        WHERE s.session = i.session AND s.feature = i.feature AND i.session * 0 = 0
            AND (is_all OR i.session = ANY (done));
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed < cardinality($32) AND EXISTS (
            SELECT FROM unnest($32, $33) AS c (session, feature)
            WHERE c.session = ANY (done) AND NOT EXISTS (
                SELECT FROM "mvi".stores AS s WHERE s.session = c.session AND s.feature = c.feature))
        THEN
            RAISE 'A store is missing.' USING ERRCODE = 'MVI01';
        END IF;
    END IF;
    IF NOT is_all THEN
        RETURN QUERY
            SELECT i.session, h.number, h.nonce, h.past = (SELECT past FROM "mvi".meta WHERE one), h.owner,
                h.fence_number, h.fence_nonce, h.access_changes
            FROM unnest($1) AS i (session) LEFT JOIN "mvi".heads AS h ON h.key = i.session
            WHERE i.session <> ALL (done);
    END IF;
END $_$;
CREATE FUNCTION mvi.drop_era(parent text, old integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    -- Nodes of older builds call it before an era is surely old.
    IF EXISTS (SELECT FROM "mvi".eras WHERE era = old AND old_since <= now() - interval '1 hour') THEN
        PERFORM "mvi".drop_old_era(parent, old);
    END IF;
END $$;
CREATE FUNCTION mvi.drop_old_era(parent text, old integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF parent NOT IN ('labels', 'receipts') OR old >= floor(extract(epoch FROM now()) / 86400) THEN
        RAISE EXCEPTION '% has no past era %', parent, old;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS %I.%I', 'mvi', parent || '_' || old);
    IF parent = 'labels' THEN
        DELETE FROM "mvi".eras WHERE era = old;
    ELSE
        UPDATE "mvi".eras SET has_receipts = false WHERE era = old;
    END IF;
END $$;
CREATE FUNCTION mvi.guard(bigint, bigint, text, text, text, text) RETURNS void
    LANGUAGE plpgsql
    AS $_$
BEGIN
    PERFORM set_config('statement_timeout', $3, true), set_config('lock_timeout', $4, true),
        set_config('idle_in_transaction_session_timeout', $5, true),
        set_config('client_min_messages', 'warning', true),
        CASE WHEN current_setting('server_version_num')::int >= 170000
            THEN set_config('transaction_timeout', $6, true) END,
        -- Row by row through the keys' indexes, whatever the tables' statistics are.
        set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
        set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true),
        1 / (SELECT count(*) FROM (SELECT FROM "mvi".writers WHERE id = $1 AND generation = $2 FOR SHARE) AS w)::int,
        1 / (SELECT count(*) FROM "mvi".meta WHERE place = (SELECT system_identifier::text FROM pg_control_system())
            || '/' || substring(pg_walfile_name(pg_current_wal_lsn()) FROM 1 FOR 8)
            || '/' || to_regclass(format('%I.heads', 'mvi'))::oid)::int;
END $_$;
CREATE FUNCTION mvi.guard(bigint, bigint, text, text, text, text, integer) RETURNS void
    LANGUAGE plpgsql
    AS $_$
BEGIN
    PERFORM set_config('statement_timeout', $3, true), set_config('lock_timeout', $4, true),
        set_config('idle_in_transaction_session_timeout', $5, true),
        set_config('client_min_messages', 'warning', true),
        CASE WHEN current_setting('server_version_num')::int >= 170000
            THEN set_config('transaction_timeout', $6, true) END,
        -- Row by row through the keys' indexes, whatever the tables' statistics are.
        set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
        set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true),
        1 / (SELECT count(*) FROM (SELECT FROM "mvi".writers WHERE id = $1 AND generation = $2 FOR SHARE) AS w)::int,
        1 / (SELECT count(*) FROM "mvi".meta WHERE place = (SELECT system_identifier::text FROM pg_control_system())
            || '/' || substring(pg_walfile_name(pg_current_wal_lsn()) FROM 1 FOR 8)
            || '/' || to_regclass(format('%I.heads', 'mvi'))::oid AND minimum <= $7)::int;
END $_$;
CREATE FUNCTION mvi.make_eras() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    present integer := floor(extract(epoch FROM now()) / 86400);
    new_era integer;
    parent text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('mvi eras ' || 'mvi', 0));
    FOR new_era IN SELECT e FROM generate_series(present, present + 2) AS e
        WHERE e NOT IN (SELECT era FROM "mvi".eras)
    LOOP
        FOREACH parent IN ARRAY ARRAY['labels', 'receipts'] LOOP
            EXECUTE format('CREATE TABLE %I.%I (LIKE %I.%I INCLUDING ALL) WITH (fillfactor = 90)',
                'mvi', parent || '_' || new_era, 'mvi', parent);
            EXECUTE format('ALTER TABLE %I.%I ATTACH PARTITION %I.%I FOR VALUES IN (%s)',
                'mvi', parent, 'mvi', parent || '_' || new_era, new_era);
        END LOOP;
        INSERT INTO "mvi".eras (era) VALUES (new_era);
    END LOOP;
END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE mvi.credentials (
    session bigint NOT NULL,
    number bigint NOT NULL,
    token bytea NOT NULL,
    kind text NOT NULL,
    made bigint NOT NULL,
    revoked_until bigint,
    proof bytea,
    principal bytea NOT NULL,
    seen bigint DEFAULT 0 NOT NULL
);
CREATE TABLE mvi.eras (
    era integer NOT NULL,
    labels_until bigint,
    has_receipts boolean DEFAULT true NOT NULL,
    old_since timestamp with time zone
);
CREATE TABLE mvi.forgetting (
    subject bytea NOT NULL,
    until timestamp with time zone NOT NULL
);
CREATE TABLE mvi.forgotten (
    key bytea NOT NULL,
    "time" bigint NOT NULL,
    code bytea NOT NULL
);
CREATE TABLE mvi.former_keys (
    key bytea NOT NULL,
    until bigint NOT NULL
);
CREATE TABLE mvi.heads (
    key bigint NOT NULL,
    number bigint DEFAULT 0 NOT NULL,
    nonce bigint DEFAULT 0 NOT NULL,
    recent bytea DEFAULT '\x'::bytea NOT NULL,
    seen bigint NOT NULL,
    epoch bytea NOT NULL,
    lost bytea DEFAULT '\x30'::bytea NOT NULL,
    first_number bigint DEFAULT 0 NOT NULL,
    first_place bigint DEFAULT 0 NOT NULL,
    label_era integer,
    past integer NOT NULL,
    owner bigint,
    fence_number bigint,
    fence_nonce bigint,
    working bytea,
    access_changes bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='60');
CREATE TABLE mvi.labels (
    era integer NOT NULL,
    session bigint NOT NULL,
    number bigint NOT NULL,
    place bigint NOT NULL,
    feature text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    intent bytea,
    expiry bigint NOT NULL,
    written boolean NOT NULL,
    json bytea NOT NULL
)
PARTITION BY LIST (era);
CREATE TABLE mvi.labels_20786 (
    era integer NOT NULL,
    session bigint NOT NULL,
    number bigint NOT NULL,
    place bigint NOT NULL,
    feature text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    intent bytea,
    expiry bigint NOT NULL,
    written boolean NOT NULL,
    json bytea NOT NULL
)
WITH (fillfactor='90');
CREATE TABLE mvi.labels_20787 (
    era integer NOT NULL,
    session bigint NOT NULL,
    number bigint NOT NULL,
    place bigint NOT NULL,
    feature text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    intent bytea,
    expiry bigint NOT NULL,
    written boolean NOT NULL,
    json bytea NOT NULL
)
WITH (fillfactor='90');
CREATE TABLE mvi.labels_20788 (
    era integer NOT NULL,
    session bigint NOT NULL,
    number bigint NOT NULL,
    place bigint NOT NULL,
    feature text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    intent bytea,
    expiry bigint NOT NULL,
    written boolean NOT NULL,
    json bytea NOT NULL
)
WITH (fillfactor='90');
CREATE TABLE mvi.meta (
    one boolean DEFAULT true NOT NULL,
    version integer NOT NULL,
    place text NOT NULL,
    past integer DEFAULT 0 NOT NULL,
    key bytea NOT NULL,
    generation bytea NOT NULL,
    key_since bigint DEFAULT 0 NOT NULL,
    minimum integer DEFAULT 0 NOT NULL,
    CONSTRAINT meta_one_check CHECK (one)
);
CREATE TABLE mvi.nodes (
    id bigint NOT NULL,
    address bytea NOT NULL,
    draining boolean NOT NULL,
    renewals bigint NOT NULL,
    seen timestamp with time zone DEFAULT now() NOT NULL,
    lossless boolean DEFAULT false NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE mvi.receipts (
    era integer NOT NULL,
    session bigint NOT NULL,
    hash bigint NOT NULL,
    scope bytea NOT NULL,
    name bytea NOT NULL,
    number bigint NOT NULL,
    made bigint NOT NULL,
    intent bytea NOT NULL,
    version bigint,
    status bigint,
    body_hash bytea NOT NULL,
    body bytea
)
PARTITION BY LIST (era);
CREATE TABLE mvi.receipts_20786 (
    era integer NOT NULL,
    session bigint NOT NULL,
    hash bigint NOT NULL,
    scope bytea NOT NULL,
    name bytea NOT NULL,
    number bigint NOT NULL,
    made bigint NOT NULL,
    intent bytea NOT NULL,
    version bigint,
    status bigint,
    body_hash bytea NOT NULL,
    body bytea
)
WITH (fillfactor='90');
CREATE TABLE mvi.receipts_20787 (
    era integer NOT NULL,
    session bigint NOT NULL,
    hash bigint NOT NULL,
    scope bytea NOT NULL,
    name bytea NOT NULL,
    number bigint NOT NULL,
    made bigint NOT NULL,
    intent bytea NOT NULL,
    version bigint,
    status bigint,
    body_hash bytea NOT NULL,
    body bytea
)
WITH (fillfactor='90');
CREATE TABLE mvi.receipts_20788 (
    era integer NOT NULL,
    session bigint NOT NULL,
    hash bigint NOT NULL,
    scope bytea NOT NULL,
    name bytea NOT NULL,
    number bigint NOT NULL,
    made bigint NOT NULL,
    intent bytea NOT NULL,
    version bigint,
    status bigint,
    body_hash bytea NOT NULL,
    body bytea
)
WITH (fillfactor='90');
CREATE TABLE mvi.recordings (
    session bigint NOT NULL,
    number bigint NOT NULL,
    feature text NOT NULL COLLATE pg_catalog."C",
    "time" bigint NOT NULL,
    body bytea NOT NULL
);
CREATE TABLE mvi.reminders (
    session bigint NOT NULL,
    feature text NOT NULL COLLATE pg_catalog."C",
    name bytea NOT NULL,
    due bigint NOT NULL,
    number bigint NOT NULL,
    action bytea NOT NULL,
    claimed_until timestamp with time zone,
    not_before bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='80');
CREATE TABLE mvi.removed (
    session bigint NOT NULL
);
CREATE TABLE mvi.sessions (
    key bigint NOT NULL,
    token bytea NOT NULL,
    id bytea NOT NULL,
    credential text NOT NULL,
    created bigint NOT NULL,
    noted bigint NOT NULL,
    issuer bytea,
    subject bytea,
    shared boolean NOT NULL,
    reminded boolean DEFAULT false NOT NULL,
    space text COLLATE pg_catalog."C"
);
ALTER TABLE mvi.sessions ALTER COLUMN key ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mvi.sessions_key_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE mvi.set_aside (
    id bigint NOT NULL,
    session bigint NOT NULL,
    feature text NOT NULL COLLATE pg_catalog."C",
    "time" bigint NOT NULL,
    reason bytea NOT NULL,
    schema bigint NOT NULL,
    state bytea NOT NULL
);
ALTER TABLE mvi.set_aside ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mvi.set_aside_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE mvi.stores (
    session bigint NOT NULL,
    feature text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    version bigint NOT NULL,
    made bigint NOT NULL,
    replaced bigint NOT NULL,
    schema bigint NOT NULL,
    view_intent bytea,
    state bytea NOT NULL,
    view bytea NOT NULL,
    seen bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='60');
CREATE TABLE mvi.streams (
    session bigint NOT NULL,
    node bigint NOT NULL,
    count integer NOT NULL,
    CONSTRAINT streams_count_check CHECK ((count > 0))
)
WITH (fillfactor='80');
CREATE TABLE mvi.tokens (
    token bytea NOT NULL,
    session bigint,
    until bigint,
    CONSTRAINT tokens_check CHECK (((session IS NULL) <> (until IS NULL)))
);
CREATE TABLE mvi.writers (
    id bigint NOT NULL,
    generation bigint NOT NULL,
    seen timestamp with time zone DEFAULT now() NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY mvi.labels ATTACH PARTITION mvi.labels_20786 FOR VALUES IN (20786);
ALTER TABLE ONLY mvi.labels ATTACH PARTITION mvi.labels_20787 FOR VALUES IN (20787);
ALTER TABLE ONLY mvi.labels ATTACH PARTITION mvi.labels_20788 FOR VALUES IN (20788);
ALTER TABLE ONLY mvi.receipts ATTACH PARTITION mvi.receipts_20786 FOR VALUES IN (20786);
ALTER TABLE ONLY mvi.receipts ATTACH PARTITION mvi.receipts_20787 FOR VALUES IN (20787);
ALTER TABLE ONLY mvi.receipts ATTACH PARTITION mvi.receipts_20788 FOR VALUES IN (20788);
INSERT INTO mvi.eras VALUES (20786, NULL, true, NULL);
INSERT INTO mvi.eras VALUES (20787, NULL, true, NULL);
INSERT INTO mvi.eras VALUES (20788, NULL, true, NULL);
INSERT INTO mvi.heads VALUES (1, 4, -4513475702349702661, '\x0000000000000003d0f2758872a0ed4800000000000000029a9be5b90ddc909000000000000000000000000000000000', 1795984512840780375, '\x65637a66716c35753533627465', '\x30', 0, 0, NULL, 0, NULL, NULL, NULL, NULL, 0);
INSERT INTO mvi.heads VALUES (2, 2, -5446198411398195804, '\x00000000000000000000000000000000', 1795984513000000000, '\x6d6f75327636756f68796e756f', '\x30', 0, 0, NULL, 0, NULL, NULL, NULL, NULL, 0);
INSERT INTO mvi.heads VALUES (3, 2, -1410691806320835084, '\x00000000000000000000000000000000', 1795984514000000000, '\x657564346f7637703234637363', '\x30', 0, 0, NULL, 0, NULL, NULL, NULL, NULL, 0);
INSERT INTO mvi.meta VALUES (true, 16, '7713694694252849647/00000001/16415', 0, '\x3d0f36b083c3a68095fc824c57214094d16c0099486b57ac3f852fca7f57ae2a', '\x420de13a42432db83204746b6702f212', 0, 4);
INSERT INTO mvi.receipts_20786 VALUES (20786, 1, -1402509382325138368, '\x6b636f756e746572', '\x6b65792d31', 2, 1795984512744599532, '\x6b65792d31', 2, NULL, '\xc2f1ac577bde6e98cdee96dd74a83515006607400997ef23e75f8e51f75e29a6', NULL);
INSERT INTO mvi.receipts_20786 VALUES (20786, 1, -1402506083790253735, '\x6b636f756e746572', '\x6b65792d32', 3, 1795984512799438868, '\x6b65792d32', 3, NULL, '\xc8bcbf3131041ecfdfc222a5b035c4a961b6d037ee71f28d27c5337a26d4cc7a', NULL);
INSERT INTO mvi.receipts_20786 VALUES (20786, 1, -1402507183301881946, '\x6b636f756e746572', '\x6b65792d33', 4, 1795984512840752123, '\x6b65792d33', 4, NULL, '\x68eeae11f96c92e5ba725c4dac108d2bb26e289fe24679a9517010f9a5c2dffa', NULL);
INSERT INTO mvi.recordings VALUES (2, 1, 'counter', 1795984512912652773, '\x7b22696e74656e74223a22e280b9626f6f747374726170e280ba222c22616374696f6e73223a5b5d2c226d65737361676573223a5b5d2c226c6162656c73223a5b5d2c226b696e64223a22626f6f747374726170222c22736368656d6156657273696f6e223a312c226d6963726f7365636f6e6473223a31352c227374617465223a7b22636f756e74223a302c2269734c6f6164696e67223a66616c73657d7d');
INSERT INTO mvi.recordings VALUES (2, 2, 'counter', 1795984512912730899, '\x7b22696e74656e74223a223765613232746873766a37776e222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a31327d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a31327d5d2c226c6162656c73223a5b5d2c226b696e64223a22696e74656e74222c22736368656d6156657273696f6e223a312c226d6963726f7365636f6e6473223a31302c227374617465223a7b22636f756e74223a31322c2269734c6f6164696e67223a66616c73657d7d');
INSERT INTO mvi.recordings VALUES (1, 1, 'counter', 1795984512744293708, '\x7b22696e74656e74223a22e280b9626f6f747374726170e280ba222c22616374696f6e73223a5b5d2c226d65737361676573223a5b5d2c226c6162656c73223a5b5d2c226b696e64223a22626f6f747374726170222c22736368656d6156657273696f6e223a312c226d6963726f7365636f6e6473223a34352c227374617465223a7b22636f756e74223a302c2269734c6f6164696e67223a66616c73657d7d');
INSERT INTO mvi.recordings VALUES (1, 2, 'counter', 1795984512744599532, '\x7b22696e74656e74223a226b65792d31222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a327d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a327d5d2c226c6162656c73223a5b5d2c226b696e64223a22696e74656e74222c22736368656d6156657273696f6e223a312c226d6963726f7365636f6e6473223a32332c227374617465223a7b22636f756e74223a322c2269734c6f6164696e67223a66616c73657d7d');
INSERT INTO mvi.recordings VALUES (1, 3, 'counter', 1795984512799438868, '\x7b22696e74656e74223a226b65792d32222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a337d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a337d5d2c226c6162656c73223a5b5d2c226b696e64223a22696e74656e74222c22736368656d6156657273696f6e223a312c226d6963726f7365636f6e6473223a35322c227374617465223a7b22636f756e74223a352c2269734c6f6164696e67223a66616c73657d7d');
INSERT INTO mvi.recordings VALUES (1, 4, 'counter', 1795984512840752123, '\x7b22696e74656e74223a226b65792d33222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a347d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a347d5d2c226c6162656c73223a5b5d2c226b696e64223a22696e74656e74222c22736368656d6156657273696f6e223a312c226d6963726f7365636f6e6473223a34322c227374617465223a7b22636f756e74223a392c2269734c6f6164696e67223a66616c73657d7d');
INSERT INTO mvi.recordings VALUES (3, 1, 'counter', 1795984513042035131, '\x7b22696e74656e74223a22e280b9626f6f747374726170e280ba222c22616374696f6e73223a5b5d2c226d65737361676573223a5b5d2c226c6162656c73223a5b5d2c226b696e64223a22626f6f747374726170222c22736368656d6156657273696f6e223a312c226d6963726f7365636f6e6473223a31352c227374617465223a7b22636f756e74223a302c2269734c6f6164696e67223a66616c73657d7d');
INSERT INTO mvi.recordings VALUES (3, 2, 'counter', 1795984513042129641, '\x7b22696e74656e74223a22736433366877797a716f723767222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a317d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a317d5d2c226c6162656c73223a5b5d2c226b696e64223a22696e74656e74222c22736368656d6156657273696f6e223a312c226d6963726f7365636f6e6473223a31392c227374617465223a7b22636f756e74223a312c2269734c6f6164696e67223a66616c73657d7d');
INSERT INTO mvi.sessions OVERRIDING SYSTEM VALUE VALUES (1, '\x14223fa3fa2485c22987add41d7f966a341fbbe09146618c481eb51bcdc4a0fa', '\x63646e66657072623466346e6f', 'bearer', 1795984512000000000, 1795984512743291469, NULL, NULL, false, false, NULL);
INSERT INTO mvi.sessions OVERRIDING SYSTEM VALUE VALUES (2, '\x046a18d27a59e6c0183405d4a13ef06bb90fbb56546642aa5ff8d4e5c9bd2143', '\x63686873376d646c6f6e616163', 'bearer', 1795984513000000000, 1795984513000000000, NULL, NULL, false, false, NULL);
INSERT INTO mvi.sessions OVERRIDING SYSTEM VALUE VALUES (3, '\x3f9b10322e0da1456f056151f8c2f97840ff822324dc9ec7c7f0bd428f2082b9', '\x63757a706e6b6c327936676976', 'bearer', 1795984514000000000, 1795984514000000000, NULL, NULL, false, false, NULL);
INSERT INTO mvi.stores VALUES (1, 'counter', 4, 4, 1, 0, 1, '\x6b65792d33', '\x7b22636f756e74223a392c2269734c6f6164696e67223a66616c73657d', '\x7b22636f756e74223a392c2269734c6f6164696e67223a66616c73657d', 1795984512840780375);
INSERT INTO mvi.stores VALUES (2, 'counter', 2, 2, 1, 0, 1, '\x3765613232746873766a37776e', '\x7b22636f756e74223a31322c2269734c6f6164696e67223a66616c73657d', '\x7b22636f756e74223a31322c2269734c6f6164696e67223a66616c73657d', 1795984513000000000);
INSERT INTO mvi.stores VALUES (3, 'counter', 2, 2, 1, 0, 1, '\x736433366877797a716f723767', '\x7b22636f756e74223a312c2269734c6f6164696e67223a66616c73657d', '\x7b22636f756e74223a312c2269734c6f6164696e67223a66616c73657d', 1795984514000000000);
INSERT INTO mvi.tokens VALUES ('\x14223fa3fa2485c22987add41d7f966a341fbbe09146618c481eb51bcdc4a0fa', 1, NULL);
INSERT INTO mvi.tokens VALUES ('\x046a18d27a59e6c0183405d4a13ef06bb90fbb56546642aa5ff8d4e5c9bd2143', 2, NULL);
INSERT INTO mvi.tokens VALUES ('\x3f9b10322e0da1456f056151f8c2f97840ff822324dc9ec7c7f0bd428f2082b9', 3, NULL);
SELECT pg_catalog.setval('mvi.sessions_key_seq', 3, true);
SELECT pg_catalog.setval('mvi.set_aside_id_seq', 1, false);
ALTER TABLE ONLY mvi.credentials
    ADD CONSTRAINT credentials_pkey PRIMARY KEY (session, number);
ALTER TABLE ONLY mvi.eras
    ADD CONSTRAINT eras_pkey PRIMARY KEY (era);
ALTER TABLE ONLY mvi.forgetting
    ADD CONSTRAINT forgetting_pkey PRIMARY KEY (subject);
ALTER TABLE ONLY mvi.forgotten
    ADD CONSTRAINT forgotten_pkey PRIMARY KEY (key);
ALTER TABLE ONLY mvi.heads
    ADD CONSTRAINT heads_pkey PRIMARY KEY (key);
ALTER TABLE ONLY mvi.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (one);
ALTER TABLE ONLY mvi.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY mvi.recordings
    ADD CONSTRAINT recordings_pkey PRIMARY KEY (session, number);
ALTER TABLE ONLY mvi.removed
    ADD CONSTRAINT removed_pkey PRIMARY KEY (session);
ALTER TABLE ONLY mvi.sessions
    ADD CONSTRAINT sessions_id_key UNIQUE (id);
ALTER TABLE ONLY mvi.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (key);
ALTER TABLE ONLY mvi.set_aside
    ADD CONSTRAINT set_aside_pkey PRIMARY KEY (id);
ALTER TABLE ONLY mvi.stores
    ADD CONSTRAINT stores_pkey PRIMARY KEY (session, feature);
ALTER TABLE ONLY mvi.streams
    ADD CONSTRAINT streams_pkey PRIMARY KEY (session, node);
ALTER TABLE ONLY mvi.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (token);
ALTER TABLE ONLY mvi.writers
    ADD CONSTRAINT writers_pkey PRIMARY KEY (id);
CREATE INDEX heads_by_owner ON mvi.heads USING btree (owner) WHERE (owner IS NOT NULL);
CREATE INDEX labels_by_session ON ONLY mvi.labels USING btree (session, number, place);
CREATE INDEX labels_20786_session_number_place_idx ON mvi.labels_20786 USING btree (session, number, place);
CREATE INDEX labels_20787_session_number_place_idx ON mvi.labels_20787 USING btree (session, number, place);
CREATE INDEX labels_20788_session_number_place_idx ON mvi.labels_20788 USING btree (session, number, place);
CREATE INDEX receipts_by_session ON ONLY mvi.receipts USING btree (session, hash);
CREATE INDEX receipts_20786_session_hash_idx ON mvi.receipts_20786 USING btree (session, hash);
CREATE INDEX receipts_20787_session_hash_idx ON mvi.receipts_20787 USING btree (session, hash);
CREATE INDEX receipts_20788_session_hash_idx ON mvi.receipts_20788 USING btree (session, hash);
CREATE INDEX reminders_by_due ON mvi.reminders USING btree (due, session);
CREATE INDEX reminders_by_next ON mvi.reminders USING btree (GREATEST(due, not_before), session);
CREATE INDEX reminders_by_session ON mvi.reminders USING btree (session);
CREATE INDEX sessions_by_brief_use ON mvi.sessions USING btree (noted, key) WHERE ((subject IS NULL) AND (NOT reminded) AND (((noted)::numeric - (created)::numeric) <= ('300000000000'::bigint)::numeric));
CREATE INDEX sessions_by_class ON mvi.sessions USING btree ((
CASE
    WHEN (space IS NOT NULL) THEN 3
    WHEN (subject IS NULL) THEN 0
    WHEN shared THEN 2
    ELSE 1
END), noted) WHERE (NOT reminded);
CREATE INDEX sessions_by_life ON mvi.sessions USING btree ((
CASE
    WHEN (subject IS NULL) THEN 0
    WHEN shared THEN 2
    ELSE 1
END), noted) WHERE (NOT reminded);
CREATE UNIQUE INDEX sessions_by_space ON mvi.sessions USING btree (space) WHERE (space IS NOT NULL);
CREATE INDEX sessions_by_subject ON mvi.sessions USING btree (sha256(subject), key) WHERE (subject IS NOT NULL);
CREATE INDEX sessions_of_subjects ON mvi.sessions USING btree (key) WHERE (subject IS NOT NULL);
CREATE UNIQUE INDEX sessions_shared ON mvi.sessions USING btree (sha256(subject), sha256(issuer)) WHERE (shared AND (subject IS NOT NULL));
CREATE INDEX sessions_used_briefly ON mvi.sessions USING btree (noted, key) WHERE ((subject IS NULL) AND (space IS NULL) AND (NOT reminded) AND (((noted)::numeric - (created)::numeric) <= ('300000000000'::bigint)::numeric));
CREATE INDEX set_aside_by_session ON mvi.set_aside USING btree (session);
CREATE INDEX streams_by_node ON mvi.streams USING btree (node);
CREATE INDEX tokens_by_end ON mvi.tokens USING btree (until) WHERE (until IS NOT NULL);
CREATE INDEX tokens_by_session ON mvi.tokens USING btree (session) WHERE (session IS NOT NULL);
ALTER INDEX mvi.labels_by_session ATTACH PARTITION mvi.labels_20786_session_number_place_idx;
ALTER INDEX mvi.labels_by_session ATTACH PARTITION mvi.labels_20787_session_number_place_idx;
ALTER INDEX mvi.labels_by_session ATTACH PARTITION mvi.labels_20788_session_number_place_idx;
ALTER INDEX mvi.receipts_by_session ATTACH PARTITION mvi.receipts_20786_session_hash_idx;
ALTER INDEX mvi.receipts_by_session ATTACH PARTITION mvi.receipts_20787_session_hash_idx;
ALTER INDEX mvi.receipts_by_session ATTACH PARTITION mvi.receipts_20788_session_hash_idx;
