/** `servers show`: what is known about one server, without starting it. */
import { escapeControls } from '../../core/base/log.ts';
import { howToEnable } from '../../core/directory/directory-errors.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import { detailsOf, type ServerDetails } from '../../edges/configured/report.ts';
import type { ServerDefinition } from '../../edges/servers/discover.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { Output } from './output.ts';

/** Resolves with 0. */
export async function show(
  definition: ServerDefinition,
  configured: ConfiguredServers,
  { print }: Output,
): Promise<number> {
  const details = await detailsOf(configured, definition);
  print(details, () => renderServer(details));
  return 0;
}

function renderServer(server: ServerDetails): string {
  const { name, alias, state, failure, tools, tokens, capabilities, notices, instructions } = server;
  const facts: [string, string | null][] = [
    ['name', name],
    ['in Python', `mcp_${alias}`],
    ['description', server.description],
    ['defined in', server.file],
    ['extends', server.extends],
    ['belongs to', server.isPerUser ? 'each user over HTTP has their own; this is yours' : null],
    ['command', server.command.join(' ')],
    ['address', server.url],
    ['variables', server.env.join(', ')],
    ['headers', server.headers.join(', ')],
    ['folder', server.cwd],
    [
      'state',
      failure === null ? state.replace('-', ' ') : `${state.replace('-', ' ')} since ${failure.at}: ${failure.message}`,
    ],
    ['next step', state === 'disabled' ? howToEnable(name) : (failure?.hint ?? null)],
    [
      'tools',
      tools === null
        ? null
        : `${tools}, about ${(tokens ?? 0).toLocaleString('en-US')} tokens if an agent loaded them directly`,
    ],
    ['version', server.serverVersion],
    ['MCP', server.protocolVersion],
    ['offers', Object.keys(capabilities).join(', ')],
    ['notices', notices.join('; ')],
  ];
  const rows = facts.filter(([, value]) => value !== null && value !== '') as [string, string][];
  const words = instructions === null ? '' : `\n${instructions.split('\n').map(escapeControls).join('\n')}\n`;
  return `${renderTable(rows, '')}${words}`;
}
