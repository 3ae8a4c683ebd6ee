-- What counts as used when a process dies before it has settled a reservation.

ALTER TABLE reservations ADD COLUMN lost_usd INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reservations ADD COLUMN lost_tokens INTEGER NOT NULL DEFAULT 0;

UPDATE reservations SET lost_usd = micro_usd, lost_tokens = tokens;
