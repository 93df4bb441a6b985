/** Refuses calls of tools that are not what was accepted, where the user wants that. */

import { BridgeError } from '../base/errors.ts';
import type { CallGate, ToolCall } from '../calls/tool-calls.ts';
import { describeChange } from '../catalog/tool-change.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import { hintToAccept } from './tool-differences.ts';

export function createPinGate(directory: Pick<ServerDirectory, 'review' | 'findTool'>): CallGate {
  return (call, proceed) =>
    call.tool.change?.isRefused === true ? unlessAccepted(directory, call).then(() => proceed(call)) : proceed(call);
}

/** A person may have accepted the tool a moment ago. Rejects with `TOOL_CHANGED`. */
async function unlessAccepted(
  directory: Pick<ServerDirectory, 'review' | 'findTool'>,
  { server, tool, context }: ToolCall,
): Promise<void> {
  await directory.review(server);
  const { change } = await directory.findTool(server, tool.name, context.signal);
  if (change?.isRefused === true) {
    const what = `'${tool.name}' of server '${server.name}' was not called: its definition is ${describeChange(change)}`;
    throw new BridgeError('TOOL_CHANGED', what, {
      hint: hintToAccept(server.name, tool.name),
      data: { server: server.name, tool: tool.name, changed: change.parts },
    });
  }
}
