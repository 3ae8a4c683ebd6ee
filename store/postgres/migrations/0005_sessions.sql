-- The sessions of pages, under a digest of their token; what the token covers is
-- nothing without it.
CREATE TABLE footnote.sessions (
	id      bytea PRIMARY KEY,
	sealed  bytea NOT NULL,
	ends_at timestamptz NOT NULL
);

CREATE INDEX sessions_ends_at ON footnote.sessions (ends_at);
