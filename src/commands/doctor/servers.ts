/** What `doctor` looks at of the configured servers: their files, and whether each starts and lists its tools. */
import { CancelSource } from '../../cancel.ts';
import type { CatalogServer } from '../../catalog/catalog.ts';
import { suspicionsOf } from '../../catalog/suspicions.ts';
import { renderIssue } from '../../config/explain.ts';
import { toBridgeError } from '../../errors.ts';
import type { ConfiguredServers } from '../configured-servers.ts';
import { createPlaces } from '../places.ts';
import { MAX_STARTS_AT_ONCE } from '../tool-search.ts';
import type { Finding } from './finding.ts';

/** With `isStarting` every server is started; else what is known of it is told. The caller closes `configured`. */
export async function examineServers(configured: ConfiguredServers, isStarting: boolean): Promise<Finding[]> {
  configured.refresh();
  await configured.known.ready();
  const withPlace = createPlaces(MAX_STARTS_AT_ONCE);
  const examine = isStarting
    ? (server: CatalogServer) => withPlace(() => start(server, configured))
    : recall(configured);
  const findings = await Promise.all(configured.known.servers().map(examine));
  return [
    ...issuesOf(configured),
    ...policiesOf(configured),
    ...disabledOf(configured),
    ...findings,
    ...oddities(configured),
    ...noneOf(configured),
  ];
}

/** What looks as if it were meant to deceive, in what is known of the servers. */
function oddities({ known, definitions }: ConfiguredServers): Finding[] {
  const servers = known.servers().map((server) => ({ name: server.name, metadata: known.metadata(server) }));
  return suspicionsOf(servers).map(({ server, part, what }) => ({
    section: 'servers',
    level: 'warning',
    text: [server, part, what].filter((word) => word !== undefined).join(': '),
    hint: `Look at it with \`servers tools ${server} --json\`; it is defined in ${definitions().get(server)?.file ?? ''}.`,
  }));
}

function issuesOf(configured: ConfiguredServers): Finding[] {
  return configured.issues().map((issue) => ({
    section: 'servers',
    level: issue.level === 'error' ? 'problem' : 'warning',
    text: renderIssue(issue),
    hint: 'See docs/configuration.md for the form of a server file.',
  }));
}

function policiesOf({ policies }: ConfiguredServers): Finding[] {
  const hint = 'Calls are refused until it is mended: docs/policy.md.';
  return (policies()?.describe() ?? []).map(({ about, place, problem }): Finding => {
    return problem === null
      ? { section: 'servers', level: 'ok', text: `policy for ${about} in ${place}` }
      : { section: 'servers', level: 'problem', text: `policy ${problem}`, hint };
  });
}

function disabledOf({ definitions }: ConfiguredServers): Finding[] {
  return [...definitions().values()]
    .filter(({ disabled }) => disabled)
    .map(({ file, name }) => ({ section: 'servers', level: 'ok', text: `${name}: disabled in ${file}` }));
}

function noneOf({ definitions }: ConfiguredServers): Finding[] {
  const hint =
    'Run: install CLIENT --import to take over the servers of a client, or write one: docs/configuration.md.';
  return definitions().size > 0
    ? []
    : [{ section: 'servers', level: 'warning', text: 'no server is configured', hint }];
}

async function start(server: CatalogServer, { known, definitions }: ConfiguredServers): Promise<Finding> {
  const file = definitions().get(server.name)?.file ?? '';
  const startedAt = performance.now();
  try {
    const { tools, notices } = await known.refresh(server, new CancelSource().signal);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const text = `${server.name}: ${tools.length} tools in ${seconds} s`;
    return notices.length === 0
      ? { section: 'servers', level: 'ok', text }
      : {
          section: 'servers',
          level: 'warning',
          text: `${text}; ${notices.join('; ')}`,
          hint: `It is defined in ${file}.`,
        };
  } catch (error) {
    const { hint, message } = toBridgeError(error);
    const text = `${server.name}: ${message.replace(`server '${server.name}' `, '')}`;
    return { section: 'servers', level: 'problem', text, hint: hint ?? `It is defined in ${file}.` };
  }
}

function recall({ known }: ConfiguredServers): (server: CatalogServer) => Promise<Finding> {
  return async (server) => {
    const count = known.metadata(server)?.tools.length;
    const text = count === undefined ? 'was never started' : `${count} tools when it was last asked`;
    return { section: 'servers', level: 'ok', text: `${server.name}: ${text}` };
  };
}
