-- Searches fold titles and texts as they read them. A server of the version before this
-- one, beside which this runs during an upgrade, still writes the column.

ALTER TABLE footnote.streams ALTER COLUMN title_fold SET DEFAULT '';
