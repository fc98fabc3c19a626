"""PUT, GET and REMOVE of files in volumes, through Mortar and beside the unmodified
databricks-sql-connector: files, streams, what may be touched, and what is left after a failure."""

import io
import logging
import os
import pathlib
import subprocess
import sys
import tracemalloc

import pytest

pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
sql = pytest.importorskip("mortar.sql")

from sql_support import (  # noqa: E402
    Background, Kiln, connect, connect_other, control, server_stats, set_faults, wait_for,
)

V = "/Volumes/main/default/v"
SECRET = "X-Kiln"


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    server = Kiln(tmp_path_factory.mktemp("kiln"), "--faults", "on")
    yield server.uri
    stats = server_stats(server.uri)
    server.end()
    assert (stats["sessions_open"], stats["operations_open"]) == (0, 0)


@pytest.fixture(autouse=True)
def no_faults_are_left(uri):
    yield
    set_faults(uri)


@pytest.fixture
def here(tmp_path):
    """The folder that the connection allows."""
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def cursor(uri, here):
    quick = {"_retry_delay_min": 0.001, "_retry_delay_max": 0.002}
    with connect(uri, staging_allowed_local_path=str(here), **quick) as connection:
        yield connection.cursor()
        assert connection.cursor().execute("SELECT 1").fetchall() == [(1,)]  # still as good


def put(cursor, data, name="f"):
    """By a stream of its own, so that it does not depend on what is tested."""
    text = f"PUT '__input_stream__' INTO '{V}/{name}' OVERWRITE"
    cursor.execute(text, input_stream=io.BytesIO(data))


def get(cursor, name="f"):
    out = io.BytesIO()
    cursor.execute(f"GET '{V}/{name}' TO '__output_stream__'", output_stream=out)
    return out.getvalue()


# ---- There and back ----


@pytest.mark.parametrize("size", [0, 1, 64 * 1024, 3_000_000])
def test_files_come_back_as_they_went(cursor, here, size):
    data = os.urandom(size)
    (here / "up").write_bytes(data)
    cursor.execute(f"PUT '{here}/up' INTO '{V}/dir/a b%20é' OVERWRITE")
    assert [column[0] for column in cursor.description] == [
        "operation", "presignedUrl", "headers", "localFile"]
    assert cursor.fetchall() == [] and cursor.query_id
    cursor.execute(f"GET '{V}/dir/a b%20é' TO '{here}/down'")
    assert (here / "down").read_bytes() == data
    names = [row.name for row in cursor.execute(f"LIST '{V}/dir'").fetchall()]
    assert names == ["a b%20é"]
    cursor.execute(f"REMOVE '{V}/dir/a b%20é'")
    assert cursor.execute(f"LIST '{V}/dir'").fetchall() == []
    assert sorted(path.name for path in here.iterdir()) == ["down", "up"]


MEMORY = """
import sys
from mortar import sql
uri, here = sys.argv[1:]
with sql.connect(_connection_uri=uri, access_token="any", staging_allowed_local_path=here) as connection:
    cursor = connection.cursor()
    def peak():  # of this program alone: that of getrusage begins with its parent's
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    small = peak()
    cursor.execute(f"PUT '{here}/large' INTO '/Volumes/main/default/v/large' OVERWRITE")
    cursor.execute(f"GET '/Volumes/main/default/v/large' TO '{here}/down'")
    with open(f"{here}/large", "rb") as up, open(f"{here}/again", "wb") as down:
        cursor.execute("PUT '__input_stream__' INTO '/Volumes/main/default/v/large' OVERWRITE", input_stream=up)
        cursor.execute("GET '/Volumes/main/default/v/large' TO '__output_stream__'", output_stream=down)
    cursor.execute("REMOVE '/Volumes/main/default/v/large'")
    print(peak() - small)
"""


