/**
 * Requirements files as pip reads them: how versions and hashes of a store get to another machine. Only requirements and their
 * hashes; options and addresses are refused. Format: pip documentation, "Requirements File Format" and "Secure installs".
 */
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { COMMAND, COMMAND_NAME } from '../../core/base/package.ts';
import { type LockedPackage, MAX_SET_PACKAGES } from './report.ts';
import { normalizeName, parseRequirement, type Requirement } from './requirement.ts';

export interface FileRequirement extends Requirement {
  /** SHA-256 of the wheels that may be installed; empty if any may. */
  readonly hashes: readonly string[];
}

const HASH = /\s--hash=sha256:([0-9a-f]{64})(?=\s|$)/g;

/** The text of a lock: each package with its version and hash, sorted by name. */
export function renderLock(packages: readonly LockedPackage[], python: string): string {
  const sorted = packages.toSorted((one, other) => (normalizeName(one.name) < normalizeName(other.name) ? -1 : 1));
  return [
    `# For ${python}. To install the same files elsewhere: ${COMMAND_NAME} packages add -r FILE`,
    ...sorted.map(({ name, sha256, version }) => `${normalizeName(name)}==${version} \\\n    --hash=sha256:${sha256}`),
    '',
  ].join('\n');
}

/** Throws `USAGE_INVALID` with the line that is not a requirement. Either all of them have hashes, or none has. */
export function parseRequirementsFile(text: string, path: string): FileRequirement[] {
  const found: FileRequirement[] = [];
  let rest = '';
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    rest += line.replace(/(^|\s)#.*$/, '');
    if (rest.endsWith('\\')) {
      rest = `${rest.slice(0, -1)} `;
      continue;
    }
    const hashes = [...rest.matchAll(HASH)].map(([, hash = '']) => hash);
    const stated = rest.replaceAll(HASH, '').trim();
    rest = '';
    if (stated !== '' || hashes.length > 0) {
      found.push({ ...parseLine(stated, `${path}, line ${index + 1}`), hashes });
    }
  }
  if (found.length === 0 || found.length > MAX_SET_PACKAGES) {
    throw new BridgeError(
      'USAGE_INVALID',
      `${path} has ${found.length} requirements; expected 1 to ${MAX_SET_PACKAGES}`,
    );
  }
  const unhashed = found.find(({ hashes }) => hashes.length === 0);
  if (unhashed !== undefined && found.some(({ hashes }) => hashes.length > 0)) {
    throw new BridgeError('USAGE_INVALID', `${path} has no hash for ${unhashed.name}, but has some for others`, {
      hint: `Write the file again: ${COMMAND} packages lock --output ${path}`,
    });
  }
  return found;
}

function parseLine(text: string, where: string): Requirement {
  try {
    return parseRequirement(text);
  } catch (error) {
    throw new BridgeError('USAGE_INVALID', `${where}: ${messageOf(error)}`, {
      hint: 'Each line is a requirement such as pandas>=2, with --hash=sha256:HASH or without; no options or addresses.',
      cause: error,
    });
  }
}
