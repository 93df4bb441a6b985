/** The folder that `~` and the places of configuration files begin in. */
import { homedir } from 'node:os';

/** Absolute. On Windows that of the account: `HOME` is a variable of shells from elsewhere there, which nothing else follows. */
export function homeFolder(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): string {
  return (platform === 'win32' ? env['USERPROFILE'] : env['HOME']) || homedir();
}
