/** Whether this Node is new enough. Checked before anything else is loaded, so this file avoids features that old versions lack. */
import { BridgeError } from '../../core/base/errors.ts';

/** The same as `engines` in package.json and the build target; a test compares them. */
export const OLDEST_NODE = '20.19';

/** A `CONFIG_INVALID` error if `version`, such as `20.18.1`, is too old. */
export function whyNodeIsTooOld(version: string): BridgeError | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) {
    return undefined;
  }
  return new BridgeError('CONFIG_INVALID', `Node ${version} is too old; the bridge needs ${OLDEST_NODE} or newer`, {
    hint: `Install Node ${OLDEST_NODE} or newer (https://nodejs.org/en/download) and use it in the "command" of the entry that registers the bridge in your client.`,
  });
}
