-- question: How many active customers did we have in {month}?
-- paraphrase: Active customers in {month}
-- paraphrase: Aktive Kunden im {month}
-- parameter: month month
-- source: shop
-- author: Ben
-- date: 2026-10-19
SELECT count(DISTINCT customer_id) AS active_customers
FROM orders
WHERE ordered_at >= $1 AND ordered_at < date($1, '+1 month') AND status <> 'cancelled'
