/** Opens a file in the editor that a person has chosen. */
import { spawn } from 'node:child_process';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { splitWords } from '../../core/base/shell-words.ts';

/** Resolves when the editor has ended. Rejects with `USAGE_INVALID` if there is none, or it fails. */
export async function runEditor(file: string, env: NodeJS.ProcessEnv): Promise<void> {
  const words = splitWords((env['VISUAL'] ?? '').trim() || (env['EDITOR'] ?? ''));
  const [program, ...args] = words ?? [];
  if (program === undefined) {
    throw new BridgeError('USAGE_INVALID', 'no editor is set', { hint: 'Set EDITOR, for example: EDITOR=vi' });
  }
  const ended = new Promise<number | null>((resolve, reject) => {
    spawn(program, [...args, file], { stdio: 'inherit', env })
      .once('error', reject)
      .once('close', resolve);
  });
  const code = await ended.catch((error: unknown) => {
    throw new BridgeError('USAGE_INVALID', `the editor ${program} did not start: ${messageOf(error)}`, {
      hint: 'Set EDITOR to a program on this machine.',
      cause: error,
    });
  });
  if (code !== 0) {
    throw new BridgeError('USAGE_INVALID', `the editor ${program} ended with exit code ${code}; nothing was changed`, {
      hint: 'Run the command again, and end the editor normally.',
    });
  }
}
