import json, re


async def rows(sql):
    answer = await mcp_motherduck.execute_query(sql=sql)
    return answer if not isinstance(answer, str) else json.loads(answer)


await rows("CREATE TABLE t AS SELECT range AS n, n * 1.5 AS x, 'ü' || range AS s, DATE '2026-01-01' + range::INT AS d FROM range(100)")
for n in range(12):
    assert str(n * 1.5) in str(await rows(f"SELECT x FROM t WHERE n = {n}"))
assert "ü7" in str(await rows("SELECT s FROM t WHERE n = 7"))
assert "2026-04-10" in str(await rows("SELECT max(d) FROM t"))
assert "9223372036854775807" in str(await rows("SELECT 9223372036854775807 AS big, NULL AS nothing"))
assert re.search(r"['\"]t['\"]", str(await mcp_motherduck.list_tables()))
assert "memory" in str(await mcp_motherduck.list_databases())
assert "BIGINT" in str(await mcp_motherduck.list_columns(table="t"))
for wrong in ("SELEC 1", "SELECT * FROM nowhere"):
    try:
        assert "rror" in str(await rows(wrong))
    except ToolError:
        pass
