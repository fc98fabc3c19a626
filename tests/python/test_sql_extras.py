"""What a statement or a session asks for beside the text: row limits, query tags, settings, catalog
and schema. Each is put to Kiln by Mortar and, where it knows it too, by the unmodified connector."""

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
pytest.importorskip("databricks.sql")

from mortar import sql  # noqa: E402
from mortar.sql.utils import serialize_query_tags  # noqa: E402

from sql_support import SLOW, Kiln, connect, connect_other, server_stats, set_faults  # noqa: E402


@pytest.fixture(scope="module")
def kiln(tmp_path_factory):
    server = Kiln(tmp_path_factory.mktemp("kiln"), "--faults", "on")
    yield server.uri
    server.end()


@pytest.fixture
def connection(kiln):
    with connect(kiln) as made:
        yield made


@pytest.fixture
def cursor(connection):
    return connection.cursor()


# ---- Row limits -------------------------------------------------------------------------------


def limited(connection, limit, text):
    """The number of rows under a limit."""
    with connection, connection.cursor(row_limit=limit) as cursor:
        return len(cursor.execute(text).fetchall())


@pytest.mark.parametrize("limit, count", [(None, 5000), (0, 5000), (1, 1), (10, 10), (1500, 1500),
                                          (4999, 4999), (5000, 5000), (5001, 5000)])
def test_a_row_limit_is_kept(kiln, limit, count):
    """Also over several pages. What 0 means is for the server to say: Kiln takes it for none."""
    text = "SELECT id FROM range(5000)"
    assert limited(connect(kiln, page_rows=1000), limit, text) == count
    assert limited(connect_other(kiln), limit, text) == count


def test_a_row_limit_is_read_at_each_statement(cursor):
    text = "SELECT id FROM range(10)"
    assert cursor.row_limit is None
    cursor.row_limit = 3
    assert cursor.execute(text).fetchall_arrow().num_rows == 3
    assert len(cursor.execute(text + " WHERE id >= ?", [5]).fetchall()) == 3
    assert len(cursor.catalogs().fetchall()) >= 1
    cursor.row_limit = None
    assert len(cursor.execute(text).fetchall()) == 10


@pytest.mark.parametrize("bad", [-1, -(10**30), 10**30, True, 1.5, "10"])
def test_a_row_limit_is_an_int(connection, bad):
    cursor = connection.cursor(row_limit=2)
    with pytest.raises(sql.ProgrammingError, match="row_limit must be None or an int"):
        cursor.row_limit = bad
    with pytest.raises(sql.ProgrammingError, match="row_limit must be None or an int"):
        connection.cursor(row_limit=bad)
    with pytest.raises(sql.ProgrammingError, match="row_limit must be None or an int"):
        del cursor.row_limit
    assert cursor.row_limit == 2


# ---- Query tags -------------------------------------------------------------------------------

TAGS = [
    {},
    {"team": "data"},
    {"team": "data", "night": "", "bare": None},
    {"marks": "a:b,c\\d", "end": "\\"},
    {"k:e,y\\": "v", "größe": "日本,😀"},
    {"": "", " ": "\n"},
]


@pytest.mark.parametrize("tags", TAGS, ids=repr)
def test_tags_as_text(tags):
    from databricks.sql.utils import serialize_query_tags as other

    assert serialize_query_tags(tags) == other(tags)


def test_the_text_of_tags():
    assert serialize_query_tags(TAGS[2]) == "team:data,night:,bare"
    assert serialize_query_tags(TAGS[3]) == "marks:a\\:b\\,c\\\\d,end:\\\\"
    assert serialize_query_tags({"k:\\": "v"}) == "k:\\\\:v"
    assert serialize_query_tags({}) is serialize_query_tags(None) is None


def seen(kiln, text):
    """What the server saw of the last attempt of a statement."""
    return server_stats(kiln)["texts"][text]["settings"].get("query_tags")


@pytest.mark.parametrize("tags", TAGS, ids=repr)
def test_the_tags_of_a_statement(kiln, connection, tags):
    with connect_other(kiln) as other:
        other.cursor().execute("SELECT 1", query_tags=tags)
        theirs = seen(kiln, "SELECT 1")
        connection.cursor().execute("SELECT 1", query_tags=tags)
        assert seen(kiln, "SELECT 1") == theirs == serialize_query_tags(tags)


def test_tags_are_of_one_statement(kiln, cursor):
    cursor.execute("SELECT 1", query_tags={"a": "b"})
    cursor.execute("SELECT 1")
    assert seen(kiln, "SELECT 1") is None
    cursor.execute("SELECT :n", {"n": 1}, query_tags={"a": "b"}, statement_timeout=60)
    assert seen(kiln, "SELECT :n") == "a:b"
    cursor.executemany("SELECT ?", [[1], [2]], {"a": "c"})
    assert seen(kiln, "SELECT ?") == "a:c"


@pytest.mark.parametrize("bad", ["team:data", ["team"], {1: "a"}, {"a": 1}, {"a": "\0"}, {"\0": None}])
def test_what_is_no_tag(kiln, cursor, bad):
    cursor.execute("SELECT 7")
    with pytest.raises(sql.ProgrammingError, match="tag"):
        cursor.execute("SELECT 1", query_tags=bad)
    assert cursor.fetchall() == [(7,)]
    with pytest.raises(sql.ProgrammingError, match="tag"):
        connect(kiln, query_tags=bad)


def settings(connection):
    """As the session shows them."""
    with connection, connection.cursor() as cursor:
        return dict(tuple(row) for row in cursor.execute("SET").fetchall())


