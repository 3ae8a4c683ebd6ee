-- What several servers tell each other.

-- Runs that somebody asked to stop at a server that does not drive them. Who drives
-- a run looks here; it is no part of the log, which says how the run ended.
CREATE TABLE footnote.stops (
	run    text COLLATE "C" PRIMARY KEY,
	stream text COLLATE "C" NOT NULL,
	asker  text NOT NULL,
	at     timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A projection that one server at a time writes has an owner until it expires, by
-- the database's clock.
ALTER TABLE footnote.cursors
	ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT '',
	ADD COLUMN owned_until timestamptz;
