assert await mcp_alchemy.execute_query(query="CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)")
for number, name in enumerate(["Ada", "Grace", "Zoë", "王", "O'Hara", "x" * 500]):
    await mcp_alchemy.execute_query(query="INSERT INTO people VALUES (:id, :name, :age)", params={"id": number, "name": name, "age": 30 + number})
for number in range(6):
    row = await mcp_alchemy.execute_query(query="SELECT name, age FROM people WHERE id = :id", params={"id": number})
    assert str(30 + number) in row, row
assert "people" in await mcp_alchemy.all_table_names()
assert "people" in await mcp_alchemy.filter_table_names(q="peo")
assert not str(await mcp_alchemy.filter_table_names(q="nothing"))
assert "name" in await mcp_alchemy.schema_definitions(table_names=["people"])
assert "3" in await mcp_alchemy.execute_query(query="SELECT count(*) FROM people WHERE age > 32")
assert await mcp_alchemy.execute_query(query="SELECT * FROM people WHERE age > 99")
assert "rror" in await mcp_alchemy.execute_query(query="SELECT * FROM nowhere")
