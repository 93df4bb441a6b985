/** Which server stands in which file, whether or not its entry is valid, and whether the file is one that we may change. */

import { readFileSync, statSync } from 'node:fs';
import { isObject } from '../base/is-object.ts';
import { parseJson } from '../base/json-text.ts';
import { entriesAt } from '../clients/format.ts';
import { type DiscoveryOptions, discoverServers, listServerFiles, MAX_SERVER_FILE_BYTES } from './discover.ts';

export interface StandingServer {
  readonly name: string;
  readonly file: string;
  /** Whether it is a server file of the bridge; files of other clients are theirs to change. */
  readonly isOurs: boolean;
  /** As it stands in a file of ours. */
  readonly entry?: unknown;
}

/** In the order of precedence. One name may stand in several files; of other clients' files, only what counts is given. */
export function findStandingServers(options: DiscoveryOptions): StandingServer[] {
  const files = listServerFiles(options, []);
  const others = [...discoverServers(options).servers.values()];
  return [...files].flatMap(([file, source]): StandingServer[] =>
    source === undefined
      ? Object.entries(entriesIn(file)).map(([name, entry]) => ({ name, file, isOurs: true, entry }))
      : others.filter((server) => server.file === file).map(({ name }) => ({ name, file, isOurs: false })),
  );
}

/** None in a file that cannot be read: discovery says so. */
function entriesIn(file: string): Readonly<Record<string, unknown>> {
  try {
    const stat = statSync(file);
    // A pipe or a device may never end.
    if (!stat.isFile() || stat.size > MAX_SERVER_FILE_BYTES) {
      return {};
    }
    const parsed = parseJson(readFileSync(file, 'utf8'));
    return 'value' in parsed && isObject(parsed.value) ? (entriesAt(parsed.value, ['mcpServers']) ?? {}) : {};
  } catch {
    return {};
  }
}
