CREATE SCHEMA IF NOT EXISTS footnote_market;
CREATE TABLE footnote_market.version (version integer PRIMARY KEY);
INSERT INTO footnote_market.version VALUES (2);
CREATE TABLE footnote_market.symbols (
  id        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  symbol    text COLLATE "C" NOT NULL UNIQUE,
  name      text NOT NULL,
  base      text NOT NULL,
  quote     text NOT NULL,
  digits    integer NOT NULL,
  synthetic boolean NOT NULL
);
-- A series is the bars of one time frame as they were loaded, or those that are made of
-- all that was and are shown. Its bounds are beginnings of bars.
CREATE TABLE footnote_market.series (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  symbol    integer NOT NULL REFERENCES footnote_market.symbols (id),
  timeframe text NOT NULL,
  made      boolean NOT NULL,
  first     timestamptz NOT NULL,
  last      timestamptz NOT NULL,
  UNIQUE (symbol, timeframe, made)
);
CREATE TABLE footnote_market.candles (
  series bigint NOT NULL,
  time   timestamptz NOT NULL,
  open   double precision NOT NULL,
  high   double precision NOT NULL,
  low    double precision NOT NULL,
  close  double precision NOT NULL,
  volume double precision NOT NULL,
  PRIMARY KEY (series, time)
);
CREATE TABLE footnote_market.events (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  time      timestamptz NOT NULL,
  currency  text NOT NULL,
  title     text NOT NULL,
  impact    integer NOT NULL, -- 1 low, 2 medium, 3 high
  actual    double precision,
  forecast  double precision,
  previous  double precision,
  unit      text NOT NULL,
  synthetic boolean NOT NULL,
  UNIQUE (time, currency, title)
);
CREATE TABLE footnote_market.headlines (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  time       timestamptz NOT NULL,
  source     text NOT NULL,
  title      text NOT NULL,
  url        text NOT NULL,
  currencies text[] NOT NULL,
  synthetic  boolean NOT NULL,
  UNIQUE (time, source, title)
);
CREATE TABLE footnote_market.cot (
  symbol     text NOT NULL,
  date       timestamptz NOT NULL,
  published  timestamptz NOT NULL,
  spec_long  bigint NOT NULL, spec_short bigint NOT NULL,
  comm_long  bigint NOT NULL, comm_short bigint NOT NULL,
  interest   bigint NOT NULL,
  synthetic  boolean NOT NULL,
  PRIMARY KEY (symbol, date)
);
CREATE TABLE footnote_market.trades (
  org       text COLLATE "C" NOT NULL,
  username  text COLLATE "C" NOT NULL,
  id        text COLLATE "C" NOT NULL,
  symbol    text NOT NULL,
  side      text NOT NULL,
  size      double precision NOT NULL,
  opened    timestamptz NOT NULL,
  closed    timestamptz, -- null: open still
  entry     double precision NOT NULL,
  exit      double precision NOT NULL,
  stop      double precision NOT NULL,
  target    double precision NOT NULL,
  pnl       double precision NOT NULL,
  currency  text NOT NULL,
  notes     text NOT NULL,
  synthetic boolean NOT NULL,
  PRIMARY KEY (org, username, id)
);
CREATE INDEX trades_closed ON footnote_market.trades (org, username, closed);
