-- A journal of schema 1 that a real server wrote; dumped by pg_dump.
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
    era integer NOT NULL
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
    past integer NOT NULL
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
    CONSTRAINT meta_one_check CHECK (one)
);
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
    action bytea NOT NULL
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
COPY mvi.eras (era) FROM stdin;
20785
20786
20787
\.
COPY mvi.heads (key, number, nonce, recent, seen, epoch, lost, first_number, first_place, label_era, past) FROM stdin;
1	4	-3152507224428570064	\\x00000000000000039a9a3ff08b818d580000000000000002abcfd1957b7e8fb800000000000000000000000000000000	1795874384000000000	\\x696578347372757a666a666c33	\\x30	0	0	\N	0
3	3	2725878396876228087	\\x0000000000000002b4db130926a24ad600000000000000000000000000000000	1795874384000000000	\\x697364367465776a7070766f72	\\x30	0	0	20785	0
2	11	-9097247732276842719	\\x000000000000000af79dbd768490390500000000000000086499d7cf7847833600000000000000070bf0407af62ad93f00000000000000062aaca0b2a28931e7000000000000000559affa93750753170000000000000004ce227931bfd5f7dd000000000000000373133aaf252e1e810000000000000002ed95d481a2acf5d600000000000000000000000000000000	1795874384873065128	\\x6262733776717963346e6b6970	\\x30	0	0	\N	0
\.
COPY mvi.labels_20785 (era, session, number, place, feature, version, intent, expiry, written, json) FROM stdin;
20785	3	3	0	counter	3	\\x676b6272637872346c6a646368	1795874683350889215	f	\\x7b2274797065223a226d696c6573746f6e65222c22636f756e74223a31307d
\.
COPY mvi.labels_20786 (era, session, number, place, feature, version, intent, expiry, written, json) FROM stdin;
\.
COPY mvi.labels_20787 (era, session, number, place, feature, version, intent, expiry, written, json) FROM stdin;
\.
COPY mvi.meta (one, version, place, past, key, generation) FROM stdin;
t	1	7713221738140282794/00000001/16415	0	\\xf894c2884e15d54a9bfac084a311afb964828a40c4d76b92f28c0cba9a8fb0c2	\\x292b207fe349f92eb05d2a833b7efbe3
\.
COPY mvi.receipts_20785 (era, session, hash, scope, name, number, made, intent, version, status, body_hash, body) FROM stdin;
20785	1	-1402508282813510157	\\x6b636f756e746572	\\x6b65792d30	2	1795874383272504857	\\x6b65792d30	2	\N	\\x1aa74da632cb75a27ac221df74ea8f90a411706e7afb13c2dd9bd9210c503540	\N
20785	1	-1402509382325138368	\\x6b636f756e746572	\\x6b65792d31	3	1795874383286246566	\\x6b65792d31	3	\N	\\x1aa74da632cb75a27ac221df74ea8f90a411706e7afb13c2dd9bd9210c503540	\N
20785	1	-1402506083790253735	\\x6b636f756e746572	\\x6b65792d32	4	1795874383295291614	\\x6b65792d32	4	\N	\\x1aa74da632cb75a27ac221df74ea8f90a411706e7afb13c2dd9bd9210c503540	\N
\.
COPY mvi.receipts_20786 (era, session, hash, scope, name, number, made, intent, version, status, body_hash, body) FROM stdin;
\.
COPY mvi.receipts_20787 (era, session, hash, scope, name, number, made, intent, version, status, body_hash, body) FROM stdin;
\.
COPY mvi.recordings (session, number, feature, "time", body) FROM stdin;
1	1	counter	1795874383271939463	\\x7b22696e74656e74223a22e280b9626f6f747374726170e280ba222c226361757365223a6e756c6c2c22616374696f6e73223a5b5d2c226d65737361676573223a5b5d2c227374617465223a7b22636f756e74223a302c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
1	2	counter	1795874383272504857	\\x7b22696e74656e74223a226b65792d30222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a347d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a347d5d2c227374617465223a7b22636f756e74223a342c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
1	3	counter	1795874383286246566	\\x7b22696e74656e74223a226b65792d31222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a347d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a347d5d2c227374617465223a7b22636f756e74223a382c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
1	4	counter	1795874383295291614	\\x7b22696e74656e74223a226b65792d32222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a347d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a347d5d2c227374617465223a7b22636f756e74223a31322c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
2	7	counter	1795874383326690126	\\x7b22696e74656e74223a22706b65666378777a6966627961222c226361757365223a7b2274797065223a22696e6372656d656e74227d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a317d5d2c227374617465223a7b22636f756e74223a362c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
2	8	counter	1795874383330788415	\\x7b22696e74656e74223a226c62356f32676b347234747061222c226361757365223a7b2274797065223a22696e6372656d656e74227d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a317d5d2c227374617465223a7b22636f756e74223a372c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
2	9	user-info	1795874383335434761	\\x7b22696e74656e74223a22e280b9626f6f747374726170e280ba222c226361757365223a6e756c6c2c22616374696f6e73223a5b7b2274797065223a22666574636855736572227d5d2c226d65737361676573223a5b7b2274797065223a22666574636853746172746564227d5d2c227374617465223a7b2275736572223a6e756c6c2c2270726f6772657373223a226c6f6164696e67227d2c226c6162656c73223a5b5d7d
2	10	user-info	1795874383335563126	\\x7b22696e74656e74223a226d726b6c65773675356e327468222c226361757365223a7b2274797065223a2272656c6f6164227d2c22616374696f6e73223a5b7b2274797065223a22666574636855736572227d5d2c226d65737361676573223a5b7b2274797065223a22666574636853746172746564227d5d2c227374617465223a7b2275736572223a6e756c6c2c2270726f6772657373223a226c6f6164696e67227d2c226c6162656c73223a5b5d7d
3	1	counter	1795874383341941780	\\x7b22696e74656e74223a22e280b9626f6f747374726170e280ba222c226361757365223a6e756c6c2c22616374696f6e73223a5b5d2c226d65737361676573223a5b5d2c227374617465223a7b22636f756e74223a302c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
3	2	counter	1795874383342058098	\\x7b22696e74656e74223a22667468636b79647a7532616b65222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a357d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a357d5d2c227374617465223a7b22636f756e74223a352c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b5d7d
3	3	counter	1795874383350889215	\\x7b22696e74656e74223a22676b6272637872346c6a646368222c226361757365223a7b2274797065223a22616464222c22616d6f756e74223a357d2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a226368616e676564222c226279223a357d5d2c227374617465223a7b22636f756e74223a31302c2269734c6f6164696e67223a66616c73657d2c226c6162656c73223a5b7b2274797065223a226d696c6573746f6e65222c22636f756e74223a31307d5d7d
2	11	user-info	1795874383439888594	\\x7b22696e74656e74223a226d726b6c65773675356e327468222c226361757365223a6e756c6c2c22616374696f6e73223a5b5d2c226d65737361676573223a5b7b2274797065223a2266657463686564222c2276616c7565223a7b226e616d65223a224164612042657267737472c3b66d222c22656d61696c223a22616461406578616d706c652e6f7267222c2270686f6e65223a222b3436203820353535302030313031222c2263697479223a2247c3b67465626f7267222c22706c616e223a225465616d222c226a6f696e65644174223a7b2279656172223a323032312c226d6f6e7468223a332c22646179223a31382c22686f7572223a392c226d696e757465223a31327d7d7d5d2c227374617465223a7b2275736572223a7b226e616d65223a224164612042657267737472c3b66d222c22656d61696c223a22616461406578616d706c652e6f7267222c2270686f6e65223a222b3436203820353535302030313031222c2263697479223a2247c3b67465626f7267222c22706c616e223a225465616d222c226a6f696e65644174223a7b2279656172223a323032312c226d6f6e7468223a332c22646179223a31382c22686f7572223a392c226d696e757465223a31327d7d2c2270726f6772657373223a2269646c65227d2c226c6162656c73223a5b5d7d
\.
COPY mvi.reminders (session, feature, name, due, number, action) FROM stdin;
\.
COPY mvi.sessions (key, token, id, credential, created, noted, issuer, subject, shared, reminded) FROM stdin;
1	\\x06c7fc2d0ae9aee77a0147478e490c69e8f1d51f17facd2ba18f99c75b96cd26	\\x686f646c76726b627766737037	bearer	1795874384000000000	1795874384000000000	\N	\N	f	f
2	\\x8756d1c8ab4bd4ffa2a1c86d79da9fd726e453805a213a0f1fc2ceac36c6bb84	\\x626a6a6f6669657a7668336c61	bearer	1795874384000000000	1795874384000000000	\N	\N	f	f
3	\\x6e080c502669e5b906d8e7b2d82d3416174cca2ab0794fc7281bbeeda5b28c73	\\x636269627a73767178686a6469	bearer	1795874384000000000	1795874384000000000	\N	\N	f	f
\.
COPY mvi.set_aside (id, session, feature, "time", reason, schema, state) FROM stdin;
\.
COPY mvi.stores (session, feature, number, version, made, replaced, schema, view_intent, state, view) FROM stdin;
1	counter	4	4	1	0	1	\\x6b65792d32	\\x7b22636f756e74223a31322c2269734c6f6164696e67223a66616c73657d	\\x7b22636f756e74223a31322c2269734c6f6164696e67223a66616c73657d
2	counter	8	8	1	0	1	\\x6c62356f32676b347234747061	\\x7b22636f756e74223a372c2269734c6f6164696e67223a66616c73657d	\\x7b22636f756e74223a372c2269734c6f6164696e67223a66616c73657d
3	counter	3	3	1	0	1	\\x676b6272637872346c6a646368	\\x7b22636f756e74223a31302c2269734c6f6164696e67223a66616c73657d	\\x7b22636f756e74223a31302c2269734c6f6164696e67223a66616c73657d
2	user-info	11	11	9	0	1	\\x6d726b6c65773675356e327468	\\x7b2275736572223a7b226e616d65223a224164612042657267737472c3b66d222c22656d61696c223a22616461406578616d706c652e6f7267222c2270686f6e65223a222b3436203820353535302030313031222c2263697479223a2247c3b67465626f7267222c22706c616e223a225465616d222c226a6f696e65644174223a7b2279656172223a323032312c226d6f6e7468223a332c22646179223a31382c22686f7572223a392c226d696e757465223a31327d7d2c2270726f6772657373223a2269646c65227d	\\x7b22737461747573223a22636f6e74656e74222c2270726f66696c65223a7b226e616d65223a224164612042657267737472c3b66d222c22696e697469616c73223a224142222c22656d61696c223a22616461406578616d706c652e6f7267222c2270686f6e65223a222b3436203820353535302030313031222c2263697479223a2247c3b67465626f7267222c226d656d62657273686970223a225465616d20706c616e20c2b7206d656d6265722073696e6365204d617263682032303231227d7d
\.
COPY mvi.tokens (token, session, until) FROM stdin;
\\x06c7fc2d0ae9aee77a0147478e490c69e8f1d51f17facd2ba18f99c75b96cd26	1	\N
\\x8756d1c8ab4bd4ffa2a1c86d79da9fd726e453805a213a0f1fc2ceac36c6bb84	2	\N
\\x6e080c502669e5b906d8e7b2d82d3416174cca2ab0794fc7281bbeeda5b28c73	3	\N
\\xb2d10a34862a8a35a3bd1bafa6ed07a47be9b8c66d2af72b36d2e1e82d3b3f64	\N	1795960784000000000
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
ALTER TABLE ONLY mvi.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (token);
ALTER TABLE ONLY mvi.writers
    ADD CONSTRAINT writers_pkey PRIMARY KEY (id);
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
CREATE INDEX tokens_by_end ON mvi.tokens USING btree (until) WHERE (until IS NOT NULL);
CREATE INDEX tokens_by_session ON mvi.tokens USING btree (session) WHERE (session IS NOT NULL);
ALTER INDEX mvi.labels_by_session ATTACH PARTITION mvi.labels_20785_session_number_place_idx;
ALTER INDEX mvi.labels_by_session ATTACH PARTITION mvi.labels_20786_session_number_place_idx;
ALTER INDEX mvi.labels_by_session ATTACH PARTITION mvi.labels_20787_session_number_place_idx;
ALTER INDEX mvi.receipts_by_session ATTACH PARTITION mvi.receipts_20785_session_hash_idx;
ALTER INDEX mvi.receipts_by_session ATTACH PARTITION mvi.receipts_20786_session_hash_idx;
ALTER INDEX mvi.receipts_by_session ATTACH PARTITION mvi.receipts_20787_session_hash_idx;
