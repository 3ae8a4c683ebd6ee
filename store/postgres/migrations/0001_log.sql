-- The event log. Ids are compared byte by byte: no two that differ are one.

CREATE TABLE footnote.streams (
	n             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id            text COLLATE "C" NOT NULL UNIQUE,
	kind          text COLLATE "C" NOT NULL,
	org_id        text COLLATE "C" NOT NULL,
	user_id       text COLLATE "C" NOT NULL,
	client_id     text COLLATE "C" NOT NULL,
	assistant     text COLLATE "C" NOT NULL,
	title         text NOT NULL,
	title_fold    text COLLATE "C" NOT NULL, -- in the case that a search is compared in
	last          bigint NOT NULL,
	run           text NOT NULL,
	run_state     text NOT NULL,
	deadline      timestamptz,
	created_at    timestamptz NOT NULL,
	updated_at    timestamptz NOT NULL,
	write_id      bigint NOT NULL, -- of the write that made it; see events
	lease_token   bigint NOT NULL DEFAULT 0, -- 0: nobody has it
	lease_owner   text NOT NULL DEFAULT '',
	lease_expires timestamptz
);

CREATE UNIQUE INDEX streams_client ON footnote.streams (org_id, user_id, kind, client_id) WHERE client_id <> '';

CREATE INDEX streams_listing ON footnote.streams (org_id, user_id, updated_at, id);

CREATE INDEX streams_unfinished ON footnote.streams (updated_at, id) WHERE run_state <> '';

-- Positions are given under a lock that is held until the commit is visible, so
-- that they become visible in their order. One is never given twice.
CREATE SEQUENCE footnote.positions;

-- The body is the JSON as it was written: jsonb would change it, and json refuses
-- what a conversation may hold. The first event of each write has the id that its
-- writer chose, by which it finds out whether a commit it lost sight of was done.
CREATE TABLE footnote.events (
	position bigint PRIMARY KEY,
	stream   bigint NOT NULL,
	seq      bigint NOT NULL,
	write_id bigint,
	time     timestamptz NOT NULL,
	run      text NOT NULL,
	kind     text NOT NULL,
	body     text NOT NULL
);

CREATE UNIQUE INDEX events_stream ON footnote.events (stream, seq);

CREATE TABLE footnote.blobs (
	stream bigint NOT NULL,
	digest text COLLATE "C" NOT NULL,
	data   bytea NOT NULL,
	PRIMARY KEY (stream, digest)
);

CREATE TABLE footnote.cursors (
	name     text COLLATE "C" PRIMARY KEY,
	position bigint NOT NULL
);

-- Written to learn whether the database takes writes.
CREATE TABLE footnote.ping (
	n  integer PRIMARY KEY CHECK (n = 1),
	at timestamptz NOT NULL
);

INSERT INTO footnote.ping VALUES (1, now());

-- as_jsonb is a body for the views. What jsonb cannot hold, a NUL or half of a
-- surrogate pair, becomes U+FFFD; a body that still is none becomes NULL.
CREATE FUNCTION footnote.as_jsonb(body text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	RETURN body::jsonb;
EXCEPTION WHEN OTHERS THEN
	BEGIN
		RETURN regexp_replace(body, '\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\ufffd', 'g')::jsonb;
	EXCEPTION WHEN OTHERS THEN
		RETURN NULL;
	END;
END $$;

-- Each call of a tool with its result.
CREATE VIEW footnote.tool_results AS
SELECT
	s.id || '/' || e.seq AS id,
	s.id || '/' || call.seq AS event_id, -- the assistant's message that made the call
	e.result ->> 'name' AS tool_name,
	call.input AS input,
	jsonb_strip_nulls(jsonb_build_object('content', e.result -> 'content', 'is_error', e.result -> 'is_error', 'result', e.result -> 'result')) AS output,
	e.time AS executed_at,
	coalesce((e.result ->> 'millis')::bigint, 0) AS duration_ms,
	s.id AS conversation_id,
	s.org_id AS org_id,
	s.user_id AS user_id
FROM footnote.streams s
JOIN LATERAL (
	SELECT seq, time, footnote.as_jsonb(body) AS result FROM footnote.events WHERE stream = s.n AND kind = 'tool_result' OFFSET 0
) e ON true
LEFT JOIN LATERAL (
	SELECT a.seq, block.value -> 'input' AS input
	FROM footnote.events a,
		jsonb_path_query(footnote.as_jsonb(a.body), '$.blocks[*]') AS block(value)
	WHERE a.stream = s.n AND a.seq < e.seq AND a.kind = 'assistant_message'
		AND block.value ->> 'id' = e.result ->> 'call_id'
	ORDER BY a.seq DESC LIMIT 1
) call ON true;
