/**
 * What comes from outside is measured before it is parsed (`src/core/protocol/untrusted-json.ts`). Fails for a file that parses JSON in
 * another way, unless it stands here with the reason why no one else can have written the text, or how it is bounded.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withoutTier } from '../../scripts/generate/layers.ts';
import { JSON_BOUNDS, type JsonBounds, readUntrusted } from '../../src/core/protocol/untrusted-json.ts';

const SRC = join(import.meta.dirname, '../../src');
/** Ways to turn a text into values without bounds. `response.json()` of `fetch` is one, too. */
const PARSES = /\bJSON\.parse\(|\bparseExact\(|\.json\(\)(?!')/;

/** By file or folder, why it may. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'protocol/untrusted-json.ts': 'measures first',
  'protocol/exact-json.ts': 'is called by it',
  'protocol/result-bytes.ts': 'a result that the scan has bounded as it arrived',
  'base/json-text.ts': 'files that the person writes; says where they are wrong',
  'base/schema-issues.ts': 'the message of a schema checker, which is cut',
  'base/version.ts': 'our own package.json',
  'base/program-start.ts': 'package.json of an installed package',
  'engines/':
    'what the programs of the engine print, or our own sandbox files; the embedded child is the sandbox itself',
  'directory/': 'state of ours',
  'history/': 'the audit log, which we write',
  'install/global-install.ts': 'package.json of an installed package',
  'images/images.ts': 'what the engine prints',
  'local-api/endpoints.ts': 'state of ours',
  'manage-servers/examples.ts': 'files of our package',
  'packages/locks.ts': 'state of ours',
  'packages/store-budget.ts': 'state of ours',
  'pins/': 'state of ours',
  'policy/command.ts': 'an argument of the person',
  'policy/written-rules.ts': 'a copy of a value that was parsed',
  'prestart/recent-runs.ts': 'state of ours',
  'recordings/replay.ts': 'a recording that the person names',
  'saved-tools/function-store.ts': 'state of ours',
  'schedule/system/task-scheduler.ts': 'a script for Windows that reads state of ours',
  'secrets/secret-file.ts': 'state of ours',
  'server/http/endpoint.ts': 'our own answer',
  'servers/self.ts': 'package.json of an installed package',
  'session/checkpoint-room.ts': 'state of ours',
  'session/checkpoint-store.ts': 'state of ours',
  'session/kept-tasks.ts': 'state of ours',
  'session/session-claim.ts': 'state of ours',
  'session/unsaid.ts': 'state of ours',
  'state/': 'state of ours',
  'terminal/call-arguments.ts': 'an argument of the person',
  'upstream/api/compiled-lines.ts': 'lines of our own thread, or kept by us with a checksum',
  'upstream/api/description.ts': 'the first of these lines',
  'terminal/schema-check.ts': 'a copy of a value that was parsed',
  'tokens/token-file.ts': 'state of ours',
  'ui/page/': 'the page, which reads its own server',
  'ui/servers.ts': 'a definition that was parsed when it came',
  'upstream/error-data.ts': 'a text of ours, whose length is checked before it is written',
  'upstream/oauth/login-store.ts': 'state of ours',
};

it('nothing else parses JSON', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts'));
  const parsing = files
    .filter((file) => PARSES.test(withoutComments(readFileSync(join(SRC, file), 'utf8'))))
    .map(withoutTier);
  const reasonOf = (file: string) => Object.keys(EXCEPTIONS).find((path) => file === path || file.startsWith(path));
  expect(parsing.filter((file) => reasonOf(file) === undefined)).toEqual([]);
  const used = new Set(parsing.map(reasonOf));
  expect(Object.keys(EXCEPTIONS).filter((path) => !used.has(path))).toEqual([]);
});

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
}

const LONGEST_MS = 1_000;

describe.each(Object.entries<JsonBounds>(JSON_BOUNDS))('the bounds of %s', (_name, bounds) => {
  const bytes = Math.min(bounds.bytes, 12 * 1024 * 1024);
  const many = (unit: string) => `[${unit.repeat(Math.floor(bytes / unit.length) - 1)}1]`;
  const newKeys = (count: number) =>
    `{${Array.from({ length: count }, (_, index) => `"${index.toString(36)}":1`).join(',')}}`;

  it.each([
    ['a text that is too long', () => 'x'.repeat(bounds.bytes + 1)],
    ['many empty objects', () => many('{},')],
    ['many empty arrays', () => many('[],')],
    ['many members', () => many('{"a":1},')],
    ['many different keys', () => newKeys(Math.floor(bytes / 14))],
    ['nothing but brackets', () => '['.repeat(bytes)],
    ['an open string of escapes', () => `"${String.raw`\u0061`.repeat(bytes / 6 - 1)}`],
  ])('hold for %s', (_what, write) => {
    const text = Buffer.from(write());
    const started = process.cpuUsage();
    const read = readUntrusted(text, bounds);
    const { user, system } = process.cpuUsage(started);
    expect(read.ok && text.length > 1024 * 1024).toBe(false);
    expect((user + system) / 1_000).toBeLessThan(LONGEST_MS);
  });

  it('let through what is just within them, in time', () => {
    const keys = newKeys(Math.min(bounds.keys, bounds.members) - 10);
    const started = process.cpuUsage();
    expect(readUntrusted(keys, bounds).ok).toBe(true);
    const { user, system } = process.cpuUsage(started);
    expect((user + system) / 1_000).toBeLessThan(LONGEST_MS);
  });
});
