/** What `servers` prints for people: plain lines, no colours. Control characters of server files are escaped. */

import { escapeControls } from '../base/log.ts';
import type { CatalogTool } from '../catalog/known.ts';
import { howToEnable } from '../directory/directory-errors.ts';
import type { ServerDetails } from '../directory/report.ts';
import { countOf, renderTable } from '../terminal/table.ts';

export function renderToolLine({ alias, description }: CatalogTool): string[] {
  return [alias, firstLine(description)];
}

export function renderRefreshed({ name, tools, notices, error }: Refreshed): string[] {
  return [name, error === null ? [countOf(tools ?? 0), ...notices].join('; ') : `failed: ${firstLine(error)}`];
}

export function renderServer(server: ServerDetails): string {
  const { name, alias, state, failure, tools, tokens, capabilities, notices, instructions } = server;
  const facts: [string, string | null][] = [
    ['name', name],
    ['in Python', `mcp_${alias}`],
    ['description', server.description],
    ['defined in', server.file],
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
        : `${tools}, about ${(tokens ?? 0).toLocaleString('en-US')} tokens if an agent got them directly`,
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

function firstLine(text: string): string {
  return text.split('\n')[0]?.trim() ?? '';
}

/** How asking one server anew went. */
export interface Refreshed {
  readonly name: string;
  readonly tools: number | null;
  readonly notices: readonly string[];
  /** Null when it answered. */
  readonly error: string | null;
}
