/** `complete`: prints completion candidates for the shell, one per line. Starts no server and reports no errors. */

import type { Settings } from '../../edges/settings/settings.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import { readLanguages, Snippets, sharedSnippets } from '../../features/languages/index.ts';
import { createPackageLocks } from '../../features/packages/index.ts';
import { listFunctionNames } from '../../features/saved-tools/index.ts';
import { readExamples } from '../manage-servers/index.ts';
import { type CompleteCommand, candidatesFor, isOffered, quoteCandidates } from './completion.ts';
import { createProgram } from './program.ts';

/** Names of packages that have a lock. */
async function knownPackages(stateDir: string): Promise<string[]> {
  const all = await createPackageLocks(stateDir).all();
  return [...new Set(all.flatMap(({ lock }) => lock.packages.map(({ name }) => name)))].toSorted();
}

/** Names of snippets, and of languages for `snippets add`. Neither if `languages.json` is invalid. */
async function snippetNames(settings: Settings): Promise<{ snippets: string[]; languages: string[] }> {
  try {
    const languages = await readLanguages(settings.stateDir);
    const [own, shared] = await Promise.all([
      new Snippets(settings.stateDir, async () => languages).list(),
      sharedSnippets(
        settings,
        async () => languages,
        () => undefined,
      ).list(),
    ]);
    return {
      snippets: [...new Set([...own, ...shared].map(({ name }) => name))].filter(isOffered),
      languages: languages.all.map(({ name }) => name),
    };
  } catch {
    return { snippets: [], languages: [] };
  }
}

export interface CompleteOptions extends CommandContext {
  readonly writeOut: (text: string) => void;
}

/** Resolves with 0. */
export async function complete({ shell, words }: CompleteCommand, options: CompleteOptions): Promise<number> {
  const { openServers, writeOut } = options;
  const configured = await openServers({ isSilent: true });
  const servers = configured
    .refresh()
    .map(({ name }) => name)
    .filter(isOffered);
  const disabledServers = [...configured.definitions().values()]
    .filter(({ disabled }) => disabled)
    .map(({ name }) => name)
    .filter(isOffered);
  const examples = words.at(-2) === '--example' ? (await readExamples()).map(({ name }) => name) : [];
  // The cached tools are read only where a tool can be completed: after `servers`, an action and a server.
  if (words[0] === 'servers' && words.length > 3) {
    await configured.known.ready();
  }
  const packages = words[0] === 'packages' ? await knownPackages(options.settings.stateDir) : [];
  const ofSnippets = words[0] === 'snippets' ? await snippetNames(options.settings) : { snippets: [], languages: [] };
  const needsFunctions = words[0] === 'tools' || words.at(-2) === '--tool';
  const functions = needsFunctions ? await listFunctionNames(options.settings) : [];
  const toolsOf = (name: string): string[] => {
    const server = configured.known.servers().find((candidate) => candidate.name === name);
    return ((server && configured.known.metadata(server)?.tools) ?? []).map((tool) => tool.name).filter(isOffered);
  };
  const program = createProgram({ settle: () => undefined, show: () => undefined });
  const candidates = candidatesFor(program, words, {
    servers,
    disabledServers,
    examples,
    packages,
    ...ofSnippets,
    functions,
    toolsOf,
  });
  writeOut(
    quoteCandidates(candidates, shell)
      .map((word) => `${word}\n`)
      .join(''),
  );
  await configured.pool.close();
  await configured.known.close();
  return 0;
}
