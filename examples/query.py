"""Runs one SQL statement and prints its rows: the Python twin of query.c.

    python examples/query.py URI SQL

MORTAR_TOKEN holds the access token, MORTAR_CA_FILE a PEM file of certificates to trust instead of
the system's. Rows go to stdout, everything else to stderr.
"""

import os
import sys
import time

from mortar import sql


def table_lines(names, rows):
    """Names and rows as lines of a table, each column as wide as its widest value."""
    texts = [["NULL" if value is None else str(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *texts)]
    for line in [names, ["-" * width for width in widths], *texts]:
        yield "  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip()


def run(uri, statement):
    options = {"_tls_trusted_ca_file": os.environ.get("MORTAR_CA_FILE")}
    token = os.environ.get("MORTAR_TOKEN")
    with sql.connect(_connection_uri=uri, access_token=token, **options) as connection:
        with connection.cursor() as cursor:
            start = time.perf_counter()
            cursor.execute(statement)
            answered = time.perf_counter()
            rows = cursor.fetchall()
            end = time.perf_counter()
            for line in table_lines([column[0] for column in cursor.description], rows):
                print(line)
            sys.stdout.flush()
            words = f"{len(rows)} row{'' if len(rows) == 1 else 's'} in {(end - start) * 1e3:.1f} ms"
            print(f"{words} (first answer after {(answered - start) * 1e3:.1f} ms)", file=sys.stderr)


def main():
    if len(sys.argv) != 3:
        print("usage: query.py URI SQL", file=sys.stderr)
        return 2
    try:
        run(sys.argv[1], sys.argv[2])
    except sql.Error as error:
        print(f"query.py: {error} [{error.status}, SQLSTATE {error.sqlstate}]", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