def test_memory_does_not_grow_with_the_file(uri, here):
    part = os.urandom(1_000_000)
    with open(here / "large", "wb") as file:
        for number in range(100):
            file.write(number.to_bytes(4, "big") + part[4:])
    command = [sys.executable, "-c", MEMORY, uri, str(here)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    grown_kb = int(done.stdout)
    assert 0 < grown_kb < 8 * 1024, f"{grown_kb} KB for a file of 100 MB"
    want = (here / "large").read_bytes()
    assert (here / "down").read_bytes() == want and (here / "again").read_bytes() == want


def test_over_tls_too(tmp_path, here):
    kiln = Kiln(tmp_path, "--tls")
    try:
        log = (tmp_path / "log").read_text()
        certificate = log.split("certificate: ")[1].split("\n")[0]
        with connect(kiln.uri, staging_allowed_local_path=here,
                     _tls_trusted_ca_file=certificate) as connection:
            cursor = connection.cursor()
            put(cursor, b"x" * 2_000_000)
            assert get(cursor) == b"x" * 2_000_000
        with connect(kiln.uri, staging_allowed_local_path=here, _tls_no_verify=True) as connection:
            assert get(connection.cursor()) == b"x" * 2_000_000
    finally:
        kiln.end()


def test_a_folder_of_the_users_keeps_the_files(tmp_path, here):
    folder = tmp_path / "volumes"
    folder.mkdir()
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        kiln = Kiln(tmp_path / run, "--volumes", str(folder))
        try:
            with connect(kiln.uri) as connection:
                if run == "one":
                    put(connection.cursor(), b"kept", "a/b")
                assert get(connection.cursor(), "a/b") == b"kept"
        finally:
            kiln.end()
    assert (folder / "main/default/v/a/b").read_bytes() == b"kept"


# ---- Streams ----


class Pieces(io.RawIOBase):
    """Can't go back, says no length, and gives and takes a little at a time."""

    def __init__(self, data=b""):
        self.data, self.taken = data, b""

    def readable(self):
        return True

    def writable(self):
        return True

    def read(self, size=-1):
        piece, self.data = self.data[:7001], self.data[7001:]
        return bytearray(piece)

    def write(self, data):
        self.taken += bytes(data[:7001])
        return min(len(data), 7001)


@pytest.mark.parametrize("size", [0, 1, 1_000_000])
def test_streams_that_can_not_go_back(cursor, size):
    data = os.urandom(size)
    text = f"PUT '__input_stream__' INTO '{V}/f' OVERWRITE"
    cursor.execute(text, input_stream=Pieces(data))
    out = Pieces()
    cursor.execute(f"GET '{V}/f' TO '__output_stream__'", output_stream=out)
    assert out.taken == data


def test_streams_begin_where_they_stand(cursor, here):
    (here / "f").write_bytes(b"0123456789")
    with open(here / "f", "r+b") as file:
        file.seek(4)
        cursor.execute(f"PUT '__input_stream__' INTO '{V}/f' OVERWRITE", input_stream=file)
        assert get(cursor) == b"456789"
        file.seek(2)
        cursor.execute(f"GET '{V}/f' TO '__output_stream__'", output_stream=file)
    assert (here / "f").read_bytes() == b"0145678989"


def test_a_stream_is_looked_at_by_its_own_verb_alone(cursor):
    assert cursor.execute("SELECT 1", input_stream=object()).fetchall() == [(1,)]
    for text in (f"PUT '__input_stream__' INTO '{V}/n'", f"GET '{V}/n' TO '__output_stream__'"):
        with pytest.raises(sql.ProgrammingError, match="No (input|output) stream provided"):
            cursor.execute(text)


def test_nothing_of_a_stream_is_kept(cursor):
    source, out = Pieces(b"x" * 100_000), Pieces()
    counts = sys.getrefcount(source), sys.getrefcount(out)
    tracemalloc.start()
    try:
        for run in range(30):
            source.data, out.taken = b"x" * 100_000, b""
            cursor.execute(f"PUT '__input_stream__' INTO '{V}/f' OVERWRITE", input_stream=source)
            cursor.execute(f"GET '{V}/f' TO '__output_stream__'", output_stream=out)
            if run == 4:
                early = tracemalloc.get_traced_memory()[0]
        grown = tracemalloc.get_traced_memory()[0] - early
    finally:
        tracemalloc.stop()
    assert (sys.getrefcount(source), sys.getrefcount(out)) == counts
    assert grown < 200_000, f"{grown} bytes in 25 rounds of 200,000"


class Broken(Exception):
    pass


def test_what_a_stream_raises_is_raised(cursor, uri):
    def fail(*arguments):
        raise Broken("no more")

    put(cursor, b"whole")
    source, sink = Pieces(b"x" * 100_000), Pieces()
    source.read = sink.write = fail
    with pytest.raises(Broken, match="no more"):
        cursor.execute(f"PUT '__input_stream__' INTO '{V}/f' OVERWRITE", input_stream=source)
    with pytest.raises(Broken, match="no more"):
        cursor.execute(f"GET '{V}/f' TO '__output_stream__'", output_stream=sink)
    measured = io.BytesIO(b"x" * 1_000_000)
    measured_type = type("Late", (io.BytesIO,), {"read": fail})
    with pytest.raises(Broken, match="no more"):
        cursor.execute(f"PUT '__input_stream__' INTO '{V}/f' OVERWRITE",
                       input_stream=measured_type(measured.getvalue()))
    assert get(cursor) == b"whole"
    assert server_stats(uri)["operations_open"] == 0


@pytest.mark.parametrize(
    "stream, error, words",
    [
        (io.StringIO("text"), TypeError, "binary mode"),
        (type("T", (Pieces,), {"read": lambda self, size: "text"})(), TypeError, "binary mode"),
        (type("N", (Pieces,), {"read": lambda self, size: None})(), TypeError, "bytes-like"),
        (type("M", (Pieces,), {"read": lambda self, size: b"x" * (size + 1)})(), ValueError, "more"),
        (object(), AttributeError, "read"),
    ],
)
def test_streams_that_are_none(cursor, stream, error, words):
    with pytest.raises(error, match=words):
        cursor.execute(f"PUT '__input_stream__' INTO '{V}/n'", input_stream=stream)


def test_a_stream_that_is_shorter_than_it_said(cursor):
    class Shrinks(io.BytesIO):
        def read(self, size=-1):
            return super().read(size)[:10] if self.tell() == 0 else b""

    with pytest.raises(sql.ProgrammingError, match="ended after 10 bytes"):
        cursor.execute(f"PUT '__input_stream__' INTO '{V}/n'", input_stream=Shrinks(b"x" * 100))


# ---- Submitted ----


def test_what_is_submitted_moves_its_file_with_the_result(cursor, here):
    other = cursor.connection.cursor()
    (here / "up").write_bytes(b"later")
    cursor.execute_async(f"PUT '{here}/up' INTO '{V}/later' OVERWRITE")
    with pytest.raises(sql.RequestError, match="404"):
        get(other, "later")
    cursor.get_async_execution_result()
    assert cursor.fetchall() == [] and get(other, "later") == b"later"
    cursor.execute_async(f"GET '{V}/later' TO '{here}/down'").get_async_execution_result()
    assert (here / "down").read_bytes() == b"later"
    other.execute(f"REMOVE '{V}/later'")


def test_what_is_submitted_has_no_stream(cursor):
    """Also not that of an earlier statement of the cursor, which is gone."""
    put(cursor, b"earlier")
    cursor.execute_async(f"PUT '__input_stream__' INTO '{V}/f' OVERWRITE")
    with pytest.raises(sql.ProgrammingError, match="No input stream provided"):
        cursor.get_async_execution_result()
    other = cursor.connection.cursor()
    other.execute_async(f"PUT '__input_stream__' INTO '{V}/f' OVERWRITE")
    put(cursor, b"earlier")
    cursor._attach(other._handle())
    with pytest.raises(sql.ProgrammingError, match="No input stream provided"):
        cursor._take_result()
    assert get(other) == b"earlier"


# ---- What may be touched ----


@pytest.mark.parametrize("nothing", [None, "", [], ()])
def test_without_a_folder_nothing_is_sent(uri, here, nothing):
    (here / "f").write_bytes(b"x")
    with connect(uri, staging_allowed_local_path=nothing) as connection:
        cursor = connection.cursor()
        for text in (f"PUT '{here}/f' INTO '{V}/nothing'", f"GET '{V}/nothing' TO '{here}/g'"):
            with pytest.raises(sql.ProgrammingError) as caught:
                cursor.execute(text)
            assert "You must provide at least one staging_allowed_local_path" in str(caught.value)
            assert caught.value.outcome == "not_sent"
            assert text not in server_stats(uri)["texts"]
        cursor.execute(f"REMOVE '{V}/nothing'")


def test_a_folder_may_be_given_in_many_ways_and_changed(uri, here, tmp_path):
    (here / "f").write_bytes(b"x")
    text = f"PUT '{here}/f' INTO '{V}/g' OVERWRITE"
    with connect(uri) as connection:
        cursor = connection.cursor()
        for allowed in (str(here), here, [tmp_path / "none", here], (str(here),), str(tmp_path),
                        str(here) + "/", here / "f", os.fsencode(here)):
            connection.staging_allowed_local_path = allowed
            cursor.execute(text)
        for allowed in (str(tmp_path / "her"), [str(here / "g")], ["", str(tmp_path / "none")]):
            connection.staging_allowed_local_path = allowed
            with pytest.raises(sql.ProgrammingError, match="Local file operations are restricted"):
                cursor.execute(text)
        for allowed in (7, [7], "a\0b", [None]):
            connection.staging_allowed_local_path = allowed
            with pytest.raises(sql.ProgrammingError, match="staging_allowed_local_path must be"):
                cursor.execute(text)


def test_nothing_leads_out_of_the_folder(cursor, here, tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"outside")
    near = tmp_path / "here-too"
    near.mkdir()
    (near / "f").write_bytes(b"near")
    (here / "link").symlink_to(outside)
    (here / "folder").symlink_to(near)
    put(cursor, b"new")
    for path in (outside, here / ".." / "outside", here / "link", here / "folder" / "f", near / "f",
                 f"{here}/x/../../outside", "/etc/passwd", near / "new", here / "folder" / "new"):
        for text in (f"PUT '{path}' INTO '{V}/stolen'", f"GET '{V}/f' TO '{path}'"):
            with pytest.raises(sql.ProgrammingError, match="restricted"):
                cursor.execute(text)
    assert outside.read_bytes() == b"outside" and (near / "f").read_bytes() == b"near"
    assert sorted(path.name for path in near.iterdir()) == ["f"]
    with pytest.raises(sql.RequestError, match="404"):
        get(cursor, "stolen")


def test_the_system_has_its_own_exceptions(cursor, here):
    with pytest.raises(FileNotFoundError):
        cursor.execute(f"PUT '{here}/none' INTO '{V}/n'")
    with pytest.raises(IsADirectoryError):
        cursor.execute(f"PUT '{here}' INTO '{V}/n'")
    put(cursor, b"x")
    with pytest.raises(IsADirectoryError):
        cursor.execute(f"GET '{V}/f' TO '{here}'")
    with pytest.raises(FileNotFoundError):
        cursor.execute(f"GET '{V}/f' TO '{here}/none/f'")


# ---- When something fails ----


def test_a_get_that_breaks_leaves_the_old_file(cursor, uri, here):
    put(cursor, b"n" * 1_000_000)
    (here / "f").write_bytes(b"old")
    set_faults(uri, {"path": "*", "nth": "every", "cut": 500_000, "reset": True})
    with pytest.raises(sql.RequestError) as caught:
        cursor.execute(f"GET '{V}/f' TO '{here}/f'")
    assert "after 4 attempts" in str(caught.value) and SECRET not in str(caught.value)
    assert [path.name for path in here.iterdir()] == ["f"] and (here / "f").read_bytes() == b"old"
    set_faults(uri, {"path": "*", "cut": 500_000})
    cursor.execute(f"GET '{V}/f' TO '{here}/f'")
    assert (here / "f").read_bytes() == b"n" * 1_000_000


def test_a_put_whose_reply_is_lost_is_not_sent_again(cursor, uri, here):
    (here / "f").write_bytes(b"x" * 100_000)
    set_faults(uri, {"path": "*", "when": "after", "reset": True})
    with pytest.raises(sql.RequestError) as caught:
        cursor.execute(f"PUT '{here}/f' INTO '{V}/f' OVERWRITE")
    assert caught.value.outcome == "unknown"
    assert control(uri, "/kiln/faults")["rules"][0]["seen"] == 1
    set_faults(uri, {"path": "*", "nth": [1, 2], "status": 429})
    cursor.execute(f"PUT '{here}/f' INTO '{V}/f' OVERWRITE")
    assert control(uri, "/kiln/faults")["rules"][0]["seen"] == 3


def test_what_the_store_says_is_told_in_few_words(cursor, uri, here):
    set_faults(uri, {"path": "*", "status": 400, "body": "\x1bwhy\n" + "z" * 10_000})
    with pytest.raises(sql.OperationalError) as caught:
        get(cursor)
    text = str(caught.value)
    assert "Staging operation over HTTP was unsuccessful: 400- why zzz" in text
    assert len(text) < 1000 and caught.value.http_status == 400 and SECRET not in text


def test_a_link_that_has_expired(cursor, uri):
    class Slow(io.BytesIO):
        def read(self, size=-1):
            control(uri, "/kiln/clock", {"advance_ms": 16 * 60 * 1000})
            return super().read(size)

    with pytest.raises(sql.RequestError, match="403-.*expired") as caught:
        cursor.execute(f"PUT '__input_stream__' INTO '{V}/late' OVERWRITE", input_stream=Slow(b"x"))
    assert caught.value.http_status == 403 and SECRET not in str(caught.value)


def test_a_cancel_ends_a_transfer_and_lets_others_run(cursor, uri, here):
    put(cursor, b"n" * 1_000_000)
    set_faults(uri, {"path": "*", "nth": "every", "cut": 500_000, "hang": True})
    running = Background(lambda: cursor.execute(f"GET '{V}/f' TO '{here}/f'"))
    wait_for(lambda: control(uri, "/kiln/faults")["rules"][0]["hits"])
    cursor.cancel()
    with pytest.raises(sql.OperationalError) as caught:
        running.result()
    assert caught.value.sqlstate == "57014" and list(here.iterdir()) == []
    set_faults(uri)
    assert get(cursor) == b"n" * 1_000_000


def test_a_limit_and_a_close_end_a_transfer(uri, here):
    for end, error in (("limit", sql.RequestError), ("close", sql.OperationalError)):
        limit = {"call_timeout": 0.3} if end == "limit" else {}
        with connect(uri, staging_allowed_local_path=here, **limit) as connection:
            cursor = connection.cursor()
            put(cursor, b"n" * 1000)
            set_faults(uri, {"path": "*", "nth": "every", "hang": True})
            running = Background(lambda: cursor.execute(f"GET '{V}/f' TO '{here}/f'"))
            wait_for(lambda: control(uri, "/kiln/faults")["rules"][0]["hits"])
            if end == "close":
                connection.close()
            with pytest.raises(error):
                running.result()
        set_faults(uri)


def test_no_line_of_the_log_tells_the_link(uri, here, caplog):
    caplog.set_level(logging.NOTSET)
    unsafe = logging.getLogger("mortar.sql.unsafe")
    before = unsafe.level
    unsafe.setLevel(logging.DEBUG)
    try:
        set_faults(uri, {"path": "*", "nth": [2, 4], "status": 503})
        with connect(uri, _retry_delay_min=0.001, _retry_delay_max=0.002) as connection:
            cursor = connection.cursor()
            put(cursor, b"x")
            assert get(cursor) == b"x"
            with pytest.raises(sql.RequestError):
                put(cursor, b"x")
    finally:
        unsafe.setLevel(before)
    said = [record.getMessage() for record in caplog.records]
    assert any("attempt 2 follows" in line and "GET at 127.0.0.1:" in line for line in said)
    assert any(line.startswith("PUT at 127.0.0.1:") for line in said)
    assert not [line for line in said if SECRET in line]


# ---- The connector ----


def outcome(cursor, text, **keywords):
    """What a statement came to, in what both clients have in common."""
    try:
        cursor.execute(text, **keywords)
    except Exception as error:
        return type(error), str(error)
    return None, ""


def test_the_connector_gets_the_same(uri, here):
    data = os.urandom(300_000)
    (here / "up").write_bytes(data)
    for connection in (connect(uri, staging_allowed_local_path=str(here)),
                       connect_other(uri, staging_allowed_local_path=str(here))):
        with connection, connection.cursor() as cursor:
            cursor.execute(f"REMOVE '{V}/both'")
            cursor.execute(f"PUT '{here}/up' INTO '{V}/both'")
            cursor.execute(f"GET '{V}/both' TO '{here}/down'")
            assert pathlib.Path(here / "down").read_bytes() == data
            cursor.execute(f"PUT '__input_stream__' INTO '{V}/both' OVERWRITE",
                           input_stream=io.BytesIO(b"stream"))
            cursor.execute(f"GET '{V}/both' TO '{here}/down'")
            assert (here / "down").read_bytes() == b"stream"
            cursor.execute(f"LIST '{V}/'")
            assert ("both", 6) in [(row.name, row.size) for row in cursor.fetchall()]


MISTAKES = {
    "PUT '{here}/up' INTO '{V}/there'": "FILE_IN_STAGING_PATH_ALREADY_EXISTS",
    "PUT '' INTO '{V}/n'": "EMPTY_LOCAL_FILE_IN_STAGING_ACCESS_QUERY",
    "PUT '{here}/up' INTO '/Volumes/main'": "INVALID_STAGING_PATH_IN_STAGING_ACCESS_QUERY",
    "REMOVE '{V}/../x/f'": "INVALID_STAGING_PATH_IN_STAGING_ACCESS_QUERY",
    "PUT '/etc/passwd' INTO '{V}/n'": "Local file operations are restricted",
    "GET '{V}/none' TO '{here}/down'": "Staging operation over HTTP was unsuccessful: 404",
    "PUT '__input_stream__' INTO '{V}/n'": "No input stream provided",
    "PUT '{here}/none' INTO '{V}/n'": "No such file or directory",
    "GET '{V}/there' TO '{here}/none/f'": "No such file or directory",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_have_the_same_classes_and_words(uri, here, text):
    (here / "up").write_bytes(b"x")
    words, text = MISTAKES[text], text.format(here=here, V=V)
    with connect(uri, staging_allowed_local_path=str(here)) as mine, \
            connect_other(uri, staging_allowed_local_path=str(here)) as theirs:
        put(mine.cursor(), b"x", "there")
        my_class, my_text = outcome(mine.cursor(), text)
        their_class, their_text = outcome(theirs.cursor(), text)
    assert words in my_text and words in their_text
    names = [base.__name__ for base in my_class.__mro__]
    assert their_class.__name__ in names, (my_class, their_class)


def test_a_connection_without_a_folder_has_the_connectors_words(uri):
    text = f"PUT '/etc/passwd' INTO '{V}/n'"
    with connect(uri) as mine, connect_other(uri) as theirs:
        for cursor in (mine.cursor(), theirs.cursor()):
            kind, said = outcome(cursor, text)
            assert kind.__name__ == "ProgrammingError"
            assert "You must provide at least one staging_allowed_local_path" in said
