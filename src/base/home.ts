/** The folder that `~` and the places of configuration files begin in. */
import { stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { posix, win32 } from 'node:path';
import { BridgeError } from './errors.ts';

/**
 * Absolute. On Windows that of the account: `HOME` is a variable of shells from elsewhere there, which nothing else
 * follows. A variable that is empty counts as not set, and that of the account is taken. Throws `CONFIG_INVALID` when
 * there is none, and when the variable holds no absolute path.
 */
export function homeFolder(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
  ofAccount: () => string = homeOfAccount,
): string {
  const variable = platform === 'win32' ? 'USERPROFILE' : 'HOME';
  // os.homedir() would give the empty text, which is the root of the file system or the working directory in paths.
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
    throw new BridgeError('CONFIG_INVALID', 'there is no home folder: HOME is not set, and your user has no account', {
      hint: 'Set HOME to a folder that you can write to.',
      cause: error,
    });
  }
}

/** Rejects with `CONFIG_INVALID` when the home folder is not there or is no folder: clients would not read what is written there. */
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
