CREATE TABLE customers (
  id           INTEGER PRIMARY KEY,
  name         TEXT NOT NULL,
  email        TEXT NOT NULL UNIQUE,
  city         TEXT NOT NULL,
  country      TEXT NOT NULL,
  segment      TEXT NOT NULL CHECK (segment IN ('consumer', 'small business', 'enterprise')),
  signed_up_on DATE NOT NULL
);
CREATE TABLE products (
  id       INTEGER PRIMARY KEY,
  sku      TEXT NOT NULL UNIQUE,
  name     TEXT NOT NULL,
  category TEXT NOT NULL,
  price    REAL NOT NULL CHECK (price > 0), -- today's list price in euros
  cost     REAL NOT NULL CHECK (cost > 0)   -- what the shop pays for one, in euros
);
CREATE TABLE orders (
  id          INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  ordered_at  TIMESTAMP NOT NULL, -- UTC
  status      TEXT NOT NULL CHECK (status IN ('processing', 'shipped', 'delivered', 'returned', 'cancelled')),
  channel     TEXT NOT NULL CHECK (channel IN ('web', 'mobile', 'phone')),
  total       REAL NOT NULL       -- sum of its items, in euros
);
CREATE TABLE order_items (
  id         INTEGER PRIMARY KEY,
  order_id   INTEGER NOT NULL REFERENCES orders (id),
  product_id INTEGER NOT NULL REFERENCES products (id),
  quantity   INTEGER NOT NULL CHECK (quantity > 0),
  unit_price REAL NOT NULL        -- what was paid for one at the time, in euros
);
CREATE INDEX orders_customer ON orders (customer_id);
CREATE INDEX orders_time ON orders (ordered_at);
CREATE INDEX order_items_order ON order_items (order_id);
CREATE INDEX order_items_product ON order_items (product_id);
