/** Records cells and calls, shows recordings, and answers calls from them. */
import type { Command } from '../../edges/terminal/command.ts';
import { RECORD } from './command.ts';

export { readKeptCell } from './kept-cell.ts';
export { Recording } from './recording.ts';
export { endedAsRecorded, type Replay, readRecording } from './replay.ts';
export { answeredCalls, openRun, type ResumableRun, RunAnswers } from './resume.ts';

export const recordCommand: Command<typeof RECORD> = {
  table: RECORD,
  async run(line, host) {
    host.endWhenUnread();
    const { showRecording } = await import('./run.ts');
    return showRecording(line, { ...host, ...(await host.loadContext()) });
  },
};
