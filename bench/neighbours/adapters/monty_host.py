"""`monty_host.py SERVERS.json`: runs cells in a session of Monty, with the tools of MCP servers as functions."""

import asyncio
import contextlib
import json
import sys

from line_host import open_lines

requests, answer = open_lines()

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from pydantic_monty import AsyncMonty


def function_for(client, name):
    async def call(**arguments):
        result = await client.call_tool(name, arguments)
        return "".join(block.text for block in result.content if block.type == "text")

    return call


async def main():
    with open(sys.argv[1]) as file:
        servers = json.load(file)
    async with contextlib.AsyncExitStack() as stack:
        functions = {}
        for server in servers.values():
            streams = await stack.enter_async_context(stdio_client(StdioServerParameters(**server)))
            client = await stack.enter_async_context(ClientSession(*streams))
            await client.initialize()
            for tool in (await client.list_tools()).tools:
                functions[tool.name] = function_for(client, tool.name)
        pool = await stack.enter_async_context(AsyncMonty())
        session = await stack.enter_async_context(pool.checkout())
        while (request := await asyncio.to_thread(next, requests, None)) is not None:
            printed = []
            try:
                value = await session.feed_run(
                    request["code"],
                    external_lookup=functions,
                    print_callback=lambda _, text, printed=printed: printed.append(text),
                )
                answer(answer="".join(printed) + ("" if value is None else repr(value)))
            except BaseException as error:
                answer(error="".join(printed) + str(error))


asyncio.run(main())
