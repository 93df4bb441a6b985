/**
 * Refuses calls to tools whose definition changed since it was accepted, if the `strict` mode is set. Each call passes this gate
 * twice: before a person is asked, who need not decide about a call that is refused anyway, and afterwards, because a
 * definition can change meanwhile.
 */
import { BridgeError } from '../../core/base/errors.ts';
import { type CallGate, type CallOutcome, failed, type PassOn, type ToolCall } from '../../core/calls/contract.ts';
import { describeChange } from '../../core/catalog/tool-change.ts';
import type { ServerDirectory } from '../../core/directory/server-directory.ts';
import { hintToAccept } from './tool-differences.ts';

type PinDirectory = Pick<ServerDirectory, 'review' | 'findTool' | 'metadata'>;
/** The principal whose server it is; undefined if it is shared. */
type OwnerOf = (server: string) => string | undefined;

export function createPinGate(directory: PinDirectory, ownerOf: OwnerOf): CallGate {
  return (call, next) => {
    const isRefused = call.tool.change?.isRefused === true || isNowRefused(directory, call);
    return isRefused ? passUnlessRefused(call, next) : next(call);
  };

  async function passUnlessRefused(call: ToolCall, next: PassOn): Promise<CallOutcome> {
    const refusal = await refusalOf(directory, call, ownerOf(call.server.name));
    return refusal === undefined ? next(call) : failed(refusal);
  }
}

/** Whether a list that was read after the call began refuses the tool. Does not ask the server. */
function isNowRefused(directory: PinDirectory, { server, tool }: ToolCall): boolean {
  const known = tool.isMethod === true ? undefined : directory.metadata(server);
  return known?.tools.find(({ name }) => name === tool.name)?.change?.isRefused === true;
}

/** `TOOL_CHANGED`, unless a person has accepted the tool in the meantime. */
async function refusalOf(
  directory: PinDirectory,
  { server, tool, context }: ToolCall,
  owner: string | undefined,
): Promise<unknown> {
  try {
    await directory.review(server);
    const { change } = await directory.findTool(server, tool.name, context.signal);
    if (change?.isRefused !== true) {
      return undefined;
    }
    const what = `'${tool.name}' of server '${server.name}' was not called: definition ${describeChange(change)}`;
    return new BridgeError('TOOL_CHANGED', what, {
      hint: hintToAccept({ name: server.name, owner }, tool.name),
      data: { server: server.name, tool: tool.name, changed: change.parts },
    });
  } catch (error) {
    return error;
  }
}
