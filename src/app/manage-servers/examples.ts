/** Example definitions of popular servers, which ship with the package in `servers.d`. */
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { BridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { COMMAND, PACKAGE_ROOT } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import type { FileObject } from '../../edges/clients/file-format.ts';

const ENDING = '.json';

/** One example file. */
export interface Example extends NewEntries {
  readonly name: string;
  /** What it needs to run, as a sentence. */
  readonly needs: string;
}

/** All examples, sorted by name. */
export async function readExamples(): Promise<Example[]> {
  const folder = new URL('servers.d/', PACKAGE_ROOT);
  const files = (await readdir(fileURLToPath(folder))).filter((file) => file.endsWith(ENDING)).toSorted();
  return Promise.all(
    files.map(async (file) => readExample(file, await readFile(fileURLToPath(new URL(file, folder)), 'utf8'))),
  );
}

function readExample(file: string, text: string): Example {
  const root = JSON.parse(text) as { readonly needs: string; readonly description?: string; mcpServers: FileObject };
  const entries = Object.entries(root.mcpServers).map(([name, entry]): [string, FileObject] => {
    // The description of the file applies to entries without one, which are copied out of the file.
    const description = root.description === undefined ? {} : { description: root.description };
    return [name, { ...description, ...(isObject(entry) ? entry : {}) }];
  });
  return { name: file.slice(0, -ENDING.length), needs: root.needs, entries };
}

/** The example with this name, or the one that contains a server with this name. Rejects with `USAGE_INVALID`. */
export async function findExample(wanted: string): Promise<Example> {
  const examples = await readExamples();
  const found = examples.find(({ name }) => name === wanted) ?? findServer(examples, wanted);
  if (found === undefined) {
    const names = [...new Set(examples.flatMap(({ name, entries }) => [name, ...entries.map(([server]) => server)]))];
    throw new BridgeError('USAGE_INVALID', `there is no example '${wanted}'.${await didYouMean(wanted, names)}`, {
      hint: `The examples are ${examples.map(({ name }) => name).join(', ')}. To see what each requires, run: ${COMMAND} servers add --example`,
    });
  }
  return found;
}

/** The one named server of an example, enabled, because it was asked for by name. */
function findServer(examples: readonly Example[], wanted: string): Example | undefined {
  const example = examples.find(({ entries }) => entries.some(([name]) => name === wanted));
  const [, entry] = example?.entries.find(([name]) => name === wanted) ?? [];
  if (example === undefined || entry === undefined) {
    return undefined;
  }
  const { disabled: _disabled, ...enabled } = entry;
  return { ...example, entries: [[wanted, enabled]] };
}

/** Entries with their names. */
export interface NewEntries {
  readonly entries: readonly (readonly [name: string, entry: FileObject])[];
  /** What an example or an API needs to run, as a sentence. */
  readonly needs?: string;
  /** What else a person should know about them, a sentence each. */
  readonly notes?: readonly string[];
}
