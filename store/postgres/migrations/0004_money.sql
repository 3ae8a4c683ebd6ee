-- What was spent, and what is reserved for calls that still run. The fields of an
-- account that are empty stand for all; a day is 2006-01-02, UTC.

CREATE TABLE footnote.accounts (
	org_id          text COLLATE "C" NOT NULL,
	user_id         text COLLATE "C" NOT NULL,
	stream          text COLLATE "C" NOT NULL, -- the id of the conversation
	day             text COLLATE "C" NOT NULL,
	micro_usd       bigint NOT NULL,
	tokens          bigint NOT NULL,
	reserved_usd    bigint NOT NULL, -- in millionths, too
	reserved_tokens bigint NOT NULL,
	PRIMARY KEY (org_id, user_id, stream, day)
);

-- The balances of an org change with each of its calls: room for them on their pages
-- keeps the index out of it.
ALTER TABLE footnote.accounts SET (fillfactor = 50);

CREATE TABLE footnote.reservations (
	id        text COLLATE "C" PRIMARY KEY,
	org_id    text COLLATE "C" NOT NULL,
	user_id   text COLLATE "C" NOT NULL,
	stream    text COLLATE "C" NOT NULL,
	run       text NOT NULL,
	day       text NOT NULL,
	micro_usd bigint NOT NULL,
	tokens    bigint NOT NULL,
	expires   timestamptz NOT NULL
);

CREATE INDEX reservations_stream ON footnote.reservations (stream, expires, id);

CREATE INDEX reservations_expires ON footnote.reservations (expires, id);

CREATE INDEX streams_running ON footnote.streams (org_id, user_id) WHERE run_state = 'running';
