-- The API keys: a digest of each, and who it stands for. Times are as in the log.
CREATE TABLE keys (
	id      TEXT PRIMARY KEY,
	hash    BLOB NOT NULL,
	org     TEXT NOT NULL,
	user    TEXT NOT NULL,
	grants  TEXT NOT NULL, -- JSON: roles and attributes
	created INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	revoked INTEGER NOT NULL
) WITHOUT ROWID;
