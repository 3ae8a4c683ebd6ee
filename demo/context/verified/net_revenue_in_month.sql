-- question: Net revenue in {month}
-- paraphrase: What was our net revenue in {month}?
-- paraphrase: How much did we earn in {month} without returned and cancelled orders?
-- paraphrase: Nettoumsatz im {month}
-- parameter: month month
-- source: shop
-- author: Ann
-- date: 2026-11-02
SELECT round(sum(total), 2) AS net_revenue_eur
FROM orders
WHERE ordered_at >= $1 AND ordered_at < date($1, '+1 month')
  AND status NOT IN ('returned', 'cancelled')
