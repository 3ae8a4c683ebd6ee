CREATE TABLE symbols (
  id        INTEGER PRIMARY KEY,
  symbol    TEXT NOT NULL UNIQUE,
  name      TEXT NOT NULL,
  base      TEXT NOT NULL,
  quote     TEXT NOT NULL,
  digits    INTEGER NOT NULL,
  synthetic INTEGER NOT NULL
);
-- A series is the bars of one time frame as they were loaded, or those that are made of
-- all that was and are shown. Its bounds are beginnings of bars.
CREATE TABLE series (
  id        INTEGER PRIMARY KEY,
  symbol    INTEGER NOT NULL REFERENCES symbols (id),
  timeframe TEXT NOT NULL,
  made      INTEGER NOT NULL,
  first     INTEGER NOT NULL,
  last      INTEGER NOT NULL,
  UNIQUE (symbol, timeframe, made)
);
CREATE TABLE candles (
  series INTEGER NOT NULL,
  time   INTEGER NOT NULL, -- Unix seconds, as all times here
  open   REAL NOT NULL,
  high   REAL NOT NULL,
  low    REAL NOT NULL,
  close  REAL NOT NULL,
  volume REAL NOT NULL,
  PRIMARY KEY (series, time)
) WITHOUT ROWID;
CREATE TABLE events (
  id        INTEGER PRIMARY KEY,
  time      INTEGER NOT NULL,
  currency  TEXT NOT NULL,
  title     TEXT NOT NULL,
  impact    INTEGER NOT NULL, -- 1 low, 2 medium, 3 high
  actual    REAL,
  forecast  REAL,
  previous  REAL,
  unit      TEXT NOT NULL,
  synthetic INTEGER NOT NULL,
  UNIQUE (time, currency, title)
);
CREATE TABLE headlines (
  id         INTEGER PRIMARY KEY,
  time       INTEGER NOT NULL,
  source     TEXT NOT NULL,
  title      TEXT NOT NULL,
  url        TEXT NOT NULL,
  currencies TEXT NOT NULL, -- as in ,EUR,USD,
  synthetic  INTEGER NOT NULL,
  UNIQUE (time, source, title)
);
CREATE TABLE cot (
  symbol    TEXT NOT NULL,
  date      INTEGER NOT NULL,
  published INTEGER NOT NULL,
  spec_long INTEGER NOT NULL, spec_short INTEGER NOT NULL,
  comm_long INTEGER NOT NULL, comm_short INTEGER NOT NULL,
  interest  INTEGER NOT NULL,
  synthetic INTEGER NOT NULL,
  PRIMARY KEY (symbol, date)
) WITHOUT ROWID;
CREATE TABLE trades (
  org       TEXT NOT NULL,
  user      TEXT NOT NULL,
  id        TEXT NOT NULL,
  symbol    TEXT NOT NULL,
  side      TEXT NOT NULL,
  size      REAL NOT NULL,
  opened    INTEGER NOT NULL,
  closed    INTEGER, -- null: open still
  entry     REAL NOT NULL,
  exit      REAL NOT NULL,
  stop      REAL NOT NULL,
  target    REAL NOT NULL,
  pnl       REAL NOT NULL,
  currency  TEXT NOT NULL,
  notes     TEXT NOT NULL,
  synthetic INTEGER NOT NULL,
  PRIMARY KEY (org, user, id)
) WITHOUT ROWID;
CREATE INDEX trades_closed ON trades (org, user, closed);
