/** Runs code with the answers of a recording. */
import type { Logger } from '../base/log.ts';
import { endedAsRecorded, readRecording } from '../recordings/index.ts';
import type { Settings } from '../settings/settings.ts';
import type { OpenedReplay } from '../terminal/command.ts';
import { createBridge } from './bridge.ts';

/** See `CommandContext`. */
export async function openReplay(path: string, settings: Settings, logger: Logger): Promise<OpenedReplay> {
  const replay = await readRecording(path);
  return {
    cells: replay.cells.map((recorded) => {
      const { code, servers, session, timeout_seconds: timeoutSeconds } = recorded.cell;
      return { code, servers, session, timeoutSeconds, isSame: (answer) => endedAsRecorded(recorded, answer) };
    }),
    createBridge: () => createBridge(settings, logger, { replay }),
  };
}
