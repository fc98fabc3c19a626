"""The command ``kiln``, also ``python -m mortar.kiln``: runs a local warehouse until it is ended."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

from .. import __version__
from . import INSTALL
from .work_folder import locked_folder

HTTP_PATH = "/sql/1.0/warehouses/kiln"


class _Ended(BaseException):
    """Somebody asked for the end, by Ctrl-C or SIGTERM."""


def _end(number: int, frame: FrameType | None) -> None:
    # A second signal must not break the clean-up that the first one started.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    raise _Ended


def _number(low: int, high: int) -> Callable[[str], int]:
    """A type for argparse: a whole number within bounds."""

    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low} to {high}")
        return int(text)

    return parse


def _add_server_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--version", action="version", version=f"kiln {__version__}")
    add("--port", type=_number(0, 65535), default=0, metavar="N", help="the port; a free one otherwise")
    add("--address", metavar="A", help="where to listen; 127.0.0.1 otherwise")
    add("--tls", action="store_true", help="HTTPS with a self-signed certificate")
    add("--token", metavar="T", help="refuse other access tokens than this one; any or none is taken otherwise")
    add("--faults", metavar="FILE|on",
        help="faults by script: a JSON file, or 'on' for POST /kiln/faults only")
    add("--ready-file", type=Path, metavar="F", help="a file to write the URL to once it is ready")


def _warehouse_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kiln",
        description="A local SQL warehouse to develop and test against.",
        epilog="example: kiln --port 8080 --token secret. "
        "Another mode, kiln replay DIR, answers from recordings: see kiln replay --help.",
    )
    _add_server_options(parser)
    add = parser.add_argument
    rows = _number(1, 1_000_000_000)
    add("--batch-rows", type=rows, default=0, metavar="N", help="rows of one Arrow batch; 4096")
    add("--page-batches", type=rows, default=0, metavar="N",
        help="Arrow batches of one page; as many as the page holds otherwise")
    add("--checksum", action="store_true", help="put checksums into LZ4 frames")
    add("--columns", action="store_true",
        help="answer in Thrift columns, also clients that ask for Arrow")
    add("--protocol", metavar="NAME|NUMBER",
        help="answer this protocol version, or the client's if that is lower: HIVE_V1 to HIVE_V10 "
        "(0 to 9), SPARK_V1 to SPARK_V9 (0xA501 to 0xA509); the newest otherwise")
    add("--workers", type=_number(1, 256), default=0, metavar="N",
        help="statements that run at once; 8")
    add("--session-idle-ms", type=rows, default=0, metavar="N",
        help="sessions end after so long without a call; never otherwise")
    add("--operation-idle-ms", type=rows, default=0, metavar="N",
        help="results are dropped after so long without a call; never otherwise")
    add("--direct-wait-ms", type=rows, default=0, metavar="N",
        help="a client is told after so long that its statement still runs; 5000")
    add("--volumes", type=Path, metavar="DIR",
        help="a folder for the files of volumes; one that is gone when Kiln ends otherwise")
    return parser


def _replay_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kiln replay",
        description="Answers as a warehouse did while it was recorded: the calls of one .jsonl file, or "
        "of all such files in a folder and below it.",
        epilog="example: kiln replay recordings --port 8080",
    )
    parser.add_argument("replay", metavar="DIR", help="the folder, or one file")
    _add_server_options(parser)
    return parser


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    argv = sys.argv[1:] if argv is None else argv
    replays = argv[:1] == ["replay"]
    parser = _replay_parser() if replays else _warehouse_parser()
    arguments = parser.parse_args(argv[1:] if replays else argv, argparse.Namespace(replay=None))
    if arguments.ready_file and not arguments.ready_file.parent.is_dir():
        parser.error(f"--ready-file: {arguments.ready_file.parent} is not a folder")
    volumes = None if replays else arguments.volumes
    if volumes and not volumes.is_dir():
        parser.error(f"--volumes: {volumes} is not a folder")
    return arguments


def _library() -> str:
    spec = find_spec("_duckdb")
    if spec is None or spec.origin is None:
        raise SystemExit(f"kiln: DuckDB is not installed: {INSTALL}")
    if find_spec("sqlglot") is None:
        raise SystemExit(f"kiln: sqlglot is not installed: {INSTALL}")
    return spec.origin


def _setup_sql(work_folder: str) -> str:
    """The statements of setup.sql with the folder in its places, as string literals. DuckDB leaves
    one core to translations and to small statements of other sessions."""
    text = files(__package__).joinpath("setup.sql").read_text(encoding="utf-8")
    for name, path in (
        ("{work_folder}", work_folder),
        ("{temp_folder}", os.path.join(work_folder, "spill")),
    ):
        text = text.replace(name, "'" + path.replace("'", "''") + "'")
    return text.replace("{threads}", str(max((os.cpu_count() or 1) - 1, 1)))


def _lines_to_paste(url: str, token: str, certificate: str | None) -> dict[str, str]:
    """How clients connect, in Python. With a certificate the connector wants parts, not a URL."""
    host, _, port = url.partition("://")[2].rpartition(":")
    uri = f"_connection_uri={url + HTTP_PATH!r}"
    trusted = f", _tls_trusted_ca_file={certificate!r}" if certificate else ""
    place = f"_port={port}{trusted}" if certificate else uri
    connector = f"{host!r}, {HTTP_PATH!r}, access_token={token!r}, {place}, enable_telemetry=False"
    return {
        "from mortar import sql": f"sql.connect({uri}, access_token={token!r}{trusted})",
        "from databricks import sql": f"sql.connect({connector})",
    }


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _what_is_there(server: Any) -> list[str]:
    """The lines that say what can be asked."""
    if server.recorded is None:
        return [
            "try: SELECT carrier, count(*) FROM samples.nycflights.flights GROUP BY carrier",
            "Ctrl-C ends it; what you created is gone then.",
        ]
    files, calls, statements, passed_over = server.recorded
    lines = [f"recorded: {_count(statements, 'statement')} in {_count(calls, 'call')} of {_count(files, 'file')}"]
    if passed_over:
        lines.append(f"passed over: {_count(passed_over, 'line')} without a Thrift call that can be answered")
    return [*lines, "Ctrl-C ends it."]


def _announce(server: Any, url: str, arguments: argparse.Namespace, certificate: str | None) -> None:
    token = arguments.token or "any"
    print(f"Kiln is ready: {url}{HTTP_PATH}")
    if certificate:
        print(f"  certificate: {certificate}")
    print(f"  access token: {token}")
    for client, line in _lines_to_paste(url, token, certificate).items():
        print(f"  {client}: {line}")
    for line in _what_is_there(server):
        print(f"  {line}")
    sys.stdout.flush()
    if arguments.ready_file:
        part = arguments.ready_file.with_name(arguments.ready_file.name + ".part")
        part.write_text(f"{url}{HTTP_PATH}\n", encoding="utf-8")
        part.replace(arguments.ready_file)  # readers never see half a line


def _engine_options(arguments: argparse.Namespace, work_folder: str) -> dict[str, Any]:
    """What start() needs for what stands behind the server."""
    if arguments.replay is not None:
        return {"replay": arguments.replay}
    volumes = arguments.volumes or Path(work_folder, "volumes")
    volumes.mkdir(exist_ok=True)
    return {
        "library": _library(),
        "setup_sql": _setup_sql(work_folder),
        "work_folder": work_folder,
        "translator": (sys.executable, "-m", "mortar.kiln.translator"),
        "workers": arguments.workers,
        "batch_rows": arguments.batch_rows,
        "page_batches": arguments.page_batches,
        "checksum": arguments.checksum,
        "columns": arguments.columns,
        "protocol": arguments.protocol,
        "session_idle_ms": arguments.session_idle_ms,
        "operation_idle_ms": arguments.operation_idle_ms,
        "direct_wait_ms": arguments.direct_wait_ms,
        "volumes": str(volumes),
    }


def _serve(arguments: argparse.Namespace, work_folder: str) -> None:
    from . import _kiln

    certificate = os.path.join(work_folder, "certificate.pem") if arguments.tls else None
    try:
        server = _kiln.start(
            **_engine_options(arguments, work_folder),
            address=arguments.address,
            port=arguments.port,
            tls=arguments.tls,
            cert_out=certificate,
            token=arguments.token,
            faults=arguments.faults is not None,
            faults_file=None if arguments.faults == "on" else arguments.faults,
        )
    except _kiln.Error as error:
        raise SystemExit(f"kiln: {error}") from None
    try:
        host = arguments.address or "127.0.0.1"
        host = f"[{host}]" if ":" in host else host
        scheme = "https" if arguments.tls else "http"
        _announce(server, f"{scheme}://{host}:{server.port}", arguments, certificate)
        server.wait()
    finally:
        server.stop()


def main(argv: list[str] | None = None) -> int:
    arguments = _arguments(argv)
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _end)
        with locked_folder() as folder:
            _serve(arguments, folder)
    except _Ended:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
