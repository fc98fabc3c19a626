"""The module itself: names, imports, interpreters; and Row."""

import copy
import datetime
import pickle
import subprocess
import sys

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")

import mortar  # noqa: E402
from mortar import sql  # noqa: E402
from mortar.sql import Row  # noqa: E402


def python(code, *arguments):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code, *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_module_attributes():
    assert (sql.apilevel, sql.threadsafety, sql.paramstyle) == ("2.0", 2, "named")
    assert sql.__version__ == mortar.__version__ == mortar._native.version
    for name in sql.__all__:
        assert hasattr(sql, name), name


@pytest.mark.parametrize("first", ["mortar._native", "mortar.sql", "mortar.sql.exc", "mortar.sql.types"])
def test_any_module_may_be_imported_first(first):
    said = python(f"""
import {first}
from mortar import _native, sql
try:
    _native.Connection([("page_rows", "many")], [], sql.Cursor)
except sql.ProgrammingError:
    print(issubclass(sql.Row, _native.RowBase), _native.version)
""")
    assert said == f"True {mortar.__version__}\n"


def test_an_import_that_fails_says_why():
    said = python("""
import sys
sys.modules["decimal"] = None
try:
    import mortar._native
except ImportError as error:
    print(error.name)
""")
    assert said == "decimal\n"


def test_exception_tree():
    tree = {
        sql.Error: Exception, sql.Warning: Exception, sql.InterfaceError: sql.Error,
        sql.DatabaseError: sql.Error, sql.InternalError: sql.DatabaseError,
        sql.IntegrityError: sql.DatabaseError, sql.DataError: sql.DatabaseError,
        sql.NotSupportedError: sql.DatabaseError, sql.ProgrammingError: sql.DatabaseError,
        sql.TransactionError: sql.DatabaseError, sql.ServerOperationError: sql.DatabaseError,
        sql.OperationalError: sql.DatabaseError,
        sql.InvalidServerResponseError: sql.OperationalError, sql.RequestError: sql.OperationalError,
        sql.MaxRetryDurationError: sql.RequestError, sql.UnsafeToRetryError: sql.RequestError,
        sql.NonRecoverableNetworkError: sql.RequestError,
        sql.SessionAlreadyClosedError: sql.RequestError,
        sql.CursorAlreadyClosedError: sql.RequestError,
    }
    for kind, base in tree.items():
        assert kind.__bases__ == (base,)
        assert getattr(sql.client, kind.__name__) is kind
    for kind in (sql.Error, sql.InterfaceError, sql.ProgrammingError, sql.DataError):
        assert getattr(sql.Connection, kind.__name__) is kind


def test_errors_made_by_hand():
    e = sql.RequestError("words", {"a": datetime.date(2013, 1, 1)}, "https://host", ValueError("x"))
    assert (e.message, str(e), e.args[0]) == ("words", "words", "words")
    assert isinstance(e.args[1], ValueError)
    assert e.message_with_context() == 'words: {"a": "2013-01-01"}'
    again = pickle.loads(pickle.dumps(e))
    assert (type(again), str(again), again.context) == (sql.RequestError, "words", e.context)
    assert str(again.args[1]) == "x"
    assert str(sql.Error()) == "" and sql.Error().context == {}
    assert sql.Error("x", session_id_hex="abc").session_id == "abc"


def test_type_objects():
    assert sql.STRING == "string" and "string" == sql.STRING and sql.STRING != "varchar"
    assert sql.NUMBER == "boolean" and sql.NUMBER == "decimal" and sql.DATETIME == "timestamp"
    assert sql.DATE == "date" and sql.BINARY == "binary"
    assert sql.ROWID == sql.ROWID and sql.ROWID != "string"
    assert {sql.STRING: 1}[sql.STRING] == 1
    assert repr(sql.STRING) == "DBAPITypeObject(('string',))"
    assert sql.DateFromTicks(0).year in (1969, 1970) and sql.TimestampFromTicks(0).second == 0
    assert sql.TimeFromTicks(0).second == 0 and sql.Binary(b"x") == b"x"


def test_import_brings_nothing_heavy():
    loaded = python("""
import sys
from mortar import sql
print(*(m for m in ("pyarrow", "numpy", "pandas", "thrift", "asyncio", "urllib3", "ssl") if m in sys.modules))
""")
    assert loaded.strip() == ""


def test_types_are_closed():
    with pytest.raises(TypeError):
        mortar._native.Table()
    with pytest.raises(TypeError):
        mortar._native.Cursor(object())
    with pytest.raises(TypeError):
        mortar._native.Connection([], [], 1, 2, 3)
    with pytest.raises(TypeError):
        mortar._native.Connection([(1, 2)], [], sql.Cursor)
    with pytest.raises(TypeError):
        mortar._native.Cursor.execute = None


@pytest.mark.skipif(sys.version_info < (3, 12), reason="imports _xxsubinterpreters of 3.12 or later")
def test_a_subinterpreter_has_a_module_of_its_own():
    """With a lock of its own from 3.13 on; the datetime module of 3.12 is not made for that."""
    print(python("""
import sys
try:
    import _interpreters as interpreters
    ids = [interpreters.create("isolated") for _ in range(2)]
    run = lambda i, code: interpreters.exec(i, code)
except ImportError:
    import _xxsubinterpreters as interpreters
    ids = [interpreters.create(isolated=False) for _ in range(2)]
    run = lambda i, code: interpreters.run_string(i, code)
code = '''
import datetime
from mortar import sql
from mortar.sql import types
row = sql.Row(a=1, b=datetime.date(2013, 1, 1))
assert row.b.year == 2013 and type(row) is type(sql.Row(a=3, b=4))
try:
    sql.connect("http://127.0.0.1:1", "/x", "any")
except sql.RequestError as error:
    assert error.status == "CONNECT"
else:
    raise AssertionError("nobody listens there")
'''
from mortar import sql
for i in ids * 2:
    problem = run(i, code)
    assert problem is None, problem
for i in ids:
    interpreters.destroy(i)
assert sql.Row(a=1).a == 1
"""))


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the other test is for later versions")
def test_an_older_subinterpreter():
    python("""
import _xxsubinterpreters as interpreters
from mortar import sql
i = interpreters.create()
interpreters.run_string(i, "from mortar import sql; assert sql.Row(a=1).a == 1")
interpreters.destroy(i)
assert sql.Row(a=2).a == 2
""")


