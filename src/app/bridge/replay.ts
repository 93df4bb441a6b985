/** Runs code with the answers of a recording. */

import type { Logger } from '../../core/base/log.ts';
import { isReadOnly } from '../../core/calls/contract.ts';
import { methodTool } from '../../core/calls/surface-calls.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { OpenedReplay } from '../../edges/terminal/command.ts';
import { answeredCalls, endedAsRecorded, type Replay, readRecording } from '../../record/recordings/index.ts';
import { createBridge } from './bridge.ts';

/** See `CommandContext`. */
export async function openReplay(path: string, settings: Settings, logger: Logger): Promise<OpenedReplay> {
  const replay = await readRecording(path);
  return {
    cells: replay.cells.map((recorded) => {
      const { code, servers, session, timeout_seconds: timeoutSeconds } = recorded.cell;
      const status = recorded.ended?.status;
      return { code, servers, session, timeoutSeconds, status, isSame: (answer) => endedAsRecorded(recorded, answer) };
    }),
    calls: answeredCalls([...replay.cells.flatMap(({ calls }) => calls), ...replay.jobCalls]).map((call) => ({
      ...call,
      isReading: isReading(replay, call),
    })),
    createBridge: () => createBridge(settings, logger, { replay }),
  };
}

function isReading({ servers }: Replay, { server, tool }: { readonly server: string; readonly tool: string }): boolean {
  const tools = servers.findLast(({ name }) => name === server)?.metadata?.tools;
  const known = tools?.find(({ name }) => name === tool) ?? methodTool(tool);
  return known !== undefined && isReadOnly(known);
}
