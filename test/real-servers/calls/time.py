for zone in ("UTC", "Europe/Berlin", "Asia/Tokyo", "America/New_York", "Asia/Kolkata", "Australia/Sydney", "Africa/Cairo", "Etc/GMT+5"):
    now = await mcp_time.get_current_time(timezone=zone)
    assert now.timezone == zone and now["datetime"][4] == "-", now
for hour in range(11):
    there = await mcp_time.convert_time(source_timezone="Asia/Kolkata", time=f"{hour:02}:00", target_timezone="UTC")
    assert there.time_difference == "-5.5h", there
    assert there.target.timezone == "UTC"
for wrong in ({"source_timezone": "Mars/Base", "time": "12:00"}, {"source_timezone": "UTC", "time": "25:99"}):
    try:
        await mcp_time.convert_time(**wrong, target_timezone="UTC")
        raise AssertionError(wrong)
    except ToolError as error:
        assert str(error)
