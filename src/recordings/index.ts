/** Records cells and calls, shows recordings, and answers calls from them. */
export { recordCommand } from './command.ts';
export { readKeptCell } from './kept-cell.ts';
export { Recording } from './recording.ts';
export { endedAsRecorded, type Replay, readRecording } from './replay.ts';
export { openRun, type ResumableRun, RunAnswers } from './resume.ts';
