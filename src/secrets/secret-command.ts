/** Runs the command of a `${cmd:…}`: without a shell, for a short time, and takes what it prints. */
import { type ChildProcess, spawn } from 'node:child_process';
import { messageOf } from '../base/errors.ts';
import { endTree, LEADS_GROUP } from '../base/process-tree.ts';
import { startableCommand } from '../base/windows.ts';

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
  const [program = ''] = words;
  const { timeLimitMs = TIME_LIMIT_MS } = place;
  const child = start(words, place);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    // It asks a person for 30 s, and whoever ends the bridge does not wait for that.
    const onExit = (): void => end(child);
    process.once('exit', onExit);
    const fail = (reason: string): void => {
      clearTimeout(timer);
      process.removeListener('exit', onExit);
      end(child);
      reject(new Error(`'${program}' ${reason}`));
    };
    const timer = setTimeout(() => fail(`did not end within ${timeLimitMs / 1000} s`), timeLimitMs);
    child.stdout.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_BYTES) {
        fail(`printed more than ${MAX_BYTES.toLocaleString('en-US')} bytes`);
      }
    });
    child.once('error', (error) => fail(`could not be started: ${startFailure(error)}`));
    child.once('close', (exitCode, signal) => {
      if (exitCode === 0) {
        clearTimeout(timer);
        process.removeListener('exit', onExit);
        resolve(Buffer.concat(chunks));
      } else {
        fail(signal === null ? `ended with exit code ${exitCode}` : `was ended by ${signal}`);
      }
    });
  });
}

function start([program = '', ...rest]: readonly string[], { cwd, env }: CommandPlace) {
  try {
    const { command, args, isVerbatim } = startableCommand(program, rest, env);
    return spawn(command, args, {
      cwd,
      env,
      // What it complains about may hold the secret, so it is not even read.
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: LEADS_GROUP,
      windowsHide: true,
      windowsVerbatimArguments: isVerbatim,
    });
  } catch (error) {
    throw new Error(`'${program}' could not be started: ${startFailure(error)}`, { cause: error });
  }
}

/** With everything it started, which may hold its output open. */
function end(child: ChildProcess): void {
  child.stdout?.destroy();
  endTree(child, 'SIGKILL');
}

/** Without the arguments, which the message of the operating system may repeat. */
function startFailure(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') {
    return 'it was not found';
  }
  // Also for a program that is nowhere, when one folder of PATH cannot be read.
  return code === 'EACCES' ? 'it was not found, or it is not executable' : messageOf(error);
}

/**
 * The words of a command, as a shell splits them but with nothing else that a shell does: blanks separate; between single
 * quotes everything stands for itself; between double quotes and outside, `\` stands before a quote, a blank or another `\`.
 * Undefined when a quote is not closed, or there is no word.
 */
export function splitWords(command: string): string[] | undefined {
  const words: string[] = [];
  const part = /'([^']*)'|"((?:\\["\\]|[^"])*)"|((?:\\["'\\ \t]|[^\s"'])+)|([ \t\r\n]+)|(.)/gs;
  let word: string | undefined;
  for (const [, single, double, bare, blank, other] of command.trim().matchAll(part)) {
    if (other !== undefined) {
      return undefined;
    }
    if (blank !== undefined) {
      words.push(word ?? '');
      word = undefined;
    } else {
      word =
        (word ?? '') + (single ?? double?.replace(/\\(["\\])/g, '$1') ?? bare?.replace(/\\(["'\\ \t])/g, '$1') ?? '');
    }
  }
  const all = word === undefined ? words : [...words, word];
  return all[0] === undefined || all[0] === '' ? undefined : all;
}
