"""FastMCP's client."""

from bridge import BRIDGE, CELLS, report, run
from fastmcp import Client


async def main():
    server = {"url": BRIDGE["url"]} if "url" in BRIDGE else BRIDGE
    async with Client({"mcpServers": {"code": server}}) as client:
        tools = await client.list_tools()
        answers = [await client.call_tool("run_python", cell, raise_on_error=False) for cell in CELLS]
        report([tool.name for tool in tools], [answer.content[0].text for answer in answers])


run(main)
