-- question: Average basket by channel in {month}
-- paraphrase: What is the average basket of each channel in {month}?
-- paraphrase: Durchschnittlicher Warenkorb nach Kanal im {month}
-- parameter: month month
-- source: shop
-- author: Ben
-- date: 2026-10-19
SELECT channel, count(*) AS orders, round(avg(total), 2) AS average_basket_eur
FROM orders
WHERE ordered_at >= $1 AND ordered_at < date($1, '+1 month') AND status <> 'cancelled'
GROUP BY 1
ORDER BY 3 DESC
