-- What counts as used when a process dies before it has settled a reservation. A server of
-- the version before this one, beside which this runs during an upgrade, writes none.

ALTER TABLE footnote.reservations ADD COLUMN lost_usd bigint NOT NULL DEFAULT 0;
ALTER TABLE footnote.reservations ADD COLUMN lost_tokens bigint NOT NULL DEFAULT 0;

UPDATE footnote.reservations SET lost_usd = micro_usd, lost_tokens = tokens;
