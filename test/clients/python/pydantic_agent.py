"""An agent of Pydantic AI with its MCP toolset. Its model follows a script."""

from bridge import BRIDGE, CELLS, report, run
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

offered = []


def model(messages, info):
    offered[:] = [tool.name for tool in info.function_tools]
    done = sum(isinstance(message, ModelResponse) for message in messages)
    return ModelResponse([ToolCallPart("run_python", CELLS[done]) if done < len(CELLS) else TextPart("done")])


def text_of(part):
    content = part.content
    return content if isinstance(content, str) else str(content)


async def main():
    toolset = MCPToolset(BRIDGE["url"] if "url" in BRIDGE else StdioTransport(**BRIDGE))
    agent = Agent(FunctionModel(model), toolsets=[toolset])
    async with agent:
        ended = await agent.run("Run the cells.")
    parts = [part for message in ended.all_messages() for part in message.parts]
    report(offered, [text_of(part) for part in parts if isinstance(part, (ToolReturnPart, RetryPromptPart))])


run(main)
