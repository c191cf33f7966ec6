-- A journal of schema 6 that a real server wrote; dumped by pg_dump.
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
            view = coalesce(i.view, s.view)
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
    principal bytea NOT NULL
);
CREATE TABLE mvi.eras (
    era integer NOT NULL,
    labels_until bigint,
    has_receipts boolean DEFAULT true NOT NULL
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
CREATE TABLE mvi.labels_20785 (
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
    seen timestamp with time zone DEFAULT now() NOT NULL
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
CREATE TABLE mvi.receipts_20785 (
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
    claimed_until timestamp with time zone
)
WITH (fillfactor='80');
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
    reminded boolean DEFAULT false NOT NULL
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
    view bytea NOT NULL
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
ALTER TABLE ONLY mvi.labels ATTACH PARTITION mvi.labels_20785 FOR VALUES IN (20785);
ALTER TABLE ONLY mvi.labels ATTACH PARTITION mvi.labels_20786 FOR VALUES IN (20786);
ALTER TABLE ONLY mvi.labels ATTACH PARTITION mvi.labels_20787 FOR VALUES IN (20787);
ALTER TABLE ONLY mvi.receipts ATTACH PARTITION mvi.receipts_20785 FOR VALUES IN (20785);
ALTER TABLE ONLY mvi.receipts ATTACH PARTITION mvi.receipts_20786 FOR VALUES IN (20786);
ALTER TABLE ONLY mvi.receipts ATTACH PARTITION mvi.receipts_20787 FOR VALUES IN (20787);
COPY mvi.credentials (session, number, token, kind, made, revoked_until, proof, principal) FROM stdin;
\.
COPY mvi.eras (era, labels_until, has_receipts) FROM stdin;
20785	\N	t
20786	\N	t
20787	\N	t
\.
COPY mvi.former_keys (key, until) FROM stdin;
\.
COPY mvi.heads (key, number, nonce, recent, seen, epoch, lost, first_number, first_place, label_era, past, owner, fence_number, fence_nonce, working, access_changes) FROM stdin;
1	4	4981713973198530798	\\x0000000000000003d3874e3aa3c0155800000000000000025ea7f16b56e1b2d100000000000000000000000000000000	1795874391000000000	\\x6a7a6e6566726a6b7962737333	\\x30	0	0	\N	0	\N	\N	\N	\N	0
3	3	-251312490188248737	\\x0000000000000002cb83d2f0c87a028c00000000000000000000000000000000	1795874391000000000	\\x6b7662707a6b36647970696274	\\x30	0	0	20785	0	\N	\N	\N	\N	0
2	11	5978458849727094563	\\x000000000000000acc6d14dbac0b09160000000000000008a0b7f300ae12a903000000000000000707fed81b052e46ae0000000000000006482fd0fca301f1a500000000000000058c58aa35b8249133000000000000000415197fa9c72e781f0000000000000003cfea3ead98247b79000000000000000257e5141e981b2a3d00000000000000000000000000000000	1795874391916070330	\\x6c6a766a7a67686a7676776835	\\x30	0	0	\N	0	2645956664778560101	10	-3716291183793993450	\\x757365722d696e666f	0
\.
COPY mvi.labels_20785 (era, session, number, place, feature, version, intent, expiry, written, json) FROM stdin;
20785	3	3	0	counter	3	\\x3276677735376e3478776e6b68	1795874690390268858	f	\\x7b2274797065223a226d696c6573746f6e65222c22636f756e74223a31307d
\.
COPY mvi.labels_20786 (era, session, number, place, feature, version, intent, expiry, written, json) FROM stdin;
\.
COPY mvi.labels_20787 (era, session, number, place, feature, version, intent, expiry, written, json) FROM stdin;
\.
COPY mvi.meta (one, version, place, past, key, generation, key_since, minimum) FROM stdin;
t	6	7713221768983553048/00000001/16415	0	\\x2a681318b41f00f6115986b8dd3d6fba36b1b49ec96fe066344c5ed9d39c94c8	\\x7d0f598261f6bfe8aad5f1fd94caffbe	0	4
\.
COPY mvi.nodes (id, address, draining, renewals, seen) FROM stdin;
\.
COPY mvi.receipts_20785 (era, session, hash, scope, name, number, made, intent, version, status, body_hash, body) FROM stdin;
20785	1	-1402508282813510157	\\x6b636f756e746572	\\x6b65792d30	2	1795874390299163260	\\x6b65792d30	2	\N	\\x1aa74da632cb75a27ac221df74ea8f90a411706e7afb13c2dd9bd9210c503540	\N
20785	1	-1402509382325138368	\\x6b636f756e746572	\\x6b65792d31	3	1795874390319188499	\\x6b65792d31	3	\N	\\x1aa74da632cb75a27ac221df74ea8f90a411706e7afb13c2dd9bd9210c503540	\N
20785	1	-1402506083790253735	\\x6b636f756e746572	\\x6b65792d32	4	1795874390326718756	\\x6b65792d32	4	\N	\\x1aa74da632cb75a27ac221df74ea8f90a411706e7afb13c2dd9bd9210c503540	\N
\.
COPY mvi.receipts_20786 (era, session, hash, scope, name, number, made, intent, version, status, body_hash, body) FROM stdin;
\.
COPY mvi.receipts_20787 (era, session, hash, scope, name, number, made, intent, version, status, body_hash, body) FROM stdin;
\.
COPY mvi.recordings (session, number, feature, "time", body) FROM stdin;
1	1	counter	1795874390298711396	\\x7b22696e74656e74223a22e280b9626f6f747374726170e280ba222c226361757365223a6e756c6c2c22616374696f6e73223a5b5d2c226d65737361676573223a5b5d2c227374617465223a7b22636f756e74223a302c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
1	2	counter	1795874390299163260	\\x7b22696e74656e74223a226b65792d30222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a347d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a347d5d2c227374617465223a7b22636f756e74223a342c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
1	3	counter	1795874390319188499	\\x7b22696e74656e74223a226b65792d31222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a347d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a347d5d2c227374617465223a7b22636f756e74223a382c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
1	4	counter	1795874390326718756	\\x7b22696e74656e74223a226b65792d32222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a347d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a347d5d2c227374617465223a7b22636f756e74223a31322c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
2	7	counter	1795874390361382595	\\x7b22696e74656e74223a226e6964637635746f346e76796d222c226361757365223a7b2274797065223a22696e6372656d656e74227d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a317d5d2c227374617465223a7b22636f756e74223a362c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
2	8	counter	1795874390363902951	\\x7b22696e74656e74223a226f3273686c3337326165377170222c226361757365223a7b2274797065223a22696e6372656d656e74227d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a317d5d2c227374617465223a7b22636f756e74223a372c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
2	9	user-info	1795874390371689343	\\x7b22696e74656e74223a22e280b9626f6f747374726170e280ba222c226361757365223a6e756c6c2c22616374696f6e73223a5b7b2274797065223a22666574636855736572227d5d2c226d65737361676573223a5b7b2274797065223a22666574636853746172746564227d5d2c227374617465223a7b2275736572223a6e756c6c2c2270726f6772657373223a226c6f6164696e67227d2c226c6162656c73223a5b5d7d
2	10	user-info	1795874390371796383	\\x7b22696e74656e74223a2267796f706b6c6e693770683663222c226361757365223a7b2274797065223a2272656c6f6164227d2c22616374696f6e73223a5b7b2274797065223a22666574636855736572227d5d2c226d65737361676573223a5b7b2274797065223a22666574636853746172746564227d5d2c227374617465223a7b2275736572223a6e756c6c2c2270726f6772657373223a226c6f6164696e67227d2c226c6162656c73223a5b5d7d
3	1	counter	1795874390381377881	\\x7b22696e74656e74223a22e280b9626f6f747374726170e280ba222c226361757365223a6e756c6c2c22616374696f6e73223a5b5d2c226d65737361676573223a5b5d2c227374617465223a7b22636f756e74223a302c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
3	2	counter	1795874390381493387	\\x7b22696e74656e74223a226b68773361676467797667796c222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a357d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a357d5d2c227374617465223a7b22636f756e74223a352c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
3	3	counter	1795874390390268858	\\x7b22696e74656e74223a223276677735376e3478776e6b68222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a357d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a357d5d2c227374617465223a7b22636f756e74223a31302c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b7b2274797065223a226d696c6573746f6e65222c22636f756e74223a31307d5d7d
2	11	user-info	1795874390479296276	\\x7b22696e74656e74223a2267796f706b6c6e693770683663222c226361757365223a6e756c6c2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a2266657463686564222c2276616c7565223a7b226e616d65223a224164612042657267737472c3b66d222c22656d61696c223a22616461406578616d706c652e6f7267222c2270686f6e65223a222b3436203820353535302030313031222c2263697479223a2247c3b67465626f7267222c22706c616e223a225465616d222c226a6f696e65644174223a7b2279656172223a323032312c226d6f6e7468223a332c22646179223a31382c22686f7572223a392c226d696e757465223a31327d7d7d5d2c227374617465223a7b2275736572223a7b226e616d65223a224164612042657267737472c3b66d222c22656d61696c223a22616461406578616d706c652e6f7267222c2270686f6e65223a222b3436203820353535302030313031222c2263697479223a2247c3b67465626f7267222c22706c616e223a225465616d222c226a6f696e65644174223a7b2279656172223a323032312c226d6f6e7468223a332c22646179223a31382c22686f7572223a392c226d696e757465223a31327d7d2c2270726f6772657373223a2269646c65227d2c226c6162656c73223a5b5d7d
\.
COPY mvi.reminders (session, feature, name, due, number, action, claimed_until) FROM stdin;
\.
COPY mvi.sessions (key, token, id, credential, created, noted, issuer, subject, shared, reminded) FROM stdin;
1	\\x7aa0d8f1a45c6ee4997913776ae4b3f9df9be88144120bce8aa0500cd8bf3028	\\x6e6767746a6c66346a77336269	bearer	1795874391000000000	1795874391000000000	\N	\N	f	f
2	\\x5efa8177ea275dbc99498756a9010b00b9aa5a55b4f8b69c81ecf44b7c48d1e8	\\x6f74696b757a766d786a786f79	bearer	1795874391000000000	1795874391000000000	\N	\N	f	f
3	\\x0ac3fa81d1004b71f3dbe9014947f3bfeffefbcbedab256f27cb56f5dcbf75c6	\\x6666796d773677617078696162	bearer	1795874391000000000	1795874391000000000	\N	\N	f	f
\.
COPY mvi.set_aside (id, session, feature, "time", reason, schema, state) FROM stdin;
\.
COPY mvi.stores (session, feature, number, version, made, replaced, schema, view_intent, state, view) FROM stdin;
1	counter	4	4	1	0	1	\\x6b65792d32	\\x7b22636f756e74223a31322c2269734c6f6164696e67223a66616c73657d	\\x7b22636f756e74223a31322c2269734c6f6164696e67223a66616c73657d
2	counter	8	8	1	0	1	\\x6f3273686c3337326165377170	\\x7b22636f756e74223a372c2269734c6f6164696e67223a66616c73657d	\\x7b22636f756e74223a372c2269734c6f6164696e67223a66616c73657d
3	counter	3	3	1	0	1	\\x3276677735376e3478776e6b68	\\x7b22636f756e74223a31302c2269734c6f6164696e67223a66616c73657d	\\x7b22636f756e74223a31302c2269734c6f6164696e67223a66616c73657d
2	user-info	11	11	9	0	1	\\x67796f706b6c6e693770683663	\\x7b2275736572223a7b226e616d65223a224164612042657267737472c3b66d222c22656d61696c223a22616461406578616d706c652e6f7267222c2270686f6e65223a222b3436203820353535302030313031222c2263697479223a2247c3b67465626f7267222c22706c616e223a225465616d222c226a6f696e65644174223a7b2279656172223a323032312c226d6f6e7468223a332c22646179223a31382c22686f7572223a392c226d696e757465223a31327d7d2c2270726f6772657373223a2269646c65227d	\\x7b22737461747573223a22636f6e74656e74222c2270726f66696c65223a7b226e616d65223a224164612042657267737472c3b66d222c22696e697469616c73223a224142222c22656d61696c223a22616461406578616d706c652e6f7267222c2270686f6e65223a222b3436203820353535302030313031222c2263697479223a2247c3b67465626f7267222c226d656d62657273686970223a225465616d20706c616e20c2b7206d656d6265722073696e6365204d617263682032303231227d7d
\.
COPY mvi.streams (session, node, count) FROM stdin;
\.
COPY mvi.tokens (token, session, until) FROM stdin;
\\x7aa0d8f1a45c6ee4997913776ae4b3f9df9be88144120bce8aa0500cd8bf3028	1	\N
\\x5efa8177ea275dbc99498756a9010b00b9aa5a55b4f8b69c81ecf44b7c48d1e8	2	\N
\\x0ac3fa81d1004b71f3dbe9014947f3bfeffefbcbedab256f27cb56f5dcbf75c6	3	\N
\\xbdffaa1cba89d539fbecf09cb9ace604c19657baa5e128e251e0c65f1c823c73	\N	1795960791000000000
\.
COPY mvi.writers (id, generation, seen) FROM stdin;
\.
SELECT pg_catalog.setval('mvi.sessions_key_seq', 4, true);
SELECT pg_catalog.setval('mvi.set_aside_id_seq', 1, false);
ALTER TABLE ONLY mvi.credentials
    ADD CONSTRAINT credentials_pkey PRIMARY KEY (session, number);
ALTER TABLE ONLY mvi.eras
    ADD CONSTRAINT eras_pkey PRIMARY KEY (era);
ALTER TABLE ONLY mvi.heads
    ADD CONSTRAINT heads_pkey PRIMARY KEY (key);
ALTER TABLE ONLY mvi.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (one);
ALTER TABLE ONLY mvi.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY mvi.recordings
    ADD CONSTRAINT recordings_pkey PRIMARY KEY (session, number);
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
CREATE INDEX labels_20785_session_number_place_idx ON mvi.labels_20785 USING btree (session, number, place);
CREATE INDEX labels_20786_session_number_place_idx ON mvi.labels_20786 USING btree (session, number, place);
CREATE INDEX labels_20787_session_number_place_idx ON mvi.labels_20787 USING btree (session, number, place);
CREATE INDEX receipts_by_session ON ONLY mvi.receipts USING btree (session, hash);
CREATE INDEX receipts_20785_session_hash_idx ON mvi.receipts_20785 USING btree (session, hash);
CREATE INDEX receipts_20786_session_hash_idx ON mvi.receipts_20786 USING btree (session, hash);
CREATE INDEX receipts_20787_session_hash_idx ON mvi.receipts_20787 USING btree (session, hash);
CREATE INDEX reminders_by_due ON mvi.reminders USING btree (due, session);
CREATE INDEX reminders_by_session ON mvi.reminders USING btree (session);
CREATE INDEX sessions_by_noted ON mvi.sessions USING btree (noted) WHERE (NOT reminded);
CREATE INDEX sessions_by_subject ON mvi.sessions USING btree (sha256(subject), key) WHERE (subject IS NOT NULL);
CREATE UNIQUE INDEX sessions_shared ON mvi.sessions USING btree (sha256(subject), sha256(issuer)) WHERE (shared AND (subject IS NOT NULL));
CREATE INDEX set_aside_by_session ON mvi.set_aside USING btree (session);
CREATE INDEX streams_by_node ON mvi.streams USING btree (node);
CREATE INDEX tokens_by_end ON mvi.tokens USING btree (until) WHERE (until IS NOT NULL);
CREATE INDEX tokens_by_session ON mvi.tokens USING btree (session) WHERE (session IS NOT NULL);
ALTER INDEX mvi.labels_by_session ATTACH PARTITION mvi.labels_20785_session_number_place_idx;
ALTER INDEX mvi.labels_by_session ATTACH PARTITION mvi.labels_20786_session_number_place_idx;
ALTER INDEX mvi.labels_by_session ATTACH PARTITION mvi.labels_20787_session_number_place_idx;
ALTER INDEX mvi.receipts_by_session ATTACH PARTITION mvi.receipts_20785_session_hash_idx;
ALTER INDEX mvi.receipts_by_session ATTACH PARTITION mvi.receipts_20786_session_hash_idx;
ALTER INDEX mvi.receipts_by_session ATTACH PARTITION mvi.receipts_20787_session_hash_idx;
