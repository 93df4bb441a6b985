/** `servers list`: every configured server with its state, and what its tools would have cost without the bridge. Starts none. */

import { homeFolder } from '../base/home.ts';
import type { ConfiguredServers } from '../directory/configured-servers.ts';
import { reportServer, type ServerReport } from '../directory/report.ts';
import { MAX_DEFINITION_TOKENS } from '../server/tool-definition.ts';
import type { Output } from '../terminal/output.ts';
import { type ListTotals, renderList } from './list-text.ts';

/** Resolves with 0. */
export async function list(configured: ConfiguredServers, { print, nothing }: Output): Promise<number> {
  const servers = await Promise.all([...configured.definitions().values()].map((one) => reportServer(configured, one)));
  const totals = totalsOf(servers);
  print({ servers, totals }, () => renderList(servers, totals, { home: homeFolder(process.env), nothing }));
  return 0;
}

export function totalsOf(reports: readonly ServerReport[]): ListTotals {
  const answered = reports.filter(({ tools, state }) => tools !== null && state !== 'disabled');
  const tokens = answered.reduce((sum, report) => sum + (report.tokens ?? 0), 0);
  return {
    servers: answered.length,
    tools: answered.reduce((sum, report) => sum + (report.tools ?? 0), 0),
    tokens,
    tokensOfRunPython: MAX_DEFINITION_TOKENS,
    tokensSaved: Math.max(0, tokens - MAX_DEFINITION_TOKENS),
  };
}
