"""`fastmcp_server.py SERVERS.json`: an MCP server of FastMCP that offers the tools of other servers in code mode."""

import json
import sys

from fastmcp.experimental.transforms.code_mode import CodeMode
from fastmcp.server import create_proxy

with open(sys.argv[1]) as file:
    server = create_proxy({"mcpServers": json.load(file)}, name="bench")
server.add_transform(CodeMode())
server.run(transport="stdio", show_banner=False)
