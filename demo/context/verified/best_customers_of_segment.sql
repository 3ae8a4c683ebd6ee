-- question: Best {n} customers in the segment {segment}
-- paraphrase: Who are our {n} best customers among {segment} customers?
-- parameter: segment one of consumer, small business, enterprise
-- parameter: n int
-- source: shop
-- author: Ann
-- date: 2026-11-02
SELECT c.name, c.city, round(sum(o.total), 2) AS net_revenue_eur
FROM customers c
JOIN orders o ON o.customer_id = c.id
WHERE c.segment = $1 AND o.status NOT IN ('returned', 'cancelled')
GROUP BY c.id
ORDER BY 3 DESC, 1
LIMIT $2
