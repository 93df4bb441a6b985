chroma = mcp_chroma
assert "created" in await chroma.chroma_create_collection(collection_name="notes", metadata={"topic": "tests"})
for number in range(8):
    listed = await chroma.chroma_list_collections(limit=number + 1)
    assert "notes" in str(listed), listed
    assert int(str(await chroma.chroma_get_collection_count(collection_name="notes"))) == 0
assert "notes" in str(await chroma.chroma_get_collection_info(collection_name="notes"))
assert "modified" in await chroma.chroma_modify_collection(collection_name="notes", new_name="renamed")
for wrong in ("notes", "nothing"):
    try:
        await chroma.chroma_get_collection_count(collection_name=wrong)
        raise AssertionError(wrong)
    except ToolError as error:
        assert wrong in str(error)
assert "deleted" in await chroma.chroma_delete_collection(collection_name="renamed")
