#!/usr/bin/env python3
"""The Python clients under load, in a process of their own: the twin of load.c. Started by
clients.py; not a tool to compare clients by hand.

    load.py mortar|connector|kernel --sql SQL [--threads N] ... URI

opens a session for each thread, warms up, prints one JSON line with the memory that the sessions
took, and then, for every line with a number of seconds that it reads, runs one round and prints its
report as one JSON line with the keys of load.c. It ends where its input ends.

A statement is a new cursor, execute, fetch and close. Warm-up and imports are not counted.
"""

import argparse
import json
import os
import resource
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from measures import percentile

OPEN_AT_ONCE = 32  # sessions
SOLO_SECONDS = 0.2  # of the counter alone
SWITCH_SECONDS = 0.0005  # with the counter, for ten times as many statements as by default


# ---- Clients -----------------------------------------------------------------------------------


def mortar_connection(uri, ca_file):
    from mortar import sql

    return sql.connect(_connection_uri=uri, access_token="bench", _tls_trusted_ca_file=ca_file)


def connector_connection(uri, ca_file):
    """Over TLS it takes no whole address."""
    from databricks import sql

    parts = urlsplit(uri)
    where = {"_connection_uri": uri}
    if ca_file:
        where = {"_port": parts.port, "_tls_trusted_ca_file": ca_file}
    return sql.connect(
        server_hostname=parts.hostname,
        http_path=parts.path,
        access_token="bench",
        enable_telemetry=False,
        **where,
    )


def kernel_connection(uri, ca_file):
    """The connector on its Rust kernel, which asks the Statement Execution API."""
    from databricks import sql

    return sql.connect(
        server_hostname=uri.partition("/sql/")[0],
        http_path=urlsplit(uri).path,
        access_token="bench",
        enable_telemetry=False,
        use_kernel=True,
        _tls_trusted_ca_file=ca_file,
    )


CONNECT = {
    "mortar": mortar_connection,
    "connector": connector_connection,
    "kernel": kernel_connection,
}


def statement(connection, sql, fetch):
    cursor = connection.cursor()
    cursor.execute(sql)
    rows = len(getattr(cursor, fetch)())
    cursor.close()
    return rows


# ---- What the process used ---------------------------------------------------------------------


def memory_kb(name):
    """VmRSS or VmHWM; 0 where there is no /proc."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(name))
    except OSError:
        return 0


def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime, usage.ru_stime, usage.ru_nvcsw


def waited_for_core():
    """Seconds in which this thread could have run but had no core; 0 where Linux does not say."""
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/schedstat") as schedstat:
            return int(schedstat.read().split()[1]) / 1e9
    except OSError:
        return 0.0


def moment():
    """Wall clock, CPU and waiting of this thread, all of one moment: none that lost its core between
    the readings."""
    while True:
        waited = waited_for_core()
        wall, cpu = time.perf_counter(), time.thread_time()
        if waited_for_core() == waited:
            return wall, cpu, waited


# ---- Threads -----------------------------------------------------------------------------------


class Worker(threading.Thread):
    def __init__(self, connection, args, seconds, barrier):
        super().__init__()
        self.connection, self.args, self.seconds, self.barrier = connection, args, seconds, barrier
        self.latencies, self.rows = [], 0

    def run(self):
        sql, fetch = self.args.sql, self.args.fetch
        self.barrier.wait()
        now = time.perf_counter()
        end = now + self.seconds
        while now < end:
            self.rows = statement(self.connection, sql, fetch)
            after = time.perf_counter()
            self.latencies.append(after - now)
            now = after


class Counter(threading.Thread):
    """Wants the interpreter's lock all the time, on a core of its own. `lost` is the time in which
    it could not go on though it had the core: somebody else held the lock."""

    def __init__(self, core):
        super().__init__(daemon=True)
        self.core = core
        self.stop = False
        self.lost = 0.0

    def run(self):
        os.sched_setaffinity(0, {self.core})  # of this thread only
        before = moment()
        while not self.stop:
            for _ in range(100):
                pass
        wall, cpu, waited = (after - earlier for after, earlier in zip(moment(), before))
        self.lost = wall - cpu - waited

    def end(self):
        self.stop = True
        self.join()
        return self.lost


def lost_alone(core):
    """The share of time that the counter loses with nobody beside it."""
    counter = Counter(core)
    counter.start()
    time.sleep(SOLO_SECONDS)
    return counter.end() / SOLO_SECONDS


# ---- Rounds ------------------------------------------------------------------------------------


def lock_releases(connections):
    """By Mortar's own count; None for other clients."""
    if not hasattr(connections[0], "stats"):
        return None
    return sum(connection.stats()["lock_releases"] for connection in connections)


