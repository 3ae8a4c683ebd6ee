-- question: Gross margin by category in {year}
-- paraphrase: What margin did each category have in {year}?
-- paraphrase: Rohertrag nach Kategorie in {year}
-- parameter: year year
-- source: shop
-- author: Ann
-- date: 2026-11-02
SELECT p.category, round(sum(i.quantity * (i.unit_price - p.cost)), 2) AS gross_margin_eur,
  round(100.0 * sum(i.quantity * (i.unit_price - p.cost)) / sum(i.quantity * i.unit_price), 1) AS margin_percent
FROM order_items i
JOIN orders o ON o.id = i.order_id
JOIN products p ON p.id = i.product_id
WHERE CAST(strftime('%Y', o.ordered_at) AS INTEGER) = $1
  AND o.status NOT IN ('returned', 'cancelled')
GROUP BY 1
ORDER BY 2 DESC
