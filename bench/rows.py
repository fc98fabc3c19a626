"""What is measured: the list ROWS. A row of a known kind is one more line; its `Load` says what the
clients do, its `reaches` what must come out. A new kind of row is a file row_KIND.py with a class
that has

    name, title, reaches
    full            measured by `make bench-full` only
    shown           the measures that are printed
    prepare(settings, stack)
                    starts what is needed, on the stack, and returns the function that measures one
                    round, and {client: why} for the clients that can't be had here

A round is a flat dict of numbers, {"name of a measure": value}; everything that is printed and
judged is the median of such a measure over the rounds.
"""

from clients import Load
from measures import Reach
from row_connect import ConnectRow
from row_gil import GilRow
from row_memory import MemoryRow
from row_server import ServerRow
from row_statement import StatementRow
from row_tls import TlsRow

BATCHES = "SELECT * FROM rows_1000"


def batches_row(threads, fetch, reaches=(), alone=False):
    return StatementRow(
        f"batches-{threads}-{'arrow' if fetch == 'fetchall_arrow' else 'rows'}",
        f"1,000 rows in 72 LZ4 batches, {fetch}, {threads} threads, 50 ms server time",
        Load(BATCHES, threads=threads, fetch=fetch, server_ms=50),
        reaches=reaches,
        alone=alone,
    )


ROWS = (
    ServerRow(
        "server",
        "kiln-canned beside a bare epoll responder, one-row statement, 1 thread",
        reaches=(Reach("server ratio", at_most=1.5),),
    ),
    ServerRow(
        "server-64",
        "kiln-canned beside a bare epoll responder, one-row statement, 64 threads, 10 ms",
        Load(threads=64, server_ms=10),
        reaches=(Reach("server ratio", at_most=1.5),),
        full=True,
    ),
    StatementRow(
        "one-row",
        "one-row statement, 1 thread",
        reaches=(
            Reach("core cpu ratio", at_most=1.3),
            Reach("mortar cpu ratio", at_most=2.0),
        ),
    ),
    StatementRow(
        "64x10",
        "one-row statement, 64 threads, 10 ms server time",
        Load(threads=64, server_ms=10),
        reaches=(Reach("mortar rate ratio", at_least=0.95),),
    ),
    StatementRow(
        "200x20",
        "one-row statement, 200 threads, 20 ms server time",
        Load(threads=200, server_ms=20),
        reaches=(
            Reach("mortar rate ratio", at_least=0.90),
            Reach("mortar p99 ratio", at_most=1.5),
        ),
    ),
    StatementRow(
        "4x200x20",
        "one-row statement, 4 processes of 200 threads, 20 ms server time",
        Load(threads=200, processes=4, server_ms=20),
        reaches=(
            Reach("mortar/connector rate", at_least=20),
            Reach("mortar/kernel rate", at_least=10),
        ),
    ),
    StatementRow("rows-1000", "1,000 rows in 72 LZ4 batches, fetchall, 1 thread", Load(BATCHES)),
    batches_row(16, "fetchall_arrow", alone=True),
    batches_row(16, "fetchall", alone=True),
    batches_row(64, "fetchall_arrow", (Reach("mortar rate ratio", at_least=0.95),)),
    batches_row(64, "fetchall", (Reach("mortar rate ratio", at_least=0.95),), alone=True),
    batches_row(200, "fetchall_arrow", (Reach("mortar rate ratio", at_least=0.90),)),
    batches_row(200, "fetchall", (Reach("mortar rate ratio", at_least=0.90),), alone=True),
    StatementRow(
        "mixed",
        "1,000 rows of twelve types, fetchall, 1 thread",
        Load("SELECT * FROM mixed"),
    ),
    TlsRow(
        "tls",
        "one-row statement over TLS beside plain text, 1 thread",
        reaches=(Reach("mortar tls ratio", at_most=2.0),),
    ),
    ConnectRow(
        "tls-connect",
        "200 TLS sessions open at once, the system's CA bundle, each",
        200,
        reaches=(
            Reach("cpu ms", at_most=2.0),
            Reach("rss KB", at_most=150.0),
            Reach("handshakes", at_most=1.0),
            Reach("resumed", at_least=1.0),
        ),
    ),
    GilRow(
        "gil",
        "interpreter's lock held by a one-row statement, 1 thread",
        reaches=(
            Reach("mortar lock releases", at_most=1.0),
            Reach("mortar/connector gil", at_most=0.01),
        ),
    ),
    GilRow(
        "gil-batches",
        "interpreter's lock held by 1,000 rows in 72 LZ4 batches, fetchall, 1 thread",
        Load(BATCHES),
        clients=("mortar", "connector", "kernel"),
    ),
    MemoryRow(
        "memory",
        "memory of 200 sessions: idle; and busy with 1,000 rows in 72 batches, 20 ms",
        Load(BATCHES, threads=200, server_ms=20, one_by_one=True),
        reaches=(
            Reach("mortar idle session KB", at_most=64.0),
            Reach("mortar busy thread KB", at_most=256.0),
        ),
    ),
)
