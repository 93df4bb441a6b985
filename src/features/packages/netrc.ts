/** The user names and passwords of `~/.netrc`, from which pip and uv take those of an index. */
import { join } from 'node:path';
import { homeFolder } from '../../core/base/home.ts';
import { readBounded } from '../../core/state/state-files.ts';

const MAX_FILE_BYTES = 1024 * 1024;

/** By host; empty if there is no such file. */
export async function credentialsOfNetrc(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): Promise<Map<string, { username: string; password: string }>> {
  const found = new Map<string, { username: string; password: string }>();
  const path = env['NETRC'] || join(homeFolder(env, platform), platform === 'win32' ? '_netrc' : '.netrc');
  const text = (await readBounded(path, MAX_FILE_BYTES).catch(() => Buffer.alloc(0))).toString('utf8');
  const words = text.replaceAll(/^\s*#.*$/gm, '').split(/\s+/);
  let entry = { username: '', password: '' };
  for (let at = 0; at < words.length; at += 1) {
    const value = words[at + 1] ?? '';
    // What belongs to `default` would be sent to any host.
    if (words[at] === 'machine' || words[at] === 'default') {
      entry = { username: '', password: '' };
    }
    if (words[at] === 'machine' && !found.has(value)) {
      found.set(value, entry);
    } else if (words[at] === 'login') {
      entry.username = value;
    } else if (words[at] === 'password') {
      entry.password = value;
    } else {
      continue;
    }
    at += 1;
  }
  return found;
}
