from typing import final

class Error(Exception): ...

@final
class Server:
    @property
    def port(self) -> int: ...
    @property
    def duckdb_version(self) -> str | None: ...
    @property
    def recorded(self) -> tuple[int, int, int, int] | None: ...
    def stop(self) -> None: ...
    def wait(self) -> None: ...

def start(
    *,
    library: str = "",
    setup_sql: str = "",
    work_folder: str = "",
    translator: tuple[str, ...] = (),
    replay: str | None = None,
    address: str | None = None,
    port: int = 0,
    tls: bool = False,
    cert_file: str | None = None,
    key_file: str | None = None,
    cert_out: str | None = None,
    workers: int = 0,
    batch_rows: int = 0,
    page_batches: int = 0,
    checksum: bool = False,
    columns: bool = False,
    protocol: str | None = None,
    token: str | None = None,
    faults: bool = False,
    faults_file: str | None = None,
    session_idle_ms: int = 0,
    operation_idle_ms: int = 0,
    direct_wait_ms: int = 0,
    volumes: str | None = None,
) -> Server: ...
