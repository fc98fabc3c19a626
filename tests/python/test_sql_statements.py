"""Statements: each is run by Mortar and then by the unmodified connector, on the same Kiln and from
the same beginning; what they say must be the same: rows, description, rowcount, or the error."""

import pytest

pytest.importorskip("mortar.sql", reason="the extension module is not built")
pytest.importorskip("mortar.kiln._kiln", reason="the extension module is not built")
pytest.importorskip("databricks.sql")

from sql_support import Kiln, assert_same, connect, connect_other, rows_of  # noqa: E402

# One after the other: later ones see what earlier ones did.
STATEMENTS = r"""
CREATE SCHEMA main.said
CREATE TABLE main.said.people (id INT NOT NULL, name STRING, born DATE, pay DECIMAL(10,2))
CREATE TABLE main.said.people (id INT)
CREATE TABLE IF NOT EXISTS main.said.people (id INT)
INSERT INTO main.said.people VALUES (1, 'Ada', date'1815-12-10', 10.50), (2, 'Grace', date'1906-12-09', 20)
INSERT INTO main.said.people (id, name) VALUES (3, 'Zoë'), (4, NULL)
INSERT INTO main.said.people SELECT id + 10, concat('copy of ', name), born, pay FROM main.said.people
SELECT * FROM main.said.people ORDER BY id
SELECT count(*) FROM main.said.people
SELECT count(*), count(name), sum(pay), min(born), max(name) FROM main.said.people
UPDATE main.said.people SET pay = 5 WHERE pay IS NULL
UPDATE main.said.people SET pay = pay + 1 WHERE id = 999
DELETE FROM main.said.people WHERE id > 12
MERGE INTO main.said.people p USING (SELECT 2 AS id, 'Grace H.' AS name) s ON p.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name
SELECT name, pay FROM main.said.people WHERE id IN (2, 11, 12) ORDER BY id
INSERT INTO main.said.people VALUES (5)
INSERT INTO main.said.people VALUES ('x', 'y', 'z', 'w')
ALTER TABLE main.said.people ADD COLUMN note STRING
SELECT note, id FROM main.said.people ORDER BY id LIMIT 2
CREATE VIEW main.said.rich AS SELECT id, name FROM main.said.people WHERE pay > 7
SELECT * FROM main.said.rich ORDER BY id
CREATE TABLE main.said.copy AS SELECT * FROM main.said.people
SELECT p.name, c.pay FROM main.said.people p JOIN main.said.copy c ON p.id = c.id ORDER BY p.id
SELECT p.id, x.id FROM main.said.people p LEFT JOIN (SELECT 1 AS id) x ON p.id = x.id ORDER BY p.id
SELECT p.id FROM main.said.people p LEFT ANTI JOIN (SELECT 1 AS id) x ON p.id = x.id ORDER BY p.id
SELECT a.id, b.id FROM (SELECT 1 AS id UNION ALL SELECT 2) a CROSS JOIN (SELECT 3 AS id) b ORDER BY 1
SELECT a.x, b.y FROM (VALUES (1), (2)) a(x) FULL OUTER JOIN (VALUES (2), (3)) b(y) ON a.x = b.y ORDER BY 1, 2
DESCRIBE TABLE main.said.people
SHOW TABLES IN main.said
SHOW COLUMNS IN main.said.people
SHOW CATALOGS
USE main.said
SELECT current_schema()
SELECT name FROM people WHERE id = 1
SELECT 1
SELECT 1 AS a, 2 AS a, 3 AS A
SELECT 'it''s', "double", `id` FROM people WHERE id = 1
SELECT 'größe', '日本語', '😀', 'a\nb'
SELECT 1 AS `größe 日本`
SELECT /* a comment */ 1 -- and another
-- a comment first
SELECT 1;
SELECT CASE WHEN 1 = 1 THEN 'yes' ELSE 'no' END AS answer
SELECT coalesce(NULL, NULL, 3), nullif(1, 1), if(true, 'a', 'b')
WITH t AS (SELECT id, id % 3 AS g FROM range(10)) SELECT g, count(*), sum(id) FROM t GROUP BY g ORDER BY g
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT * FROM a, b
SELECT id, row_number() OVER (ORDER BY id DESC) FROM range(5) ORDER BY id
SELECT id, sum(id) OVER (PARTITION BY id % 2 ORDER BY id) FROM range(6) ORDER BY id
SELECT id, lag(id) OVER (ORDER BY id), lead(id, 2, -1) OVER (ORDER BY id) FROM range(4) ORDER BY id
SELECT rank() OVER (ORDER BY x), dense_rank() OVER (ORDER BY x), x FROM (VALUES (1), (1), (2)) t(x) ORDER BY x
SELECT x, count(*) FROM (VALUES (1), (1), (2)) t(x) GROUP BY x HAVING count(*) > 1
SELECT DISTINCT id % 2 AS p FROM range(9) ORDER BY p
SELECT id FROM range(3) UNION SELECT 1 ORDER BY 1
SELECT id FROM range(5) EXCEPT SELECT 2 ORDER BY 1
SELECT id FROM range(5) INTERSECT SELECT 2 ORDER BY 1
SELECT id FROM range(100) ORDER BY id LIMIT 3 OFFSET 7
SELECT (SELECT max(id) FROM range(4)) AS m, EXISTS (SELECT 1 FROM range(1)) AS e
SELECT explode(array(1, 2, 3)) AS x
SELECT upper('straße'), length('😀'), substr('abcdef', 2, 3), trim('  x '), concat_ws('-', 'a', 'b')
SELECT round(2.5D), floor(-1.5D), ceil(1.2D), abs(-3), 7 % 3, 2 * 3 + 4
SELECT cast('12' AS INT) + 1, cast(1.5 AS STRING), cast('2013-01-01' AS DATE)
SELECT datediff(date'2013-03-01', date'2013-02-01'), year(date'2013-03-01'), date_format(timestamp'2013-01-02 03:04:05', 'yyyy-MM')
SELECT array_contains(array(1, 2), 2), size(map('a', 1)), map('a', 1)['a'], named_struct('x', 5).x
SELECT 9223372036854775807 AS big, -0.0D AS negative_zero, 1e300D AS large
SELECT * FROM people WHERE 1 = 0
SELECT * FROM main.said.nothing_here
SELECT nothing_here FROM main.said.people
SELECT no_such_function(1)
SELECT 1 +
SELEC 1
SELECT 1 / 0
SELECT cast('x' AS INT)
SELECT * FROM no_such_schema.t
DROP TABLE main.said.no_such_table
DROP TABLE IF EXISTS main.said.no_such_table
TRUNCATE TABLE main.said.copy
SELECT count(*) FROM main.said.copy
DROP VIEW main.said.rich
DROP TABLE main.said.copy
DROP TABLE main.said.people
DROP SCHEMA main.said CASCADE
""".strip().replace("first\nSELECT", "first\\nSELECT").splitlines()
STATEMENTS = [text.replace("first\\nSELECT", "first\nSELECT") for text in STATEMENTS]


