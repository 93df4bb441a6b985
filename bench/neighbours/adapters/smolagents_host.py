"""`smolagents_host.py SERVERS.json`: runs cells in smolagents' LocalPythonExecutor, with the tools of MCP servers as functions."""

import json
import sys

from line_host import open_lines

requests, answer = open_lines()

from mcp import StdioServerParameters
from smolagents import LocalPythonExecutor, MCPClient

with open(sys.argv[1]) as file:
    servers = [StdioServerParameters(**server) for server in json.load(file).values()]
with MCPClient(servers, structured_output=False) as tools:
    # By default, only a few modules can be imported; "*" is the option that allows all.
    executor = LocalPythonExecutor(["*"])
    executor.send_tools({tool.name: tool for tool in tools})
    for request in requests:
        try:
            result = executor(request["code"])
            answer(answer=result.logs + ("" if result.output is None else str(result.output)))
        except BaseException as error:
            answer(error=f"{executor.state.get('_print_outputs', '')}{error}")
