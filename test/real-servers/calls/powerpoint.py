ppt = mcp_powerpoint
deck = await ppt.create_presentation()
which = deck.presentation_id
for number in range(6):
    slide = await ppt.add_slide(layout_index=1, title=f"Slide {number} ✓", presentation_id=which)
    assert "error" not in slide, slide
    bullets = await ppt.add_bullet_points(slide_index=number, placeholder_idx=1, bullet_points=["one", "zwei"], presentation_id=which)
    assert "error" not in bullets, bullets
assert "error" not in await ppt.add_table(slide_index=0, rows=2, cols=2, left=1, top=1, width=4, height=2, data=[["a", "b"], ["c", "d"]], presentation_id=which)
chart = await ppt.add_chart(slide_index=1, chart_type="column", left=1, top=1, width=5, height=3, categories=["x", "y"], series_names=["s"], series_values=[[1, 2]], presentation_id=which)
assert "error" not in chart, chart
assert "Slide 3" in str(await ppt.extract_slide_text(slide_index=3, presentation_id=which))
assert (await ppt.get_presentation_info(presentation_id=which)).slide_count == 6
assert "error" not in await ppt.save_presentation(file_path="FOLDER/deck.pptx", presentation_id=which)
again = await ppt.open_presentation(file_path="FOLDER/deck.pptx")
assert again.slide_count == 6, again
assert which in str(await ppt.list_presentations())
# It reports this as an ordinary result.
assert "error" in await ppt.get_slide_info(slide_index=99, presentation_id=which)
