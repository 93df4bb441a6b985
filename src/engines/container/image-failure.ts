/** What an engine's last words mean when it could not pull or build an image: a pure function, and one next step for each. */
import { COMMAND } from '../../base/package.ts';

export type ImageWork = 'pull' | 'build';

/** Kept of what an engine says, in characters. */
const MAX_WORDS_CHARS = 600;

const NETWORK = /dial tcp|no such host|i\/o timeout|connection (refused|reset)|network is unreachable|TLS handshake/i;
const UNKNOWN = /manifest unknown|not found|does not exist|name unknown|short-name resolution/i;
const FORBIDDEN = /unauthorized|authentication required|denied|forbidden/i;
const NO_ROOM = /no space left on device/i;
const NO_PIP = /No module named pip/;
const NO_PACKAGE = /No matching distribution|Could not find a version|Invalid requirement/;

/** `words` is empty when the engine wrote to the terminal itself. */
export function hintOfImageFailure(work: ImageWork, reference: string, words: string): string {
  if (NO_ROOM.test(words)) {
    return `Make room: \`${COMMAND} image prune\` removes images that were built and are not used; the engine has \`system prune\`.`;
  }
  if (NO_PIP.test(words)) {
    return `The base image ${reference} has no pip: take one that has, such as python:3.14-slim (--base).`;
  }
  if (NO_PACKAGE.test(words)) {
    return 'Check the names and versions of the packages at https://pypi.org, and that this machine reaches it.';
  }
  if (isLocal(reference)) {
    return `An image called localhost/… exists only on the machine that built it. Build it with \`${COMMAND} image build\`, or set MCP_BRIDGE_IMAGE to another.`;
  }
  if (FORBIDDEN.test(words)) {
    return `Check the name ${reference}; if the registry wants a login, log in with the engine's command login.`;
  }
  if (NETWORK.test(words)) {
    return 'Check the network (HTTPS_PROXY, where there is a proxy), then run it again.';
  }
  if (UNKNOWN.test(words)) {
    return `Check the name and the tag: ${reference}.`;
  }
  return work === 'pull'
    ? `Check the name ${reference} and the network. To see whether the engine works, run: ${COMMAND} doctor`
    : `The last lines above say which step failed. To see whether the engine works, run: ${COMMAND} doctor`;
}

/** The engine's text on one line: without announcements, attempts that were repeated, and the word that an error follows. */
export function lastWordsOf(stderr: string): string {
  const lines = stderr.split(/[\r\n]+/).map((line) => line.trim().replace(/^Error: /, ''));
  const telling = lines.filter((line) => line !== '' && !/^(Trying to pull |Resolving |time="|STEP \d|-->)/.test(line));
  const text = telling.join(' ');
  return text.length > MAX_WORDS_CHARS ? `…${text.slice(-MAX_WORDS_CHARS)}` : text;
}

function isLocal(reference: string): boolean {
  return reference.startsWith('localhost/');
}
