/** Carries out `tokens …`. */

import { BridgeError } from '../../core/base/errors.ts';
import { renderJson } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { type CommandContext, type CommandHost, carryOut, type LineFor } from '../../edges/terminal/command.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { TokensCommand } from './command.ts';
import { isExpired } from './identify.ts';
import { type StoredToken, TokenFile } from './token-file.ts';

type Io = CommandHost & CommandContext;

interface Work extends Io {
  readonly tokens: TokenFile;
}

export async function manageTokens(line: TokensCommand, io: Io): Promise<number> {
  return carryOut({ add, list, remove }, line, { ...io, tokens: new TokenFile(io.settings.stateDir) });
}

async function add(
  { name, expiresMs, maxSessions, profile, servers, isJson }: LineFor<TokensCommand, 'add'>,
  { tokens, ...io }: Work,
): Promise<number> {
  const expiresAt = expiresMs === undefined ? undefined : new Date(Date.now() + expiresMs).toISOString();
  const limits = {
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(maxSessions !== undefined && { max_sessions: maxSessions }),
    ...(profile !== undefined && { profile }),
    ...(servers !== undefined && { servers: [...servers] }),
  };
  const unknown = await unknownServers(servers ?? [], io);
  const token = await tokens.add(name, limits);
  if (unknown.length > 0) {
    io.writeError(`No server is configured as ${unknown.join(', ')}: check the spelling, or add it later.\n`);
  }
  if (isJson) {
    io.writeOut(renderJson({ name, token, ...limits }));
    return 0;
  }
  io.writeOut(`${token}\n`);
  // Beside the token, which may go to a file.
  io.writeError('This token is not shown again. Clients send it in a header: "Authorization: Bearer TOKEN".\n');
  return 0;
}

/** Those of the names that no server has. A pattern may be for servers to come. */
async function unknownServers(names: readonly string[], { openServers }: Io): Promise<string[]> {
  if (names.length === 0) {
    return [];
  }
  const servers = await openServers({ isSilent: true });
  servers.refresh();
  const known = [...servers.definitions().keys()].map((name) => name.toLowerCase());
  await servers.pool.close();
  return names.filter((name) => !name.includes('*') && !known.includes(name.toLowerCase()));
}

async function list({ isJson }: LineFor<TokensCommand, 'list'>, { tokens, ...io }: Work): Promise<number> {
  const stored = (await tokens.list()) ?? [];
  if (isJson) {
    const shown = stored.map(({ sha256: _sha256, ...token }) => ({ ...token, expired: isExpired(token) }));
    io.writeOut(renderJson({ tokens: shown }));
    return 0;
  }
  io.writeOut(renderTable(rowsOf(stored), 'There are no tokens. Make one with: tokens add NAME'));
  return 0;
}

function rowsOf(tokens: readonly StoredToken[]): string[][] {
  return tokens.map((token) => [
    token.name,
    `added ${dayOf(token.created_at)}`,
    token.expires_at === undefined
      ? 'does not expire'
      : `${isExpired(token) ? 'expired' : 'expires'} ${dayOf(token.expires_at)}`,
    token.max_sessions === undefined ? '' : `at most ${token.max_sessions} sessions`,
    token.profile === undefined ? '' : `profile ${token.profile}`,
    token.servers === undefined ? '' : `servers ${token.servers.join(', ')}`,
  ]);
}

function dayOf(iso: string): string {
  return iso.slice(0, 10);
}

async function remove({ names, isJson }: LineFor<TokensCommand, 'remove'>, { tokens, ...io }: Work): Promise<number> {
  const unknown = await tokens.remove(names);
  const removed = names.filter((name) => !unknown.includes(name));
  if (isJson) {
    io.writeOut(renderJson({ removed, unknown }));
  } else if (removed.length > 0) {
    io.writeOut(`Removed: ${removed.join(', ')}\n`);
  }
  if (unknown.length > 0) {
    throw new BridgeError('USAGE_INVALID', `there is no token '${unknown.join("', '")}'`, {
      hint: `To see all, run: ${COMMAND} tokens list`,
    });
  }
  return 0;
}
