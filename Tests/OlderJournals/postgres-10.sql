-- A journal of schema 10 that a real server wrote; dumped by pg_dump.
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
    principal bytea NOT NULL,
    seen bigint DEFAULT 0 NOT NULL
);
CREATE TABLE mvi.eras (
    era integer NOT NULL,
    labels_until bigint,
    has_receipts boolean DEFAULT true NOT NULL
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
COPY mvi.credentials (session, number, token, kind, made, revoked_until, proof, principal, seen) FROM stdin;
\.
COPY mvi.eras (era, labels_until, has_receipts) FROM stdin;
20786	\N	t
20787	\N	t
20788	\N	t
\.
COPY mvi.forgetting (subject, until) FROM stdin;
\.
COPY mvi.forgotten (key, "time", code) FROM stdin;
\.
COPY mvi.former_keys (key, until) FROM stdin;
\.
COPY mvi.heads (key, number, nonce, recent, seen, epoch, lost, first_number, first_place, label_era, past, owner, fence_number, fence_nonce, working, access_changes) FROM stdin;
1	2	1821298345850261531	\\x00000000000000000000000000000000	1795935551000000000	\\x63736b6a7865346379346a716d	\\x30	0	0	\N	0	\N	\N	\N	\N	0
2	3	-6918939899270270065	\\x0000000000000002a90c308961e97af200000000000000000000000000000000	1795935551000000000	\\x6774326d346b6e35756c6e7763	\\x30	0	0	\N	0	\N	\N	\N	\N	0
3	4	2316377676718116589	\\x0000000000000003615165b048ec422f0000000000000002d572dd1bb66f591b00000000000000000000000000000000	1795935551000000000	\\x6836727663766f626e67706876	\\x30	0	0	\N	0	\N	\N	\N	\N	0
\.
COPY mvi.labels_20786 (era, session, number, place, feature, version, intent, expiry, written, json) FROM stdin;
\.
COPY mvi.labels_20787 (era, session, number, place, feature, version, intent, expiry, written, json) FROM stdin;
\.
COPY mvi.labels_20788 (era, session, number, place, feature, version, intent, expiry, written, json) FROM stdin;
\.
COPY mvi.meta (one, version, place, past, key, generation, key_since, minimum) FROM stdin;
t	10	7713484441071858899/00000001/16415	0	\\x6711620cd95ba94e5fe68942cc76e41d46dca4d9f428b5571b2ea36fbb29a90f	\\x3ebda6ad8aa991ddcba08cfefe00e7f1	0	4
\.
COPY mvi.nodes (id, address, draining, renewals, seen) FROM stdin;
\.
COPY mvi.receipts_20786 (era, session, hash, scope, name, number, made, intent, version, status, body_hash, body) FROM stdin;
20786	1	5927804965507710703	\\x6b636f756e746572	\\x3637376532373632363438643466316139333762616631656433626238393636	2	1795935550192511192	\\x3637376532373632363438643466316139333762616631656433626238393636	2	\N	\\x685a6ebc82b6fded9b5c1173549f190f488f1a8d088085a99264d805ff8349ae	\N
20786	2	8438068234212460633	\\x6b636f756e746572	\\x3934653862663235643234303462356161393963383066393035316532616466	2	1795935550273135180	\\x3934653862663235643234303462356161393963383066393035316532616466	2	\N	\\x685a6ebc82b6fded9b5c1173549f190f488f1a8d088085a99264d805ff8349ae	\N
20786	2	9050445987896426862	\\x6b636f756e746572	\\x3430306366323063336534363437313461333534373532616462313639353933	3	1795935550331147480	\\x3430306366323063336534363437313461333534373532616462313639353933	3	\N	\\xc2f1ac577bde6e98cdee96dd74a83515006607400997ef23e75f8e51f75e29a6	\N
20786	3	-70464063375545418	\\x6b636f756e746572	\\x3139333834383532633565323436373338643833386466636362386634666162	2	1795935550354775640	\\x3139333834383532633565323436373338643833386466636362386634666162	2	\N	\\x685a6ebc82b6fded9b5c1173549f190f488f1a8d088085a99264d805ff8349ae	\N
20786	3	4483060826432399446	\\x6b636f756e746572	\\x3732343832393432306130393430363762313337346338373431366266393732	3	1795935550367387562	\\x3732343832393432306130393430363762313337346338373431366266393732	3	\N	\\xc2f1ac577bde6e98cdee96dd74a83515006607400997ef23e75f8e51f75e29a6	\N
20786	3	-2042826323475075842	\\x6b636f756e746572	\\x3835666538393830633339323463613861616436306637613533343334663266	4	1795935550379842560	\\x3835666538393830633339323463613861616436306637613533343334663266	4	\N	\\xc8bcbf3131041ecfdfc222a5b035c4a961b6d037ee71f28d27c5337a26d4cc7a	\N
20786	4	-379584571365724276	\\x6b636f756e746572	\\x6565316535613530633162333462333438313731363832303765366562363666	2	1795935550390613063	\\x6565316535613530633162333462333438313731363832303765366562363666	2	\N	\\x685a6ebc82b6fded9b5c1173549f190f488f1a8d088085a99264d805ff8349ae	\N
\.
COPY mvi.receipts_20787 (era, session, hash, scope, name, number, made, intent, version, status, body_hash, body) FROM stdin;
\.
COPY mvi.receipts_20788 (era, session, hash, scope, name, number, made, intent, version, status, body_hash, body) FROM stdin;
\.
COPY mvi.recordings (session, number, feature, "time", body) FROM stdin;
\.
COPY mvi.reminders (session, feature, name, due, number, action, claimed_until, not_before) FROM stdin;
\.
COPY mvi.sessions (key, token, id, credential, created, noted, issuer, subject, shared, reminded) FROM stdin;
1	\\x0c1e6ab0ba45ab3a747853de9df82b4f953eaace6af5a5fed4b3ea8384852871	\\x6f3470643261646e716e706178	bearer	1795935551000000000	1795935551000000000	\N	\N	f	f
2	\\x97b631f4c6e03830ad625da6692b455ade0aee526761c7d90765385e09c9881f	\\x64366433327276636465376e6f	bearer	1795935551000000000	1795935551000000000	\N	\N	f	f
3	\\x96390f70b79bd64ba28c851415676d3f61501c3c48c0cad4cf92dc73ac0affe1	\\x6d6d7266356e34347972757173	bearer	1795935551000000000	1795935551000000000	\N	\N	f	f
\.
COPY mvi.set_aside (id, session, feature, "time", reason, schema, state) FROM stdin;
\.
COPY mvi.stores (session, feature, number, version, made, replaced, schema, view_intent, state, view, seen) FROM stdin;
1	counter	2	2	1	0	1	\\x3637376532373632363438643466316139333762616631656433626238393636	\\x7b22636f756e74223a312c2269734c6f6164696e67223a66616c73657d	\\x7b22636f756e74223a312c2269734c6f6164696e67223a66616c73657d	1795935551000000000
2	counter	3	3	1	0	1	\\x3430306366323063336534363437313461333534373532616462313639353933	\\x7b22636f756e74223a332c2269734c6f6164696e67223a66616c73657d	\\x7b22636f756e74223a332c2269734c6f6164696e67223a66616c73657d	1795935551000000000
3	counter	4	4	1	0	1	\\x3835666538393830633339323463613861616436306637613533343334663266	\\x7b22636f756e74223a362c2269734c6f6164696e67223a66616c73657d	\\x7b22636f756e74223a362c2269734c6f6164696e67223a66616c73657d	1795935551000000000
\.
COPY mvi.streams (session, node, count) FROM stdin;
\.
COPY mvi.tokens (token, session, until) FROM stdin;
\\x0c1e6ab0ba45ab3a747853de9df82b4f953eaace6af5a5fed4b3ea8384852871	1	\N
\\x97b631f4c6e03830ad625da6692b455ade0aee526761c7d90765385e09c9881f	2	\N
\\x96390f70b79bd64ba28c851415676d3f61501c3c48c0cad4cf92dc73ac0affe1	3	\N
\\x8569ace0cbcf4589168a4d3c7e240c779c6bce52c9983486f32814c29ebf2c8f	\N	1796021951000000000
\.
COPY mvi.writers (id, generation, seen) FROM stdin;
\.
SELECT pg_catalog.setval('mvi.sessions_key_seq', 4, true);
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
CREATE INDEX sessions_by_life ON mvi.sessions USING btree ((
CASE
    WHEN (subject IS NULL) THEN 0
    WHEN shared THEN 2
    ELSE 1
END), noted) WHERE (NOT reminded);
CREATE INDEX sessions_by_subject ON mvi.sessions USING btree (sha256(subject), key) WHERE (subject IS NOT NULL);
CREATE UNIQUE INDEX sessions_shared ON mvi.sessions USING btree (sha256(subject), sha256(issuer)) WHERE (shared AND (subject IS NOT NULL));
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
