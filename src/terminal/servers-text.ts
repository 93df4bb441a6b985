/** What `servers` prints for people: plain lines, no colours. Control characters of server files are escaped. */

import { escapeControls } from '../base/log.ts';
import type { CatalogTool } from '../catalog/catalog.ts';
import { howToEnable } from '../directory/directory-errors.ts';
import type { ServerDetails } from '../directory/report.ts';
import type { Refreshed } from '../manage-servers/refresh.ts';

const MAX_COLUMN_CHARS = 60;

/** Rows with their columns below each other; the last column ends where it ends. `nothing` when there is no row. */
export function renderTable(rows: readonly (readonly string[])[], nothing: string): string {
  if (rows.length === 0) {
    return `${nothing}\n`;
  }
  const widths = (rows[0] ?? []).map((_, column) => {
    return Math.min(MAX_COLUMN_CHARS, Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  });
  const renderRow = (row: readonly string[]): string => {
    const cells = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)));
    return cells.join('  ').trimEnd();
  };
  return `${rows.map(renderRow).map(escapeControls).join('\n')}\n`;
}

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

/** `1 tool`, `1,200 tools`. */
export function countOf(tools: number): string {
  return tools === 1 ? '1 tool' : `${tools.toLocaleString('en-US')} tools`;
}

function firstLine(text: string): string {
  return text.split('\n')[0]?.trim() ?? '';
}