def test_import_again():
    """The module may be dropped and made anew: it holds nothing in C statics."""
    python("""
import gc, sys
from mortar import sql
old = sql.Row(a=1, b=[2])
for _ in range(3):
    for name in [n for n in sys.modules if n.startswith("mortar")]:
        del sys.modules[name]
    del sql
    gc.collect()
    from mortar import sql
    assert sql.Row(a=1).a == 1
assert old.a == 1 and repr(old) == "Row(a=1, b=[2])"
""")


# ---- Row ----


def test_row_by_name_place_and_slice():
    row = Row(a=1, b="x", c=None)
    assert (row.a, row["b"], row[2], row[-1], row[True]) == (1, "x", None, None, "x")
    assert row[0:2] == (1, "x") and type(row[0:2]) is tuple
    assert row == (1, "x", None) and hash(row) == hash((1, "x", None)) and len(row) == 3
    assert row < (2,) and row + (4,) == (1, "x", None, 4) and [*row] == [1, "x", None]
    assert isinstance(row, tuple) and isinstance(row, Row)
    assert "a" in row and 1 not in row
    assert repr(row) == "Row(a=1, b='x', c=None)"
    assert row.__fields__ == ["a", "b", "c"]
    assert not Row() and row


def test_row_refusals():
    row = Row(a=1)
    with pytest.raises(ValueError):
        row["z"]
    with pytest.raises(AttributeError):
        row.z
    with pytest.raises(IndexError):
        row[5]
    with pytest.raises(RuntimeError, match="Row is read-only"):
        row.a = 2
    with pytest.raises(RuntimeError, match="Row is read-only"):
        row.z = 2
    with pytest.raises(ValueError):
        Row(1, a=2)
    with pytest.raises(AttributeError):
        Row(1)["x"]
    with pytest.raises(TypeError, match="Cannot convert a Row class into dict"):
        Row("a").asDict()


def test_row_names_that_are_taken():
    """A tuple's own attributes win over columns of their names, also two underscores do."""
    row = sql.types._create_row(["count", "index", "__x", "mro", "asDict", "a b"], [1, 2, 3, 4, 5, 6])
    assert callable(row.count) and callable(row.index) and callable(row.asDict)
    assert (row["count"], row["index"], row["__x"], row["asDict"]) == (1, 2, 3, 5)
    assert row.mro == 4 and getattr(row, "a b") == 6
    with pytest.raises(AttributeError):
        getattr(row, "__x")


def test_row_with_equal_names():
    row = sql.types._create_row(["n", "m", "n"], [1, 2, 3])
    assert (row.n, row["n"], row.asDict()) == (1, 1, {"n": 3, "m": 2})
    assert repr(row) == "Row(n=1, m=2, n=3)"


def test_row_template():
    template = Row("a", "b")
    assert repr(template) == "<Row('a', 'b')>"
    assert template(1, 2).b == 2 and template(1, 2) == (1, 2)
    short = template(1)
    assert short.asDict() == {"a": 1}
    with pytest.raises(KeyError):
        short["b"]
    with pytest.raises(AttributeError):
        short.b
    with pytest.raises(ValueError, match="2 fields are named"):
        template(1, 2, 3)
    assert repr(Row(1, 2)(3, 4)) == "Row(1=3, 2=4)"


def test_as_dict():
    row = Row(a=Row(b=1), c=[Row(d=2)], e={"f": Row(g=3)}, h=(Row(i=4),))
    assert row.asDict()["a"] is row.a
    deep = row.asDict(recursive=True)
    assert deep == {"a": {"b": 1}, "c": [{"d": 2}], "e": {"f": {"g": 3}}, "h": (Row(i=4),)}
    assert type(deep["h"][0]) is not dict
    bottomless = []
    bottomless.append(bottomless)
    with pytest.raises(RecursionError):
        Row(a=bottomless).asDict(True)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    for row in (Row(a=1, b=[Row(c=2)]), Row("x", "y"), Row("x")(5)):
        again = pickle.loads(pickle.dumps(row, protocol))
        assert (again, repr(again)) == (row, repr(row))
    rows = pickle.loads(pickle.dumps([Row(a=i) for i in range(100)], protocol))
    assert len({type(row) for row in rows}) == 1 and rows[7].a == 7


def test_pickles_name_the_known_place():
    assert b"mortar.sql.types" in pickle.dumps(Row(a=1), 2)
    assert b"_create_row" in pickle.dumps(Row(a=1), 2)


def test_copies():
    row = Row(a=1, b=[2])
    assert copy.copy(row) == row and copy.copy(row).b is row.b
    deep = copy.deepcopy(row)
    assert deep == row and deep.b is not row.b and deep.__fields__ == ["a", "b"]


def test_a_name_whose_comparison_empties_the_fields():
    row = Row(a=1, b=2)

    class Name(str):
        def __eq__(self, other):
            row.__fields__.clear()
            return False

        __hash__ = str.__hash__

    with pytest.raises(ValueError):
        row[Name("z")]
    assert repr(row) == "Row()"
