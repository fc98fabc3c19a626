-- When and where was waiting longest (minutes of departure delay, on average)?
SELECT p.name AS airport, f.month, count(*) AS flights,
       round(avg(f.dep_delay), 1) AS mean_departure_delay
FROM samples.nycflights.flights AS f
JOIN samples.nycflights.airports AS p ON f.origin = p.faa
GROUP BY p.name, f.month
ORDER BY mean_departure_delay DESC, airport, f.month
LIMIT 10
