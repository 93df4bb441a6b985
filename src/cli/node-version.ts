/** Whether this Node is new enough. Asked before anything else is loaded, so this file uses nothing that an old one lacks. */
import { BridgeError } from '../base/errors.ts';

/** Also `engines` in package.json and the target of the bundle; a test compares them. */
export const OLDEST_NODE = '20.19';

/** `CONFIG_INVALID` when `version`, such as `20.19.4`, is older than what is needed. */
export function whyNodeIsTooOld(version: string): BridgeError | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) {
    return undefined;
  }
  return new BridgeError('CONFIG_INVALID', `Node ${version} is too old; ${OLDEST_NODE} or newer is needed`, {
    hint: `Install Node ${OLDEST_NODE} or newer (https://nodejs.org/en/download), and let the "command" of the entry that registers this server start that one.`,
  });
}
