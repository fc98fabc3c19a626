#!/usr/bin/env python3
"""One Python client under load, in a process of its own: prints one JSON object with the keys of
mortar_bench. Used by rows.py; not a tool to compare clients by hand.

    python_client.py mortar|connector --sql SQL --seconds S --threads N URI

A statement is a new cursor, execute, fetchall and close. Warm-up and imports are not counted.
"""

import argparse
import json
import resource
import threading
import time
from urllib.parse import urlsplit

WARM_UP = 50  # statements of each thread; the slowest client does these in a fifth of a second


def mortar_connection(uri):
    from mortar import sql

    return sql.connect(_connection_uri=uri, access_token="bench")


def connector_connection(uri):
    from databricks import sql

    return sql.connect(
        server_hostname=urlsplit(uri).hostname,
        http_path=urlsplit(uri).path,
        access_token="bench",
        _connection_uri=uri,
        enable_telemetry=False,
    )


CLIENTS = {"mortar": mortar_connection, "connector": connector_connection}


def statement(connection, sql):
    cursor = connection.cursor()
    cursor.execute(sql)
    rows = len(cursor.fetchall())
    cursor.close()
    return rows


class Worker(threading.Thread):
    def __init__(self, connection, sql, seconds, barrier):
        super().__init__()
        self.connection, self.sql, self.seconds, self.barrier = connection, sql, seconds, barrier
        self.latencies, self.rows = [], 0

    def run(self):
        for _ in range(WARM_UP):
            statement(self.connection, self.sql)
        self.barrier.wait()
        now = time.perf_counter()
        end = now + self.seconds
        while now < end:
            self.rows = statement(self.connection, self.sql)
            after = time.perf_counter()
            self.latencies.append(after - now)
            now = after


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime, usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("client", choices=CLIENTS)
    parser.add_argument("uri")
    parser.add_argument("--sql", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()

    connections = [CLIENTS[args.client](args.uri) for _ in range(args.threads)]
    barrier = threading.Barrier(args.threads + 1)
    workers = [Worker(c, args.sql, args.seconds, barrier) for c in connections]
    for worker in workers:
        worker.start()
    barrier.wait()
    user, system, start = *cpu_seconds(), time.perf_counter()
    for worker in workers:
        worker.join()
    seconds, (user_end, system_end) = time.perf_counter() - start, cpu_seconds()
    for connection in connections:
        connection.close()

    latencies = sorted(latency for worker in workers for latency in worker.latencies)
    count = len(latencies)
    user, system = user_end - user, system_end - system
    print(
        json.dumps(
            {
                "statements": count,
                "rows": workers[0].rows,
                "per_second": count / seconds,
                "cpu_us": (user + system) / count * 1e6,
                "user_us": user / count * 1e6,
                "system_us": system / count * 1e6,
                "p50_us": latencies[count // 2] * 1e6,
                "p99_us": latencies[min(count - 1, count * 99 // 100)] * 1e6,
            }
        )
    )


if __name__ == "__main__":
    main()
