"""The official Python SDK, version 1, which most servers and frameworks still use."""

from contextlib import asynccontextmanager

from bridge import BRIDGE, CELLS, report, run
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


@asynccontextmanager
async def streams():
    if "url" in BRIDGE:
        async with streamablehttp_client(BRIDGE["url"]) as (read, write, _):
            yield read, write
    else:
        async with stdio_client(StdioServerParameters(**BRIDGE)) as (read, write):
            yield read, write


async def main():
    async with streams() as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        answers = [await session.call_tool("run_python", cell) for cell in CELLS]
        report([tool.name for tool in tools], [answer.content[0].text for answer in answers])


run(main)