def outcome(cursor, text, error):
    try:
        cursor.execute(text)
        return ("rows", cursor.description, rows_of(cursor.fetchall()), cursor.rowcount)
    except error as e:
        return ("error", type(e).__name__, str(e), sorted(e.context))


def said(connection, error):
    with connection, connection.cursor() as cursor:
        return [outcome(cursor, text, error) for text in STATEMENTS]


@pytest.fixture(scope="module", params=[(), ("--columns",)], ids=["arrow", "columns"])
def outcomes(request, tmp_path_factory):
    from databricks import sql as other
    from mortar import sql

    kiln = Kiln(tmp_path_factory.mktemp("kiln"), *request.param)
    mine = said(connect(kiln.uri), sql.Error)
    theirs = said(connect_other(kiln.uri, _disable_pandas=True), other.Error)
    kiln.end()
    return list(zip(mine, theirs))


@pytest.mark.parametrize("number", range(len(STATEMENTS)), ids=lambda n: STATEMENTS[n][:60])
def test_statement(number, outcomes):
    assert_same(*outcomes[number])


def test_the_list_holds_both_kinds(outcomes):
    kinds = [mine[0] for mine, _ in outcomes]
    assert len(kinds) >= 60
    assert kinds.count("error") >= 10 and kinds.count("rows") >= 50


def test_changed_rows_are_counted(outcomes):
    counted = {text.split()[0]: mine[3] for text, (mine, _) in zip(STATEMENTS, outcomes)
               if mine[0] == "rows"}
    assert counted["INSERT"] == 4 and counted["DELETE"] == 2 and counted["MERGE"] == 1
    assert counted["SELECT"] == counted["CREATE"] == -1


@pytest.mark.parametrize("spelling", ["select 1", "  \n\tSELECT\n1\n", "SELECT 1 ; ", "/* x */SELECT 1"])
def test_spelling(kiln_uri, spelling):
    with connect(kiln_uri) as connection:
        assert connection.cursor().execute(spelling).fetchall() == [(1,)]


def test_a_long_statement(kiln_uri):
    text = "SELECT '" + "ä" * 200000 + "' AS v"
    with connect(kiln_uri) as connection:
        assert connection.cursor().execute(text).fetchone().v == "ä" * 200000


def test_executemany_sums_the_counts(kiln_uri):
    with connect(kiln_uri) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE OR REPLACE TABLE main.default.many (a INT)")
        assert cursor.executemany("INSERT INTO main.default.many VALUES (1)", [(), [], {}]) is cursor
        single = cursor.execute("INSERT INTO main.default.many VALUES (1)").rowcount
        cursor.executemany("INSERT INTO main.default.many VALUES (1)", [None, None])
        assert cursor.rowcount == (2 * single if single >= 0 else -1)
        assert cursor.execute("SELECT count(*) FROM main.default.many").fetchone() == (6,)
        assert cursor.executemany("nonsense", []).rowcount == -1
        cursor.execute("DROP TABLE main.default.many")
