/** Refuses calls to tools whose definition changed since it was accepted, if the `strict` mode is set. */
import { BridgeError } from '../base/errors.ts';
import { type CallGate, failed, type ToolCall } from '../calls/contract.ts';
import { describeChange } from '../catalog/tool-change.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import { hintToAccept } from './tool-differences.ts';

type PinDirectory = Pick<ServerDirectory, 'review' | 'findTool'>;

export function createPinGate(directory: PinDirectory): CallGate {
  return async (call, next) => {
    const refusal = call.tool.change?.isRefused === true ? await refusalOf(directory, call) : undefined;
    return refusal === undefined ? next(call) : failed(refusal);
  };
}

/** `TOOL_CHANGED`, unless a person has accepted the tool in the meantime. */
async function refusalOf(directory: PinDirectory, { server, tool, context }: ToolCall): Promise<unknown> {
  try {
    await directory.review(server);
    const { change } = await directory.findTool(server, tool.name, context.signal);
    if (change?.isRefused !== true) {
      return undefined;
    }
    const what = `'${tool.name}' of server '${server.name}' was not called: definition ${describeChange(change)}`;
    return new BridgeError('TOOL_CHANGED', what, {
      hint: hintToAccept(server.name, tool.name),
      data: { server: server.name, tool: tool.name, changed: change.parts },
    });
  } catch (error) {
    return error;
  }
}
