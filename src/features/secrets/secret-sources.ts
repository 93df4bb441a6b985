/** Reads the values of `${file:…}` and `${cmd:…}`. An error never repeats a part of what was read. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { type ProcessEnd, runProcess } from '../../core/base/run-process.ts';
import { splitWords } from '../../core/base/shell-words.ts';
import { MAX_SECRET_BYTES } from './secret-name.ts';

const MAX_BYTES_TEXT = `${MAX_SECRET_BYTES.toLocaleString('en-US')} bytes`;
/** A keyring may ask the person to unlock it. Chosen. */
const TIME_LIMIT_MS = 30_000;

/** The text of a file. Links are followed, because secrets that are mounted into containers are links. */
export async function readSecretFile(path: string): Promise<string> {
  // Non-blocking, because a read from a named pipe would never end.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    throw new Error(`${path} cannot be read: ${codeOf(error)}`);
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > MAX_SECRET_BYTES) {
      throw new Error(`${path} is not a file of at most ${MAX_BYTES_TEXT}`);
    }
    return decode(await file.readFile());
  } finally {
    await file.close();
  }
}

export interface CommandPlace {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeLimitMs?: number;
}

/** What a command prints. Runs without a shell. */
export async function runSecretCommand(command: string, place: CommandPlace): Promise<string> {
  const words = splitWords(command);
  if (words === undefined) {
    throw new Error('its command is empty, or a quote in it is not closed');
  }
  const { timeLimitMs = TIME_LIMIT_MS, ...rest } = place;
  const end = await runProcess(words, {
    ...rest,
    deadlineMs: timeLimitMs,
    maxOutputBytes: MAX_SECRET_BYTES,
    // Error messages may contain the secret.
    ignoresStderr: true,
    // It may wait 30 s for a person, and the end of the bridge must not wait for that.
    endsWithProcess: true,
  });
  if (end.endedBy === 'exit' && end.exitCode === 0) {
    return decode(end.stdout);
  }
  throw new Error(`'${words[0] ?? ''}' ${whyFailed(end, timeLimitMs)}`);
}

/** Without the message of the system, which may repeat the arguments. */
function whyFailed({ endedBy, exitCode, signal }: ProcessEnd, timeLimitMs: number): string {
  switch (endedBy) {
    case 'exit':
      return `ended with exit code ${exitCode}`;
    case 'signal':
      return `was ended by ${signal}`;
    case 'deadline':
      return `did not end within ${timeLimitMs / 1000} s`;
    case 'output limit':
      return `printed more than ${MAX_BYTES_TEXT}`;
    case 'not found':
      return 'could not be started: it was not found';
    case 'not executable':
      // The system also reports this for a missing program if a folder of PATH cannot be read.
      return 'could not be started: it was not found, or it is not executable';
    case 'not started':
      return 'could not be started';
  }
}

/** The text without trailing line breaks. Throws if it is not UTF-8. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/[\r\n]+$/, '');
  } catch {
    throw new Error('it is not UTF-8 text');
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