@pytest.mark.parametrize("tags", [None, *TAGS], ids=repr)
@pytest.mark.parametrize("configured", [{}, {"QUERY_TAGS": "old:one", "query_tags": "stays"}])
def test_the_tags_of_a_session(kiln, configured, tags):
    mine = settings(connect(kiln, session_configuration=configured, query_tags=tags))
    theirs = settings(connect_other(kiln, session_configuration=dict(configured), query_tags=tags))
    assert mine == theirs
    expected = configured.get("QUERY_TAGS") if tags is None else serialize_query_tags(tags)
    assert mine.get("QUERY_TAGS") == expected
    assert mine.get("query_tags") == configured.get("query_tags")
    assert configured in ({}, {"QUERY_TAGS": "old:one", "query_tags": "stays"})  # it is the caller's


# ---- The session ------------------------------------------------------------------------------


def test_settings_of_a_session(kiln):
    """Values become texts as str() makes them."""
    given = {"ansi_mode": True, "timezone": "Europe/Oslo", "limit": 3, "empty": "", "größe": "ü",
             "spark.thriftserver.arrowBasedRowSet.timestampAsString": "False"}
    mine = settings(connect(kiln, session_configuration=given))
    assert mine == settings(connect_other(kiln, session_configuration=dict(given)))
    assert mine["ansi_mode"] == "True" and mine["limit"] == "3" and mine["empty"] == ""


def test_timestamps_as_text_are_refused(kiln):
    given = {"spark.thriftserver.arrowBasedRowSet.timestampAsString": True}
    before = server_stats(kiln)["sessions_total"]
    with pytest.raises(sql.Error, match="cannot be changed"):
        connect(kiln, session_configuration=given)
    assert server_stats(kiln)["sessions_total"] == before


def test_the_sessions_limit_of_time(kiln):
    """The server's: the client has set none, and says what the server says, waiting or asking."""
    with connect(kiln, session_configuration={"statement_timeout": 1}) as connection:
        cursor = connection.cursor()
        with pytest.raises(sql.RequestError) as caught:
            cursor.execute(SLOW)
        assert (caught.value.status, caught.value.outcome) == ("TIMEOUT", "done")
        cursor.execute_async(SLOW)
        with pytest.raises(sql.RequestError) as caught:
            cursor.get_async_execution_result()
        assert (caught.value.status, caught.value.outcome) == ("TIMEOUT", "done")
        assert cursor.get_query_state().name == "FAILED"
        cursor.execute("SET statement_timeout = 60")
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]


WHERE = "SELECT current_catalog(), current_schema()"


@pytest.fixture(scope="module")
def places(kiln):
    with connect(kiln) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE CATALOG other")
        cursor.execute("CREATE SCHEMA other.`sch-1 ü`")
        cursor.execute("CREATE TABLE other.`sch-1 ü`.t (a INT)")
        cursor.execute("CREATE SCHEMA main.second")
        cursor.execute("CREATE SCHEMA other.`we``ird\\_% \"it's`")


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("given, place", [
    ({}, ("main", "default")),
    ({"catalog": "other"}, ("other", "default")),
    ({"schema": "second"}, ("main", "second")),
    ({"catalog": "other", "schema": "sch-1 ü"}, ("other", "sch-1 ü")),
    ({"catalog": "other", "schema": "we`ird\\_% \"it's"}, ("other", "we`ird\\_% \"it's")),
])
def test_where_a_session_starts(kiln, given, place):
    for connecting in (connect, connect_other):
        with connecting(kiln, **given) as connection, connection.cursor() as cursor:
            cursor.execute(WHERE)
            assert cursor.fetchall() == [place]


@pytest.mark.usefixtures("places")
def test_use_moves_the_session(kiln):
    """For all of its cursors, also on other connections to the server; and not for other sessions.
    Metadata calls ask for what they name, wherever the session is."""
    for connecting in (connect, connect_other):
        with connecting(kiln) as connection, connecting(kiln) as another:
            one, two = connection.cursor(), connection.cursor()
            one.execute("USE CATALOG other")
            assert two.execute(WHERE).fetchall() == [("other", "default")]
            two.execute("USE SCHEMA `sch-1 ü`")
            assert one.execute(WHERE).fetchall() == [("other", "sch-1 ü")]
            assert one.execute("SELECT * FROM t").fetchall() == []
            assert another.cursor().execute(WHERE).fetchall() == [("main", "default")]
            found = {(row.TABLE_CAT, row.TABLE_SCHEM) for row in one.tables().fetchall()}
            assert ("other", "sch-1 ü") in found
            one.execute("USE main.second")
            assert two.execute(WHERE).fetchall() == [("main", "second")]


# ---- executemany ------------------------------------------------------------------------------


def test_executemany_takes_the_keywords_of_execute(kiln, cursor):
    """A write whose reply is lost runs again when it may; and the limit of time is each one's."""
    insert = "INSERT INTO main.default.each_one VALUES (?)"
    cursor.execute("CREATE TABLE main.default.each_one (a INT)")
    lost = {"call": "ExecuteStatement", "text": "INSERT", "when": "after", "reset": True}
    set_faults(kiln, lost)
    assert cursor.executemany(insert, [[1], [2]], idempotent=True).rowcount == 2
    set_faults(kiln, lost)
    with pytest.raises(sql.RequestError):
        cursor.executemany(insert, [[3], [4]])
    set_faults(kiln)
    found = cursor.execute("SELECT a FROM main.default.each_one ORDER BY a").fetchall()
    assert found == [(1,), (1,), (2,), (3,)]
    with pytest.raises(sql.RequestError) as caught:
        cursor.executemany(SLOW.replace("7", "?"), [[7], [8]], statement_timeout=1)
    assert caught.value.status == "TIMEOUT"
