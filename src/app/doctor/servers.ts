/** What `doctor` checks about the configured servers: their files, and whether each starts and lists its tools. */

import { COMMAND } from '../../core/base/package.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import type { CatalogServer } from '../../core/catalog/known.ts';
import { suspicionsOf } from '../../core/catalog/suspicions.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import { askEach, preparationOf, type StartTimes, testServer } from '../../edges/configured/server-test.ts';
import type { ServerDefinition } from '../../edges/servers/discover.ts';
import { type Finding, findingOfIssue } from '../../edges/terminal/finding.ts';
import type { Progress } from '../../edges/terminal/progress-line.ts';
import { countOf } from '../../edges/terminal/text-table.ts';

/** With `isStarting`, starts every server; otherwise reports what is cached about it. The caller closes `configured`. */
export async function examineServers(
  configured: ConfiguredServers,
  isStarting: boolean,
  { progress, times }: { readonly times: StartTimes; readonly progress: Progress },
): Promise<Finding[]> {
  const findings = await askEach(configured.known.servers(), (server) =>
    isStarting
      ? progress.watch(server.name, start(server, configured, times), preparationOf(configured, server.name))
      : recall(server, configured),
  );
  return [
    ...issuesOf(configured),
    ...disabledOf(configured),
    ...findings,
    ...suspicionsAbout(configured),
    ...noneOf(configured),
  ];
}

/** Tool definitions and instructions that look deceptive, among what is cached about the servers. */
function suspicionsAbout({ known, definitions }: ConfiguredServers): Finding[] {
  const servers = known.servers().map((server) => ({ name: server.name, metadata: known.metadata(server) }));
  return suspicionsOf(servers).map(({ server, part, what }) => ({
    section: 'servers',
    level: 'warning',
    text: [server, part, what].filter((word) => word !== undefined).join(': '),
    hint: `Review it with \`${COMMAND} servers tools ${quoteShellWord(server)} --json\`. The server is defined in ${definitions().get(server)?.file ?? ''}.`,
  }));
}

function issuesOf(configured: ConfiguredServers): Finding[] {
  return configured.issues().map(findingOfIssue);
}

function disabledOf({ definitions }: ConfiguredServers): Finding[] {
  return [...definitions().values()]
    .filter(({ disabled }) => disabled)
    .map(({ file, name }) => ({ section: 'servers', level: 'ok', text: `${name}: disabled in ${file}` }));
}

function noneOf({ definitions }: ConfiguredServers): Finding[] {
  const hint = `Run: ${COMMAND} install CLIENT --import (moves the servers of a client to the bridge) or: ${COMMAND} servers add NAME -- COMMAND. To write a server file yourself, see: ${COMMAND} help servers server-files`;
  return definitions().size > 0
    ? []
    : [{ section: 'servers', level: 'warning', text: 'no server is configured', hint }];
}

async function start(server: CatalogServer, configured: ConfiguredServers, times: StartTimes): Promise<Finding> {
  const { name, file, tools, ms, notices, error } = await testServer(server, configured, times);
  if (error !== null) {
    const text = `${name}: ${error.message.replace(`server '${name}' `, '')}`;
    return { section: 'servers', level: 'problem', text, hint: error.hint ?? `The server is defined in ${file}.` };
  }
  const text = `${name}: ${countOf(tools ?? 0)} in ${(ms / 1000).toFixed(1)} s${kindOf(configured.definitions().get(name))}`;
  return notices.length === 0
    ? { section: 'servers', level: 'ok', text }
    : {
        section: 'servers',
        level: 'warning',
        text: `${text}; ${notices.join('; ')}`,
        hint: `The server is defined in ${file}.`,
      };
}

/** What is cached about the server. */
async function recall(server: CatalogServer, { known, definitions, failures }: ConfiguredServers): Promise<Finding> {
  const { name } = server;
  const definition = definitions().get(name);
  const failure = definition && (await failures.load(definition));
  if (failure !== undefined) {
    const text = `${name}: ${failure.message.replace(`server '${name}' `, '')} (last tried ${failure.at})`;
    return {
      section: 'servers',
      level: 'warning',
      text,
      hint: failure.hint ?? `Run: ${COMMAND} servers test ${quoteShellWord(name)}`,
    };
  }
  const count = known.metadata(server)?.tools.length;
  const text = count === undefined ? 'not started yet' : `${countOf(count)} when it last ran`;
  return { section: 'servers', level: 'ok', text: `${name}: ${text}${kindOf(definition)}` };
}

function kindOf(definition: ServerDefinition | undefined): string {
  const { extends: base, isPerUser = false } = definition ?? {};
  return `${base === undefined ? '' : `; extends ${base}`}${isPerUser ? '; each user has their own' : ''}`;
}
