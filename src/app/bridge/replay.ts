/** Runs code with the answers of a recording. */
import type { Logger } from '../../core/base/log.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { OpenedReplay } from '../../edges/terminal/command.ts';
import { endedAsRecorded, readRecording } from '../../record/recordings/index.ts';
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
