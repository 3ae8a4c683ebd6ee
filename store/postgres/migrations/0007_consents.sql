-- Who has allowed which program to act for them, with digests of the program's tokens.
CREATE TABLE footnote.consents (
	id         text COLLATE "C" PRIMARY KEY,
	org_id     text COLLATE "C" NOT NULL,
	user_id    text COLLATE "C" NOT NULL,
	token      bytea NOT NULL,
	data       bytea NOT NULL,
	created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	used_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
	ends_at    timestamptz NOT NULL,
	revoked_at timestamptz
);
CREATE INDEX consents_of ON footnote.consents (org_id, user_id);
