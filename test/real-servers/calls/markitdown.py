import base64, json, pathlib

folder = pathlib.Path("FOLDER")
pages = {f"page{n}.html": f"<html><body><h1>Title {n}</h1><table><tr><th>k</th></tr><tr><td>v{n}</td></tr></table></body></html>" for n in range(8)}
tables = {f"table{n}.csv": f"a,b\n{n},é\n" for n in range(6)}
others = {"data.json": json.dumps({"key": ["value"]}), "plain.txt": "just text ✓", "feed.xml": "<root><item>one</item></root>"}
for name, text in {**pages, **tables, **others}.items():
    (folder / name).write_text(text, encoding="utf-8")
    shown = await mcp_markitdown.convert_to_markdown(uri=(folder / name).as_uri())
    assert str(shown).strip(), name
    if name in pages:
        assert shown.startswith("# Title"), shown
    if name in tables:
        assert "| é |" in shown, shown
inline = base64.b64encode(b"<h2>Inline</h2>").decode()
assert "Inline" in await mcp_markitdown.convert_to_markdown(uri=f"data:text/html;base64,{inline}")
for wrong in ("file:///no/such/file.html", "gopher://x"):
    try:
        await mcp_markitdown.convert_to_markdown(uri=wrong)
        raise AssertionError(wrong)
    except ToolError as error:
        assert str(error)
