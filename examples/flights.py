"""Which carriers left New York most in February 2013? Asks a local Kiln, or any warehouse that has
the table: KILN_URI holds the address that `python -m mortar.kiln` prints."""

import os

from mortar import sql

uri = os.environ["KILN_URI"]
with sql.connect(_connection_uri=uri, access_token="any") as connection:
    with connection.cursor() as cursor:
        cursor.execute("""
            SELECT carrier, count(*) AS flights, avg(dep_delay) AS delay
            FROM samples.nycflights.flights WHERE month = 2
            GROUP BY carrier ORDER BY flights DESC LIMIT 3""")
        for row in cursor:
            print(f"{row.carrier}: {row.flights} flights, {row.delay:.1f} minutes late")
