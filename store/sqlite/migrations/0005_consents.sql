-- Who has allowed which program to act for them, with digests of the program's tokens. Times are as in the log.
CREATE TABLE consents (
	id      TEXT PRIMARY KEY,
	org     TEXT NOT NULL,
	user    TEXT NOT NULL,
	token   BLOB NOT NULL,
	data    BLOB NOT NULL,
	created INTEGER NOT NULL,
	used    INTEGER NOT NULL,
	ends    INTEGER NOT NULL,
	revoked INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX consents_of ON consents (org, user);
