/** Writes an audit log like that of several busy bridges, the same for the same options. For tests and the benchmark. */
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditRecord, RecordOf } from '../../src/record/history/records.ts';
import { createRandom } from '../soak/random.ts';

export interface HistoryLog {
  readonly calls: number;
  readonly bridges: number;
  /** Time of the first record, in milliseconds since 1970. */
  readonly startMs: number;
  readonly days: number;
  /** Characters of code in a cell, on average. */
  readonly codeChars?: number;
  readonly seed?: number;
}

const DAY_MS = 24 * 3_600_000;
const SERVERS = ['github', 'files', 'memory', 'browser', 'postgres', 'slack', 'jira', 'search', 'mail', 'calendar'];
const VERBS = ['list', 'read', 'create', 'search', 'update', 'delete', 'get', 'query'];
const NOUNS = ['issues', 'file', 'entities', 'page', 'rows', 'messages', 'tickets', 'events'];
const ARGUMENTS = ['path', 'query', 'limit', 'owner', 'repo', 'body', 'labels', 'filter'];
const WORDS = 'rows = await found for item in result print len filter sorted total name if not None return data'.split(
  ' ',
);

/** Returns the records in the order of their lines. */
export function makeHistory({ calls, bridges, startMs, days, codeChars = 600, seed = 1 }: HistoryLog): AuditRecord[] {
  const { below, next: random, pick } = createRandom(seed);
  const records: AuditRecord[] = [];
  const cells = Array.from({ length: bridges }, () => 0);
  let made = 0;
  while (made < calls) {
    const timeMs = startMs + Math.floor((made / calls) * days * DAY_MS);
    const number = below(bridges);
    const bridge = `${createHash('sha256').update(`bridge ${number}`).digest('hex').slice(0, 8)}-000${number % 10}`;
    const who = number % 3 === 2 ? { principal: `person-${number}` } : {};
    const common = (offsetMs: number) => ({ at: new Date(timeMs + offsetMs).toISOString(), bridge, ...who });
    const session = pick(['default', 'work', 'reports']);
    const cell = (cells[number] ?? 0) + 1;
    cells[number] = cell;
    const run = { session, generation: 1, cell };
    const id = `${bridge}/${session}/1/${cell}`;
    const used = [pick(SERVERS), pick(SERVERS)];
    const code = codeOf(used, codeChars * (0.25 + 1.5 * random()), pick);
    const count = Math.min(calls - made, 1 + below(20));
    records.push({
      type: 'cell_started',
      ...common(0),
      id,
      ...run,
      timeout_ms: 30_000,
      servers: used,
      ...factsOf(code),
    });
    for (let call = 1; call <= count; call += 1) {
      records.push({ ...common(call), id: `${id}/${call}`, cell: id, ...callOf(pick(used), below, pick) });
    }
    made += count;
    const status = pick(['success', 'success', 'success', 'success', 'error', 'timeout'] as const);
    const sizes = {
      stdout_bytes: below(2_000),
      stderr_bytes: 0,
      value_bytes: below(100),
      error_bytes: 0,
      attachments: 0,
    };
    const why = status === 'error' ? { exception: pick(['ValueError', 'KeyError', 'ToolError']) } : {};
    records.push({ type: 'cell_ended', ...common(count + 1), id, status, duration_ms: below(9_000), ...why, ...sizes });
  }
  return records;
}

function codeOf(servers: readonly string[], chars: number, pick: <Item>(items: readonly Item[]) => Item): string {
  const lines: string[] = [];
  for (let length = 0; length < chars; ) {
    const line = `${pick(WORDS)} = await mcp_${pick(servers)}.${pick(VERBS)}_${pick(NOUNS)}("${pick(WORDS)} ${pick(NOUNS)}")`;
    lines.push(line);
    length += line.length;
  }
  return lines.join('\n');
}

function factsOf(code: string) {
  return { code_sha256: createHash('sha256').update(code).digest('hex'), code_bytes: code.length, code };
}

function callOf(
  server: string,
  below: (limit: number) => number,
  pick: <Item>(items: readonly Item[]) => Item,
): Pick<RecordOf<'call'>, 'type' | 'server' | 'tool' | 'arguments' | 'decision' | 'outcome' | 'duration_ms'> &
  Partial<RecordOf<'call'>> {
  const tool = `${pick(VERBS)}_${pick(NOUNS)}`;
  // A tool has the same arguments each time, though not always all.
  const first = (server.length + tool.length) % (ARGUMENTS.length - 2);
  const names = ARGUMENTS.slice(first, first + 1 + below(3));
  const given = Object.fromEntries(names.map((name) => [name, pick([`string(${below(60)})`, 'number', 'boolean'])]));
  const what = { type: 'call', server, tool, arguments: given, duration_ms: below(4_000_000) / 1_000 } as const;
  const chance = below(100);
  if (chance < 4) {
    return { ...what, decision: 'denied', rule: 'deny in policy.json', outcome: 'error', error_code: 'POLICY_DENIED' };
  }
  if (chance < 8) {
    return { ...what, decision: 'allowed', outcome: 'error', error_code: 'TOOL_FAILED', result_bytes: below(500) };
  }
  const asked = { decision: 'asked', rule: 'ask in policy.json', answer: 'allowed', approval: 'once' } as const;
  return {
    ...what,
    ...(chance < 12 ? asked : { decision: 'allowed' }),
    outcome: 'ok',
    result_bytes: 50 + below(8_000),
  };
}

/** Writes records into the files of their days. */
export function writeHistory(directory: string, records: readonly AuditRecord[]): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const byDay = new Map<string, string[]>();
  for (const record of records) {
    const day = record.at.slice(0, 10);
    const lines = byDay.get(day) ?? [];
    byDay.set(day, lines);
    lines.push(`${JSON.stringify(record)}\n`);
  }
  for (const [day, lines] of byDay) {
    appendFileSync(join(directory, `${day}.jsonl`), lines.join(''));
  }
}
