-- The API keys: a digest of each, and who it stands for.
CREATE TABLE footnote.keys (
	id         text COLLATE "C" PRIMARY KEY,
	hash       bytea NOT NULL,
	org_id     text COLLATE "C" NOT NULL,
	user_id    text COLLATE "C" NOT NULL,
	grants     text NOT NULL, -- JSON: roles and attributes
	created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	expires_at timestamptz,
	revoked_at timestamptz
);
