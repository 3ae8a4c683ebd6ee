-- The event log. Times are microseconds since 1970, UTC; 0 is no time.

CREATE TABLE streams (
	n          INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	kind       TEXT NOT NULL,
	org        TEXT NOT NULL,
	user       TEXT NOT NULL,
	client_id  TEXT NOT NULL,
	assistant  TEXT NOT NULL,
	title      TEXT NOT NULL,
	title_fold TEXT NOT NULL, -- in the case that a search is compared in
	last       INTEGER NOT NULL,
	run        TEXT NOT NULL,
	run_state  TEXT NOT NULL,
	deadline   INTEGER NOT NULL,
	created    INTEGER NOT NULL,
	updated    INTEGER NOT NULL
);
CREATE UNIQUE INDEX streams_client ON streams (org, user, kind, client_id) WHERE client_id <> '';
CREATE INDEX streams_listing ON streams (org, user, updated, id);
CREATE INDEX streams_unfinished ON streams (updated, id) WHERE run_state <> '';

-- AUTOINCREMENT: a position is never given twice, even after a delete, or the
-- readers of the tail would miss events.
CREATE TABLE events (
	position INTEGER PRIMARY KEY AUTOINCREMENT,
	stream   INTEGER NOT NULL,
	seq      INTEGER NOT NULL,
	time     INTEGER NOT NULL,
	run      TEXT NOT NULL,
	kind     TEXT NOT NULL,
	body     TEXT NOT NULL
);
CREATE UNIQUE INDEX events_stream ON events (stream, seq);

CREATE TABLE blobs (
	n      INTEGER PRIMARY KEY,
	digest TEXT NOT NULL UNIQUE,
	data   BLOB NOT NULL
);
CREATE TABLE blob_refs (
	stream INTEGER NOT NULL,
	blob   INTEGER NOT NULL,
	PRIMARY KEY (stream, blob)
) WITHOUT ROWID;
CREATE INDEX blob_refs_blob ON blob_refs (blob);

CREATE TABLE cursors (
	name     TEXT PRIMARY KEY,
	position INTEGER NOT NULL
) WITHOUT ROWID;

-- Written to learn whether the disk takes writes.
CREATE TABLE ping (
	n  INTEGER PRIMARY KEY CHECK (n = 1),
	at INTEGER NOT NULL
);
INSERT INTO ping VALUES (1, 0);
