-- question: Return rate by category in {year}
-- paraphrase: What share of the items was returned in {year}, by category?
-- paraphrase: Retourenquote nach Kategorie in {year}
-- parameter: year year
-- source: shop
-- author: Ben
-- date: 2026-10-19
SELECT p.category,
  round(100.0 * sum(CASE WHEN o.status = 'returned' THEN i.quantity ELSE 0 END) / sum(i.quantity), 1) AS return_percent
FROM order_items i
JOIN orders o ON o.id = i.order_id
JOIN products p ON p.id = i.product_id
WHERE CAST(strftime('%Y', o.ordered_at) AS INTEGER) = $1 AND o.status <> 'cancelled'
GROUP BY 1
ORDER BY 2 DESC, 1
