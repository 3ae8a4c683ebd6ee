#!/bin/sh
# The sum of each region of sales.csv.
awk -F, 'NR > 1 { sum[$2] += $3 } END { for (r in sum) print r, sum[r] }' sales.csv | sort
