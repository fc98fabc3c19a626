-- How many flights left New York in 2013?
SELECT count(*) AS flights
FROM samples.nycflights.flights
