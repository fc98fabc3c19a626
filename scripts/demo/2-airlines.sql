-- Which airlines flew most, and how late did they arrive (minutes, on average)?
SELECT a.name AS airline, count(*) AS flights, round(avg(f.arr_delay), 1) AS mean_arrival_delay
FROM samples.nycflights.flights AS f
JOIN samples.nycflights.airlines AS a ON f.carrier = a.carrier
GROUP BY a.name
ORDER BY flights DESC, airline
LIMIT 10
