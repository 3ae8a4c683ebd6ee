-- question: Net revenue by month
-- paraphrase: How did our net revenue develop?
-- paraphrase: Nettoumsatz nach Monat
-- source: shop
-- author: Ann
-- date: 2026-11-02
SELECT strftime('%Y-%m', ordered_at) AS month, round(sum(total), 2) AS net_revenue_eur
FROM orders
WHERE status NOT IN ('returned', 'cancelled')
GROUP BY 1
ORDER BY 1
