-- Searches fold titles and texts as they read them.

ALTER TABLE streams DROP COLUMN title_fold;
