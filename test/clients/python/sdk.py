"""The official Python SDK."""

from bridge import BRIDGE, CELLS, report, run
from mcp import Client, StdioServerParameters


async def main():
    server = BRIDGE.get("url") or StdioServerParameters(**BRIDGE)
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        answers = [await client.call_tool("run_python", cell) for cell in CELLS]
        report([tool.name for tool in tools], [answer.content[0].text for answer in answers])


run(main)
