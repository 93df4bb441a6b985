/** The user's home folder, which `~` and the default paths of configuration files refer to. */
import { stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { posix, win32 } from 'node:path';
import { BridgeError } from './errors.ts';

/**
 * The home folder as an absolute path: `HOME`, or `USERPROFILE` on Windows, where only Unix-like shells set `HOME` and other
 * programs ignore it. If the variable is empty or not set, the account's home folder. Throws `CONFIG_INVALID` if there is
 * none, or if the variable does not hold an absolute path.
 */
export function homeFolder(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
  ofAccount: () => string = homeOfAccount,
): string {
  const variable = platform === 'win32' ? 'USERPROFILE' : 'HOME';
  // os.homedir() returns an empty HOME as it is; in paths that means the root or the working directory.
  const folder = env[variable] || ofAccount();
  if (!(platform === 'win32' ? win32 : posix).isAbsolute(folder)) {
    throw new BridgeError('CONFIG_INVALID', `${variable} is '${folder}', which is not an absolute path`, {
      hint: `Set ${variable} to your home folder.`,
    });
  }
  return folder;
}

function homeOfAccount(): string {
  try {
    return userInfo().homedir;
  } catch (error) {
    throw new BridgeError('CONFIG_INVALID', 'no home folder: HOME is not set, and your user has no account', {
      hint: 'Set HOME to a folder that you can write to.',
      cause: error,
    });
  }
}

/** The working directory. Throws `CONFIG_INVALID` if it has been deleted. */
export function workingFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new BridgeError('CONFIG_INVALID', 'the current folder has been deleted', {
      hint: 'Change to another folder.',
      cause: error,
    });
  }
}

/** Rejects with `CONFIG_INVALID` if the home folder does not exist or is not a folder: clients would not read files written there. */
export async function refuseUnusableHome({ home }: { readonly home: string }): Promise<void> {
  const found = await stat(home).catch(() => undefined);
  if (found?.isDirectory() === true) {
    return;
  }
  const what = found === undefined ? 'does not exist' : 'is not a folder';
  throw new BridgeError('CONFIG_INVALID', `your home folder ${home} ${what}; nothing was changed`, {
    hint: 'Set HOME to your home folder; clients look for their files there.',
    data: { home },
  });
}