def run_workers(args, connections, seconds):
    """All wait at the barrier and start together."""
    barrier = threading.Barrier(args.threads + 1)
    workers = [Worker(connection, args, seconds, barrier) for connection in connections]
    for worker in workers:
        worker.start()
    barrier.wait()
    counter = Counter(args.counter)
    before, start = used(), time.perf_counter()
    if args.counter is not None:
        counter.start()
    for worker in workers:
        worker.join()
    lost = counter.end() if args.counter is not None else 0.0
    spent = [after - earlier for after, earlier in zip(used(), before)]
    return workers, time.perf_counter() - start, spent, lost


def report(workers, seconds, spent):
    latencies = sorted(latency for worker in workers for latency in worker.latencies)
    count = len(latencies)
    user, system, switches = spent
    return {
        "statements": count,
        "rows": workers[0].rows,
        "per_second": count / seconds,
        "cpu_us": (user + system) / count * 1e6,
        "user_us": user / count * 1e6,
        "system_us": system / count * 1e6,
        "p50_us": percentile(latencies, 0.50) * 1e6,
        "p99_us": percentile(latencies, 0.99) * 1e6,
        "switches": switches / count,
        "max_rss_kb": memory_kb("VmHWM"),
    }


def run_round(args, connections, seconds):
    alone = lost_alone(args.counter) if args.counter is not None else 0.0
    releases = lock_releases(connections)
    workers, took, spent, lost = run_workers(args, connections, seconds)
    result = report(workers, took, spent)
    if args.counter is not None:
        result["gil_us"] = max(0.0, lost - alone * took) / result["statements"] * 1e6
    if releases is not None:
        releases = lock_releases(connections) - releases
        result["lock_releases"] = releases / result["statements"]
    return result


def warm_up(args, connection):
    """Of the process, by one of its sessions. Once and not in each round: several processes must
    begin a round at the same moment."""
    for _ in range(args.warm_up):
        statement(connection, args.sql, args.fetch)


def in_parallel(function, items):
    """A list of what it gives: with a server time, one session after the other takes long."""
    with ThreadPoolExecutor(OPEN_AT_ONCE) as pool:
        return list(pool.map(function, items))


def open_all(args):
    """The sessions, and what they took of memory: the first pays for what all share."""
    connect, ca_file = CONNECT[args.client], args.ca
    connections = [connect(args.uri, ca_file)]
    first = memory_kb("VmRSS")
    if args.one_by_one:
        connections += [connect(args.uri, ca_file) for _ in range(args.threads - 1)]
    else:
        connections += in_parallel(lambda _: connect(args.uri, ca_file), range(args.threads - 1))
    idle = memory_kb("VmRSS")
    each = (idle - first) / (args.threads - 1) if args.threads > 1 else 0.0
    return connections, {"idle_kb": idle, "session_kb": each}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("client", choices=CONNECT)
    parser.add_argument("uri")
    parser.add_argument("--sql", required=True)
    parser.add_argument("--fetch", default="fetchall", choices=["fetchall", "fetchall_arrow"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--warm-up", type=int, default=50, help="statements before the first round (50)")
    parser.add_argument("--ca", help="certificates to trust")
    parser.add_argument("--one-by-one", action="store_true", help="open the sessions one after the other")
    parser.add_argument("--counter", type=int, metavar="CORE",
                        help="measure the interpreter's lock, with a counter on this core")
    return parser.parse_args()


def main():
    args = parse_arguments()
    if args.counter is not None:
        sys.setswitchinterval(SWITCH_SECONDS)
    connections, memory = open_all(args)
    warm_up(args, connections[0])
    print(json.dumps(memory), flush=True)
    for line in sys.stdin:
        print(json.dumps(run_round(args, connections, float(line))), flush=True)
    in_parallel(lambda connection: connection.close(), connections)


if __name__ == "__main__":
    main()
