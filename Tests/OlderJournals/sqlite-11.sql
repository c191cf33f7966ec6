-- A journal of schema 11 that a real server wrote; dumped by Python's sqlite3.
BEGIN TRANSACTION;
CREATE TABLE credentials (
    session INTEGER NOT NULL,
    number INTEGER NOT NULL,
    token BLOB NOT NULL UNIQUE,             -- SHA-256
    kind TEXT NOT NULL,
    made INTEGER NOT NULL,
    revoked_until INTEGER,                  -- NULL: it is good
    principal BLOB NOT NULL, seen INTEGER NOT NULL DEFAULT 0, client TEXT,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE forgotten (time INTEGER NOT NULL, key BLOB NOT NULL, code BLOB NOT NULL) STRICT;
CREATE TABLE garbage (session INTEGER PRIMARY KEY) STRICT;
CREATE TABLE labels (
    session INTEGER NOT NULL,
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    feature TEXT NOT NULL,
    version INTEGER NOT NULL,
    intent TEXT,
    expiry INTEGER NOT NULL,
    written INTEGER NOT NULL DEFAULT 0,
    json BLOB NOT NULL,
    PRIMARY KEY (session, number, place)
) STRICT, WITHOUT ROWID;
INSERT INTO "labels" VALUES(1,2,0,'counter',2,'54ff27qzbmulg',1796025392790301916,0,X'7B2274797065223A226D696C6573746F6E65222C22636F756E74223A31307D');
INSERT INTO "labels" VALUES(2,2,0,'counter',2,'lawrhaimk2b3h',1796025392846428524,0,X'7B2274797065223A226D696C6573746F6E65222C22636F756E74223A31307D');
CREATE TABLE probe (id INTEGER PRIMARY KEY, count INTEGER NOT NULL, ballast BLOB NOT NULL) STRICT;
INSERT INTO "probe" VALUES(1,1,X'81');
CREATE TABLE receipts (
    session INTEGER NOT NULL,
    scope TEXT NOT NULL,                    -- 'k' and the feature, or 's' and the client's epoch
    name ANY NOT NULL,                      -- the key, or the number
    number INTEGER NOT NULL,                 -- the order in which they were made
    made INTEGER NOT NULL,
    intent TEXT NOT NULL,
    version INTEGER,                        -- NULL: refused
    status INTEGER,
    body_hash BLOB NOT NULL,
    body BLOB,
    PRIMARY KEY (session, scope, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "receipts" VALUES(3,'kchecklist:party','mas2bwzbtc3kt.0k',2,1796025092886710607,'k',2,NULL,X'64D7360E068CC7E9E27D21B172A76CEF1ACA3B213EDDBAA61EC94EE1FA5315F8',NULL);
CREATE TABLE recordings (
    id INTEGER PRIMARY KEY,                 -- session << 20 | place
    number INTEGER NOT NULL,
    feature TEXT NOT NULL,
    time INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE reminders (
    session INTEGER NOT NULL,
    feature TEXT NOT NULL,
    name TEXT NOT NULL,
    due INTEGER NOT NULL,
    number INTEGER NOT NULL,
    action BLOB NOT NULL, not_before INTEGER NOT NULL DEFAULT 0, next INTEGER AS (max(due, not_before)) VIRTUAL,
    PRIMARY KEY (session, feature, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE scrub (id INTEGER PRIMARY KEY, zeros BLOB NOT NULL) STRICT;
CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "secrets" VALUES('generation',X'9F74C8CF0757C932F1275E1AF2DC3D9E');
INSERT INTO "secrets" VALUES('key',X'8710BAD67C5E28B6D68A4F9C2117C7B4626FA7064BDEEBBEA7A97320E1EE05DF');
CREATE TABLE sessions (
    key INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again
    token BLOB NOT NULL UNIQUE,             -- SHA-256
    id TEXT NOT NULL UNIQUE,
    epoch TEXT NOT NULL,
    credential TEXT NOT NULL,
    created INTEGER NOT NULL,               -- nanoseconds since 1970, as all times
    last_seen INTEGER NOT NULL,             -- or newer: the stores' times
    head INTEGER NOT NULL DEFAULT 0, -- of stores that are gone
    nonce INTEGER NOT NULL DEFAULT 0,
    recent BLOB, lost TEXT NOT NULL DEFAULT '0', issuer TEXT, subject TEXT, shared INTEGER NOT NULL DEFAULT 0, reminded INTEGER NOT NULL DEFAULT 0, space TEXT, life INTEGER
    AS (CASE WHEN space IS NOT NULL THEN 3 WHEN subject IS NULL THEN 0 ELSE 1 + shared END) VIRTUAL, client TEXT) STRICT;
INSERT INTO "sessions" VALUES(1,X'FFAC6AF92380AA71045DDA325111BC85C3436BC39CBFF33EC1C5B2BBD53DC87C','mas2bwzbtc3kt','awtknbewoyqow','bearer',1796025093000000000,1796025093000000000,0,0,NULL,'0',NULL,NULL,0,0,NULL,'de-DE Europe/Berlin');
INSERT INTO "sessions" VALUES(2,X'4869C4A6813FA8A30B866974461609349CCA779A83CC3E3A088D6C5C9A5C779C','gp34kc3egx53j','fgtbuedgc6mzx','cookie',1796025093000000000,1796025093000000000,0,0,NULL,'0',NULL,NULL,0,0,NULL,NULL);
INSERT INTO "sessions" VALUES(3,X'9A5B8D4500A027706941B789B0B5A53A2C466A72FE71FE70ED51E39BEF66094B','m6h764hf74oyw','cpsnwtfqbgayx','bearer',1796025092885859302,1796025092885859312,0,0,NULL,'0',NULL,NULL,0,0,'checklist:party',NULL);
CREATE TABLE set_aside (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    number INTEGER NOT NULL,              -- of the turn that took the state's place
    feature TEXT NOT NULL,
    time INTEGER NOT NULL,
    reason TEXT NOT NULL,
    schema INTEGER NOT NULL,
    state BLOB NOT NULL,
    UNIQUE (session, number)
) STRICT;
CREATE TABLE stores (
    id INTEGER PRIMARY KEY,                 -- session << 16 | place
    feature TEXT NOT NULL,
    number INTEGER NOT NULL,              -- of its last turn
    time INTEGER NOT NULL,                  -- of its last append
    version INTEGER NOT NULL,
    nonce INTEGER NOT NULL,
    head INTEGER NOT NULL,
    made INTEGER NOT NULL,
    replaced INTEGER NOT NULL DEFAULT 0,
    schema INTEGER NOT NULL,
    view_intent TEXT,
    state BLOB NOT NULL,
    view BLOB NOT NULL
, recent BLOB) STRICT;
INSERT INTO "stores" VALUES(65536,'counter',2,1796025092790349757,2,5200398754775887391,2,1,0,1,'54ff27qzbmulg',X'7B22636F756E74223A31302C2269734C6F6164696E67223A66616C73657D',X'7B22636F756E74223A31302C2269734C6F6164696E67223A66616C73657D',X'020000000000000000');
INSERT INTO "stores" VALUES(131072,'counter',3,1796025092926593997,3,4106700970553080586,3,1,0,1,'rqorbihh25g7h',X'7B22636F756E74223A31312C2269734C6F6164696E67223A66616C73657D',X'7B22636F756E74223A31312C2269734C6F6164696E67223A66616C73657D',X'020000000000000000017952378AB9E07018');
INSERT INTO "stores" VALUES(196608,'checklist:party',2,1796025092886723806,2,211708488154580967,2,1,0,1,'k',X'7B226974656D73223A5B7B226964223A312C2274657874223A226D696C6B222C2261646465644279223A2267756573742D6A336467222C22636865636B65644279223A6E756C6C7D5D2C226164646564223A317D',X'7B226974656D73223A5B7B226964223A312C2274657874223A226D696C6B222C2261646465644279223A2267756573742D6A336467227D5D2C226164646564223A317D',X'020000000000000000');
CREATE TABLE tombstones (token BLOB PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE visits (
    session INTEGER NOT NULL,               -- the space
    visitor TEXT NOT NULL,                  -- the id of a session
    last_use INTEGER NOT NULL,
    issuer TEXT,
    subject TEXT,                           -- NULL: the visitor was always anonymous
    forgotten INTEGER NOT NULL DEFAULT 0,   -- 1: the subject was deleted
    PRIMARY KEY (session, visitor)
) STRICT;
INSERT INTO "visits" VALUES(3,'mas2bwzbtc3kt',1796025092886490440,NULL,NULL,0);
CREATE INDEX tombstones_by_end ON tombstones (until);
CREATE INDEX sessions_by_subject ON sessions (subject, issuer) WHERE subject IS NOT NULL;
CREATE UNIQUE INDEX sessions_shared ON sessions (subject, issuer) WHERE shared = 1;
CREATE INDEX reminders_by_due ON reminders (due, session);
CREATE INDEX reminders_by_next ON reminders (next, session);
CREATE UNIQUE INDEX sessions_by_space ON sessions (space) WHERE space IS NOT NULL;
CREATE INDEX sessions_by_life ON sessions (life, last_seen) WHERE reminded = 0;
CREATE INDEX visits_by_subject ON visits (subject, issuer) WHERE subject IS NOT NULL;
CREATE INDEX visits_forgotten ON visits (forgotten) WHERE forgotten = 1;
CREATE INDEX visits_by_visitor ON visits (visitor) WHERE subject IS NULL;
CREATE INDEX visits_by_use ON visits (last_use) WHERE subject IS NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('sessions',3);
COMMIT;
PRAGMA application_id = 1836476746;
PRAGMA user_version = 11;
