/** Where programs of this machine are, for engines that run those: Node is the one that runs the bridge. */
import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BridgeError } from '../../core/base/errors.ts';
import type { Environment } from '../../edges/engines/client-env.ts';
import { findExecutable } from '../../edges/engines/executable.ts';
import type { Language } from './languages-file.ts';

export interface MachineProgram {
  /** Absolute path. */
  readonly program: string;
  /** What a sandbox must see of this machine besides /usr. */
  readonly binds: readonly string[];
}

/** Rejects with `IMAGE_UNSUITABLE` if this machine does not have it. */
export async function findOnMachine(language: Language, env: Environment): Promise<MachineProgram> {
  if (language.runner === 'node') {
    const program = await realpath(process.execPath);
    return { program, binds: isInUsr(program) ? [] : [program] };
  }
  const name = language.command[0] ?? '';
  // The engine itself knows which Python it can run.
  if (name === 'python3') {
    return { program: name, binds: [] };
  }
  const path = name.startsWith('/') ? name : findExecutable(name, env);
  if (path === undefined) {
    throw new BridgeError('IMAGE_UNSUITABLE', `${language.name} needs ${name}, which is not on this machine's PATH`, {
      hint: `Install ${name}, or install Podman or Docker.`,
      data: { language: language.name },
    });
  }
  const program = await realpath(path);
  // Programs that consist of more than one file, as Go does, have a folder `bin`.
  const isAlone = !/\/bin\/[^/]+$/.test(program) || ['/bin', '/usr/local/bin'].includes(dirname(program));
  return { program, binds: isInUsr(program) ? [] : [isAlone ? program : dirname(dirname(program))] };
}

function isInUsr(path: string): boolean {
  return path.startsWith('/usr/') || path.startsWith('/bin/');
}
