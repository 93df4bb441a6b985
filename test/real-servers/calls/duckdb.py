await mcp_duckdb.query(query="CREATE TABLE t AS SELECT range AS n, 'ü' || range AS s FROM range(50)")
for n in range(16):
    assert f"ü{n}" in await mcp_duckdb.query(query=f"SELECT s FROM t WHERE n = {n}")
assert "1225" in await mcp_duckdb.query(query="SELECT sum(n) FROM t")
# Python's repr of a list, of which only `[]` is JSON, and so a list.
assert await mcp_duckdb.query(query="SELECT * FROM t WHERE false") == []
assert "49" in await mcp_duckdb.query(query="SELECT max(n) FROM t")
try:
    assert "rror" in await mcp_duckdb.query(query="SELECT * FROM nowhere")
except ToolError:
    pass
