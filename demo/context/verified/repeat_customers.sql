-- question: Repeat customers in {year}
-- paraphrase: How many customers ordered more than once in {year}?
-- paraphrase: Stammkunden in {year}
-- parameter: year year
-- source: shop
-- author: Ben
-- date: 2026-10-19
SELECT count(*) AS customers, sum(orders > 1) AS repeat_customers,
  round(100.0 * sum(orders > 1) / count(*), 1) AS repeat_percent
FROM (
  SELECT customer_id, count(*) AS orders
  FROM orders
  WHERE CAST(strftime('%Y', ordered_at) AS INTEGER) = $1 AND status <> 'cancelled'
  GROUP BY customer_id
)
