-- What was spent, and what is reserved for calls that still run. The fields of an
-- account that are empty stand for all; a day is 2006-01-02, UTC.

CREATE TABLE accounts (
	org             TEXT NOT NULL,
	user            TEXT NOT NULL,
	stream          TEXT NOT NULL, -- the id of the conversation
	day             TEXT NOT NULL,
	micro_usd       INTEGER NOT NULL,
	tokens          INTEGER NOT NULL,
	reserved_usd    INTEGER NOT NULL, -- in millionths, too
	reserved_tokens INTEGER NOT NULL,
	PRIMARY KEY (org, user, stream, day)
) WITHOUT ROWID;

CREATE TABLE reservations (
	id        TEXT PRIMARY KEY,
	org       TEXT NOT NULL,
	user      TEXT NOT NULL,
	stream    TEXT NOT NULL,
	run       TEXT NOT NULL,
	day       TEXT NOT NULL,
	micro_usd INTEGER NOT NULL,
	tokens    INTEGER NOT NULL,
	expires   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX reservations_stream ON reservations (stream, expires, id);
CREATE INDEX reservations_expires ON reservations (expires, id);
