"""An agent of LangGraph with langchain-mcp-adapters. Its model follows a script."""

from bridge import BRIDGE, CELLS, report, run
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langgraph.prebuilt import create_react_agent


class Scripted(FakeMessagesListChatModel):
    def bind_tools(self, tools, **kwargs):
        return self


def text_of(content):
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


async def main():
    transport = {"transport": "streamable_http"} if "url" in BRIDGE else {"transport": "stdio"}
    client = MultiServerMCPClient({"code": {**transport, **BRIDGE}})
    async with client.session("code") as session:
        tools = await load_mcp_tools(session)
        calls = [
            AIMessage(content="", tool_calls=[{"name": "run_python", "args": cell, "id": f"call-{number}"}])
            for number, cell in enumerate(CELLS)
        ]
        agent = create_react_agent(Scripted(responses=[*calls, AIMessage(content="done")]), tools)
        ended = await agent.ainvoke({"messages": [("user", "Run the cells.")]})
        answers = [text_of(message.content) for message in ended["messages"] if isinstance(message, ToolMessage)]
        report([tool.name for tool in tools], answers)


run(main)
