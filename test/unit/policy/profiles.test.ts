import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CallOutcome, ToolCall } from '../../../src/core/calls/contract.ts';
import type { ServerMetadata } from '../../../src/core/catalog/known.ts';
import type { MetadataSource } from '../../../src/core/directory/server-metadata.ts';
import {
  createCurrentProfile,
  createProfileGate,
  createProfiles,
  inProfile,
  type Profile,
} from '../../../src/features/policy/profiles.ts';
import { readFences } from '../../support/documented-samples.ts';

function profilesOf(policy: unknown): (name: string) => Profile | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'profiles-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'policy.json'), JSON.stringify(policy));
  return createProfiles(folder);
}

const GITHUB = { name: 'github', alias: 'github' };
const FILES = { name: 'files', alias: 'files' };
const tool = (name: string) => ({ name, alias: name.replaceAll('.', '_'), inputSchema: {} });
const READING = {
  profiles: { reading: { servers: ['git*', 'files'], tools: ['get_*', 'files.read', 'resources/*'] } },
};

describe('a profile', () => {
  it('has the servers that match one of its patterns, and no other', () => {
    const reading = profilesOf(READING)('reading');
    expect(['github', 'GitHub', 'files', 'file', 'notes'].map((name) => reading?.hasServer(name))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  it('has the tools that match, by their name or with the server', () => {
    const reading = profilesOf(READING)('reading');
    expect(reading?.hasTool(GITHUB, tool('get_issue'))).toBe(true);
    expect(reading?.hasTool(GITHUB, tool('delete_repo'))).toBe(false);
    expect(reading?.hasTool(FILES, tool('read'))).toBe(true);
    expect(reading?.hasTool(GITHUB, tool('read'))).toBe(false);
    expect(reading?.hasTool({ name: 'notes', alias: 'notes' }, tool('get_note'))).toBe(false);
    // A server cannot get in with a tool whose own name looks like that of another server.
    expect(reading?.hasTool(GITHUB, tool('files.read'))).toBe(false);
  });

  it('has everything of its servers without `tools`, and methods only if they are named otherwise', () => {
    const all = profilesOf({ profiles: { all: { servers: 'github' } } })('all');
    const method = { ...tool('prompts/get'), isMethod: true };
    expect([all?.hasTool(GITHUB, tool('x')), all?.hasTool(GITHUB, method)]).toEqual([true, true]);
    const reading = profilesOf(READING)('reading');
    expect(reading?.hasTool(GITHUB, method)).toBe(false);
    expect(reading?.hasTool(GITHUB, { ...tool('resources/read'), isMethod: true })).toBe(true);
  });

  it('is written as in the documentation', () => {
    const find = profilesOf(JSON.parse(readFences('docs/profiles.md', 'json')[0] ?? ''));
    expect(find('research')?.hasTool({ name: 'wiki-en', alias: 'wiki_en' }, tool('search'))).toBe(true);
    expect(find('research')?.hasTool(GITHUB, tool('search'))).toBe(false);
    expect(find('mail')?.hasTool({ name: 'mail', alias: 'mail' }, tool('send'))).toBe(true);
  });

  it('does not exist if the file is invalid, missing, or has no such name', () => {
    expect(profilesOf(READING)('other')).toBeUndefined();
    expect(profilesOf(READING)('constructor')).toBeUndefined();
    expect(profilesOf({ ...READING, rules: 1 })('reading')).toBeUndefined();
    expect(profilesOf({ profiles: { reading: { servers: ['x'], tool: 'y' } } })('reading')).toBeUndefined();
    expect(profilesOf({ profiles: { Reading: { servers: ['x'] } } })('Reading')).toBeUndefined();
    expect(createProfiles(join(tmpdir(), 'there-is-no-such-folder'))('reading')).toBeUndefined();
  });
});

const METADATA = {
  tools: ['get_issue', 'delete_repo'].map((name) => ({ name, description: '', inputSchema: {} })),
  notices: [],
} as ServerMetadata;

describe('what is known about a server', () => {
  function sourceIn(current: () => Profile | undefined): { source: MetadataSource; reviewed: ServerMetadata[] } {
    const reviewed: ServerMetadata[] = [];
    const all: MetadataSource = {
      kept: async () => METADATA,
      current: async () => METADATA,
      async review(_server, given) {
        reviewed.push(given);
        return given;
      },
      flush: async () => undefined,
    };
    return { source: inProfile(all, current, () => []), reviewed };
  }

  it('is without other tools, and the same object until something changes', async () => {
    let current = profilesOf(READING)('reading');
    const { source } = sourceIn(() => current);
    const first = await source.kept({ name: 'github' });
    expect(first?.tools.map(({ name }) => name)).toEqual(['get_issue']);
    expect(await source.kept({ name: 'github' })).toBe(first);
    current = undefined;
    expect((await source.kept({ name: 'github' }))?.tools).toEqual([]);
  });

  it('is compared with what was accepted as a whole', async () => {
    const { source, reviewed } = sourceIn(profilesOf(READING).bind(undefined, 'reading'));
    const narrowed = await source.kept({ name: 'github' });
    await source.review({ name: 'github' }, narrowed ?? METADATA);
    expect(reviewed).toEqual([METADATA]);
  });
});

describe('a call outside of the profile', () => {
  const call = (name: string, isMethod = false): ToolCall =>
    ({ server: GITHUB, tool: { ...tool(name), isMethod }, arguments: {} }) as unknown as ToolCall;

  async function codeOf(current: () => Profile | undefined, made: ToolCall): Promise<unknown> {
    const outcome: CallOutcome = await createProfileGate(current)(made, async () => ({ ok: true, result: 'made' }));
    return outcome.ok ? outcome.result : (outcome.error as { code?: string }).code;
  }

  it('is refused as if there were no such tool or method', async () => {
    const reading = () => profilesOf(READING)('reading');
    expect(await codeOf(reading, call('get_issue'))).toBe('made');
    expect(await codeOf(reading, call('delete_repo'))).toBe('TOOL_UNKNOWN');
    expect(await codeOf(reading, call('prompts/get', true))).toBe('CAPABILITY_MISSING');
    expect(await codeOf(() => undefined, call('get_issue'))).toBe('TOOL_UNKNOWN');
  });
});

describe('a list of servers', () => {
  const names = ['github', 'files', 'notes', 'notes-old'];
  const found = (profile: Profile | undefined) => names.filter((name) => profile?.hasServer(name));

  it('is a profile without a name', () => {
    const current = createCurrentProfile({ stateDir: '/none' }, ['github', 'notes*']);
    expect(found(current?.())).toEqual(['github', 'notes', 'notes-old']);
    expect(current?.()?.hasTool(GITHUB, tool('any'))).toBe(true);
    expect(current?.()?.hasTool(FILES, tool('any'))).toBe(false);
    expect(createCurrentProfile({ stateDir: '/none' })).toBeUndefined();
  });

  it('narrows a profile, and nothing exists if that is gone', () => {
    const folder = mkdtempSync(join(tmpdir(), 'profiles-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(READING));
    const both = createCurrentProfile({ profile: 'reading', stateDir: folder }, ['github', 'notes']);
    expect(found(both?.())).toEqual(['github']);
    expect(both?.()?.hasTool(GITHUB, tool('get_issue'))).toBe(true);
    expect(both?.()?.hasTool(GITHUB, tool('delete_repo'))).toBe(false);
    expect(both?.()?.hasTool(FILES, tool('read'))).toBe(false);
    expect(both?.()).toBe(both?.());
    expect(createCurrentProfile({ profile: 'no-such', stateDir: folder }, ['github'])?.()).toBeUndefined();
  });
});
