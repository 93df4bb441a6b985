/** Why an engine could not pull or build an image, read from its stderr, and the next step. Pure functions. */
import { COMMAND } from '../../../core/base/package.ts';
import { summarizeStderr } from '../failed-process.ts';

export type ImageWork = 'pull' | 'build';

const NETWORK = /dial tcp|no such host|i\/o timeout|connection (refused|reset)|network is unreachable|TLS handshake/i;
const UNKNOWN = /manifest unknown|not found|does not exist|name unknown|short-name resolution/i;
const FORBIDDEN = /unauthorized|authentication required|denied|forbidden/i;
const NO_ROOM = /no space left on device/i;
const NO_PIP = /No module named pip/;
const NO_PACKAGE = /No matching distribution|Could not find a version|Invalid requirement/;

/** The next step. `stderr` is empty if the engine wrote directly to the terminal. */
export function hintOfImageFailure(work: ImageWork, reference: string, stderr: string): string {
  if (NO_ROOM.test(stderr)) {
    return `Free some disk space. \`${COMMAND} image prune\` removes unused images that the bridge built; \`system prune\` of the engine removes more.`;
  }
  if (NO_PIP.test(stderr)) {
    return `The base image ${reference} has no pip. Use one that has, such as python:3.14-slim (--base).`;
  }
  if (NO_PACKAGE.test(stderr)) {
    return 'Check the names and versions of the packages at https://pypi.org, and that this machine can reach it.';
  }
  if (isLocal(reference)) {
    return `An image named localhost/… exists only on the machine that built it. Build it with \`${COMMAND} image build\`, or set MCP_BRIDGE_IMAGE to another image.`;
  }
  if (FORBIDDEN.test(stderr)) {
    return `Check the name ${reference}. If the registry requires it, log in with the engine's login command.`;
  }
  if (NETWORK.test(stderr)) {
    return 'Check the network (and HTTPS_PROXY, if you use a proxy), then try again.';
  }
  if (UNKNOWN.test(stderr)) {
    return `Check the name and the tag: ${reference}.`;
  }
  return work === 'pull'
    ? `Check the name ${reference} and the network. To see whether the engine works, run: ${COMMAND} doctor`
    : `The last lines above say which step failed. To see whether the engine works, run: ${COMMAND} doctor`;
}

/** The engine's stderr on one line, without progress and repeated attempts. */
export function lastWordsOf(stderr: string): string {
  return summarizeStderr(stderr, { noise: /^(Trying to pull |Resolving |time="|STEP \d|-->)/, prefix: /^Error: / });
}

function isLocal(reference: string): boolean {
  return reference.startsWith('localhost/');
}
