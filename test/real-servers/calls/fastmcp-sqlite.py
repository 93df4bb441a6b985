db = "FOLDER/data.db"
import sqlite3

with sqlite3.connect(db) as connection:
    connection.executescript("CREATE TABLE t (n INTEGER, s TEXT); INSERT INTO t VALUES (1, 'é'), (2, NULL), (9007199254740993, 'big');")
sqlite = mcp_fastmcp_sqlite
assert "t" in str(await sqlite.schema(db=db))
assert "INTEGER" in str(await sqlite.table_info(table="t", db=db))
for n in range(12):
    assert str(n) in str(await sqlite.query(sql=f"SELECT {n} AS n", db=db))
assert "9007199254740993" in str(await sqlite.query(sql="SELECT max(n) FROM t", db=db))
assert "é" in str(await sqlite.query(sql="SELECT s FROM t WHERE n = ?", params=[1], db=db))
for format in ("json", "csv"):
    assert await sqlite.query(sql="SELECT * FROM t", format=format, db=db)
assert "SCAN" in str(await sqlite.explain(sql="SELECT * FROM t", db=db))
try:
    assert "rror" in str(await sqlite.query(sql="SELECT * FROM nowhere", db=db))
except ToolError:
    pass
