await mcp_sqlite.create_table(query="CREATE TABLE sales (region TEXT, amount REAL, note TEXT)")
for region, amount in [("north", 1.5), ("south", 2.25), ("été", 3.0), ("日本", 4.0), ("north", 5.5)]:
    await mcp_sqlite.write_query(query=f"INSERT INTO sales VALUES ('{region}', {amount}, NULL)")
assert "sales" in await mcp_sqlite.list_tables()
assert "amount" in await mcp_sqlite.describe_table(table_name="sales")
for region in ("north", "south", "été", "日本"):
    rows = await mcp_sqlite.read_query(query=f"SELECT region, sum(amount) AS total FROM sales WHERE region = '{region}' GROUP BY 1")
    assert region in rows, rows
for limit in range(4):
    # Python's repr of a list, of which only `[]` is JSON, and so a list.
    assert isinstance(await mcp_sqlite.read_query(query=f"SELECT * FROM sales LIMIT {limit}"), str if limit else list)
assert "NULL" not in await mcp_sqlite.read_query(query="SELECT note FROM sales")
assert await mcp_sqlite.append_insight(insight="North sells twice.")
for wrong in ("DROP TABLE sales", "SELECT nothing FROM nowhere"):
    try:
        answer = await mcp_sqlite.read_query(query=wrong)
        assert "rror" in answer, answer
    except ToolError:
        pass
