import pathlib

path = "FOLDER/book.xlsx"
excel = mcp_excel
await excel.create_workbook(path=path)
sheet = (await excel.describe_workbook(path=path))
assert "Sheet" in str(sheet), sheet
await excel.create_sheet(path=path, new_name="Sales")
rows = [["region", "amount"], ["north", 10], ["south", 20.5], ["été", 30]]
await excel.write_range(path=path, sheet="Sales", at="A1", rows=rows)
read = await excel.read_range(path=path, sheet="Sales", range="A1:B4")
assert "north" in str(read) and "20.5" in str(read) and "été" in str(read), read
await excel.write_range(path=path, sheet="Sales", at="B5", rows=[["=SUM(B2:B4)"]])
assert "60.5" in str(await excel.read_range(path=path, sheet="Sales", range="B5"))
assert "A1:B5" in str(await excel.describe_sheet(path=path, sheet="Sales"))
await excel.copy_sheet(path=path, sheet="Sales", new_name="Copy")
await excel.rename_sheet(path=path, sheet="Copy", new_name="Old")
await excel.insert_rows_or_columns(path=path, sheet="Old", axis="rows", start=2)
await excel.delete_rows_or_columns(path=path, sheet="Old", axis="rows", start=2)
assert "north" in str(await excel.find_cells(path=path, query="north"))
await excel.replace_cells(path=path, query="north", replacement="east", sheet="Old")
await excel.clear_range(path=path, sheet="Old", range="A4:B4")
await excel.copy_range(path=path, sheet="Sales", range="A1:B2", at="D1")
await excel.merge_cells(path=path, sheet="Old", range="A6:B6")
await excel.set_note(path=path, sheet="Sales", cell="A1", text="a note")
await excel.export_csv(path=path, sheet="Sales", csv_path="FOLDER/out.csv")
assert "south" in pathlib.Path("FOLDER/out.csv").read_text(encoding="utf-8-sig")
await excel.delete_sheet(path=path, sheet="Old")
assert "book.xlsx" in str(await excel.list_workbooks(directory="FOLDER"))
try:
    await excel.describe_workbook(path="FOLDER/none.xlsx")
    raise AssertionError("a missing workbook")
except ToolError as error:
    assert str(error)
