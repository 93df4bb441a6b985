/** Runs the command of a `${cmd:…}`: without a shell, for a short time, and takes what it prints. */
import { type ProcessEnd, runProcess } from '../base/run-process.ts';

/** A keyring may ask the person to unlock it. Chosen. */
const TIME_LIMIT_MS = 30_000;
/** A service account in JSON has 2.5 kB; a secret of more than this is a mistake. */
const MAX_BYTES = 64 * 1024;

export interface CommandPlace {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeLimitMs?: number;
}

/** What the command printed. Rejects with why it gave nothing, and nothing of what it printed. */
export async function runCommand(words: readonly string[], place: CommandPlace): Promise<Buffer> {
  const { timeLimitMs = TIME_LIMIT_MS, ...rest } = place;
  const end = await runProcess(words, {
    ...rest,
    deadlineMs: timeLimitMs,
    maxOutputBytes: MAX_BYTES,
    // What it complains about may hold the secret.
    ignoresStderr: true,
    // It asks a person for 30 s, and whoever ends the bridge does not wait for that.
    endsWithProcess: true,
  });
  if (end.endedBy === 'exit' && end.exitCode === 0) {
    return end.stdout;
  }
  throw new Error(`'${words[0] ?? ''}' ${whyNothing(end, timeLimitMs)}`);
}

/** Without what the system says, which may repeat the arguments. */
function whyNothing({ endedBy, exitCode, signal }: ProcessEnd, timeLimitMs: number): string {
  switch (endedBy) {
    case 'exit':
      return `ended with exit code ${exitCode}`;
    case 'signal':
      return `was ended by ${signal}`;
    case 'deadline':
      return `did not end within ${timeLimitMs / 1000} s`;
    case 'output limit':
      return `printed more than ${MAX_BYTES.toLocaleString('en-US')} bytes`;
    case 'not found':
      return 'could not be started: it was not found';
    case 'not executable':
      // Also for a program that is nowhere, when one folder of PATH cannot be read.
      return 'could not be started: it was not found, or it is not executable';
    case 'not started':
      return 'could not be started';
  }
}
