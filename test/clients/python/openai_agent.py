"""An agent of the OpenAI Agents SDK. Its model follows a script."""

import json

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from bridge import BRIDGE, CELLS, report, run
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)
offered = []


class Scripted(Model):
    turn = 0

    async def get_response(self, system_instructions, input, model_settings, tools, *rest, **options):
        offered[:] = [tool.name for tool in tools]
        number, self.turn = self.turn, self.turn + 1
        if number < len(CELLS):
            item = ResponseFunctionToolCall(
                type="function_call", call_id=f"call-{number}", name="run_python", arguments=json.dumps(CELLS[number])
            )
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            item = ResponseOutputMessage(id="1", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *rest, **options):
        raise NotImplementedError


def text_of(output):
    return output if isinstance(output, str) else output.get("text", "") if isinstance(output, dict) else str(output)


async def main():
    connect = MCPServerStreamableHttp if "url" in BRIDGE else MCPServerStdio
    # By default, it gives a server 5 s.
    async with connect(params=BRIDGE, client_session_timeout_seconds=60) as server:
        agent = Agent(name="tester", model=Scripted(), mcp_servers=[server])
        ended = await Runner.run(agent, "Run the cells.")
    report(offered, [text_of(item.output) for item in ended.new_items if item.type == "tool_call_output_item"])


run(main)
