/** Rules that a button writes into policy.json: they allow exactly what was asked about. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { createCurrentPolicies } from '../../../src/features/policy/current-policies.ts';
import { createPolicyRules } from '../../../src/features/policy/written-rules.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'written-rules-'));
  file = join(folder, 'policy.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const TOOLS = [
  { name: 'read', annotations: { readOnlyHint: true }, inputSchema: { type: 'object' } },
  { name: 'write', inputSchema: { type: 'object', properties: { path: { type: 'string' } } } },
  { name: 'odd*', inputSchema: { type: 'object' } },
];

async function open(policy: object | string, ofEntry?: object) {
  await writeFile(file, typeof policy === 'string' ? policy : `${JSON.stringify(policy, undefined, 2)}\n`);
  const entry = ofEntry && { value: ofEntry, path: ['mcpServers', 'files', 'policy'] };
  const definitions = new Map([['files', { name: 'files', file: '/servers.json', policy: entry }]]);
  const server = { name: 'files', alias: 'files', description: '' };
  let nowMs = 0;
  const policies = createCurrentPolicies({
    stateDir: folder,
    definitions: () => definitions,
    logger: silentLogger,
    nowMs: () => (nowMs += 1_000),
  });
  const servers = {
    definitions: () => definitions,
    known: { ready: async () => undefined, servers: () => [server], metadata: () => ({ tools: TOOLS }) },
  };
  const rules = createPolicyRules({ stateDir: folder, servers: servers as never, policies });
  const asked = (tool: string, given: Record<string, unknown> = {}) => {
    const known = TOOLS.find(({ name }) => name === tool) ?? { name: tool, inputSchema: {} };
    return policies()?.decide({ server, tool: { alias: tool, ...known }, arguments: given });
  };
  const call = (tool: string, given: Record<string, unknown> = {}) => ({
    server: 'files',
    tool,
    reason: asked(tool, given)?.reason ?? '',
  });
  return { rules, asked, call };
}

const text = () => readFile(file, 'utf8');

describe('a rule that allows', () => {
  it('goes before the rule that asks, behind what denies, and leaves the rest', async () => {
    const { asked, call, rules } = await open(`{
  "rules": [
    { "effect": "deny", "tool": "write", "arguments": { "path": { "under": "/etc" } } },
    { "effect": "ask", "server": "files", "reason": "mine" }
  ],
  "limits": [{ "callsPerCell": 5 }]
}
`);
    const plan = await rules.plan([call('write', { path: '/tmp/x' })]);
    const rule = '{ "effect": "allow", "server": "files", "tool": "write" }';
    expect(plan).toEqual({ file, rules: [{ rule, place: `rules[1] of ${file}` }] });
    expect(await rules.allow([call('write', { path: '/tmp/x' })])).toEqual(plan);
    expect(await text()).toBe(`{
  "rules": [
    { "effect": "deny", "tool": "write", "arguments": { "path": { "under": "/etc" } } },
    ${rule},
    { "effect": "ask", "server": "files", "reason": "mine" }
  ],
  "limits": [{ "callsPerCell": 5 }]
}
`);
    expect(asked('write', { path: '/tmp/x' })?.effect).toBe('allow');
    expect(asked('write', { path: '/etc/x' })?.effect).toBe('deny');
    expect(asked('read')?.effect).toBe('ask');
    expect((await readdir(folder)).filter((name) => name.includes('.backup-'))).toHaveLength(1);
  });

  it('has the conditions of the rule that asks, so that it allows no more', async () => {
    const { asked, call, rules } = await open({
      rules: [
        { effect: 'ask', tool: 'write', arguments: { path: { under: '/home' } } },
        { effect: 'deny', tool: 'write' },
      ],
    });
    await rules.allow([call('write', { path: '/home/x' })]);
    expect(asked('write', { path: '/home/x' })?.effect).toBe('allow');
    expect(asked('write', { path: '/etc/x' })?.effect).toBe('deny');
  });

  it('is not written if the file was changed after the question: another rule may have the place of the one that asked', async () => {
    const { call, rules } = await open({ default: 'ask' });
    const [before, after] = [-1_000, 1_000].map((ms) => new Date(Date.now() + ms).toISOString());
    await expect(rules.allow([call('write')], before)).rejects.toMatchObject({
      code: 'CALL_REFUSED',
      message: `${file} was changed after this was asked.`,
    });
    expect((await rules.allow([call('write')], after)).rules).toHaveLength(1);
  });

  it('is written for each tool of the question, whichever rules ask', async () => {
    const { asked, call, rules } = await open({ rules: [{ effect: 'ask', tool: 'read' }], default: 'ask' });
    const added = await rules.allow([call('read'), call('write'), call('write')]);
    expect(added.rules.map(({ place }) => place)).toEqual([`rules[0] of ${file}`, `rules[2] of ${file}`]);
    expect([asked('read')?.effect, asked('write')?.effect, asked('odd*')?.effect]).toEqual(['allow', 'allow', 'ask']);
  });

  it('is an exception of a preset', async () => {
    const { asked, call, rules } = await open({ preset: 'ask-destructive' });
    await rules.allow([call('write')]);
    expect(asked('write')?.effect).toBe('allow');
  });

  it.each<[string, object | string, object | undefined, string, RegExp]>([
    ['the entry of the server asks', {}, { rules: [{ effect: 'ask' }] }, 'write', /What asks is not in/],
    ['the entry asks as well', { default: 'ask' }, { rules: [{ effect: 'ask' }] }, 'write', /Another rule decides/],
    ['the name is a pattern', { default: 'ask' }, undefined, 'odd*', /characters with a meaning/],
    [
      'the conditions cannot be checked',
      { rules: [{ effect: 'ask', arguments: { 'a.b': { equals: 1 } } }] },
      undefined,
      'write',
      /cannot be checked/,
    ],
  ])('is not written if %s', async (...[, policy, entry, tool, why]) => {
    const { call, rules } = await open(policy, entry);
    const before = await text();
    expect(await rules.plan([call(tool)])).toEqual({ why: expect.stringMatching(why) });
    await expect(rules.allow([call(tool)])).rejects.toMatchObject({ code: 'CALL_REFUSED' });
    expect(await text()).toBe(before);
  });

  it('is not written if the file is damaged or has changed since the question', async () => {
    const { call, rules } = await open({ default: 'ask' });
    const asked = call('write');
    await writeFile(file, '{"default": "deny"}');
    expect(await rules.plan([asked])).toEqual({ why: expect.stringContaining('as it is now') });
    await writeFile(file, '{"rules": [}');
    expect(await rules.plan([asked])).toEqual({ why: expect.stringContaining('is not JSON') });
  });

  it('is written once for each of two answers at the same time', async () => {
    const { call, rules } = await open({ default: 'ask' });
    await Promise.all([rules.allow([call('read')]), rules.allow([call('write')])]);
    expect(JSON.parse(await text()).rules).toHaveLength(2);
  });
});

it('denies tools before every other rule', async () => {
  const { asked, rules } = await open({ rules: [{ effect: 'allow' }] });
  await rules.deny('files', ['write'], 'its definition changed');
  expect(asked('write')).toMatchObject({ effect: 'deny', reason: expect.stringContaining('its definition changed') });
  expect(asked('read')?.effect).toBe('allow');
});

it('explains which rules apply', async () => {
  const { rules } = await open({
    rules: [
      { effect: 'deny', server: 'other' },
      { effect: 'ask', tool: 'write' },
    ],
  });
  expect(await rules.explain('files', 'write')).toMatchObject([
    { outcome: 'passed over' },
    { outcome: 'decides', effect: 'ask', place: `rules[1] of ${file}` },
    { outcome: 'not reached' },
  ]);
});
