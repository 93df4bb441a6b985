path = "FOLDER/letter.docx"
word = mcp_word
assert "created" in await word.create_document(filename=path, title="A letter", author="Zoë")
assert "added" in await word.add_heading(filename=path, text="Heading", level=1)
for number in range(6):
    assert "added" in await word.add_paragraph(filename=path, text=f"Paragraph {number} — ✓")
assert "added" in await word.add_table(filename=path, rows=2, cols=2, data=[["a", "b"], ["c", "d"]])
assert "break" in await word.add_page_break(filename=path)
text = await word.get_document_text(filename=path)
assert "Paragraph 5 — ✓" in text and "Heading" in text, text
assert (await word.get_document_info(filename=path)).author == "Zoë"
assert "Heading" in str(await word.get_document_outline(filename=path))
assert "Replaced" in await word.search_and_replace(filename=path, find_text="Paragraph 0", replace_text="Absatz 0")
assert "Absatz 0" in str(await word.find_text_in_document(filename=path, text_to_find="Absatz"))
assert "Absatz" in str(await word.get_paragraph_text_from_document(filename=path, paragraph_index=1))
assert "deleted" in await word.delete_paragraph(filename=path, paragraph_index=2)
assert "letter.docx" in await word.list_available_documents(directory="FOLDER")
assert await word.copy_document(source_filename=path, destination_filename="FOLDER/copy.docx")
# It reports this as an ordinary result.
assert "does not exist" in await word.get_document_info(filename="FOLDER/none.docx")
