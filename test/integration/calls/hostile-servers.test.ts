// Tags: full, user-release
/** Servers that attack through their texts, with real processes, the pool, the intake and the directory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { createHostCalls } from '../../../src/core/calls/host-calls.ts';
import { createMetadataCache } from '../../../src/core/directory/metadata-cache.ts';
import { createServerDirectory, type ServerDirectory } from '../../../src/core/directory/server-directory.ts';
import { createMetadataSource } from '../../../src/core/directory/server-metadata.ts';
import { createUpstreamPool } from '../../../src/edges/upstream/pool.ts';
import { definitions, fixtureServer } from '../../support/upstream.ts';

const signal = new AbortController().signal;

/** Host calls with a hostile server and a well-behaved one. */
function setUp(kind: string) {
  const stateDir = mkdtempSync(join(tmpdir(), 'bridge-hostile-'));
  const servers = definitions({ hostile: fixtureServer('hostile-tools', kind), echo: fixtureServer('echo') });
  const open = () => {
    const pool = createUpstreamPool({
      logger: silentLogger,
      onToolsChanged: (server) => directory.noteChange(server),
    });
    pool.update(servers);
    const cache = createMetadataCache({ stateDir, logger: silentLogger });
    const directory: ServerDirectory = createServerDirectory(
      createMetadataSource(pool, cache),
      () => servers,
      silentLogger,
    );
    const handle = createHostCalls({ pool, directory, logger: silentLogger });
    const loaded = new Set(['hostile', 'echo']);
    return {
      pool,
      ask: (method: string, params: Record<string, unknown> = {}) =>
        handle(
          { method, params },
          { session: 'default', generation: 1, cell: 1, call: 1, loaded, signal },
        ) as Promise<never>,
      async close() {
        await pool.close();
        await directory.close();
      },
    };
  };
  const bridge = open();
  onTestFinished(async () => {
    await bridge.close();
    rmSync(stateDir, { recursive: true });
  });
  return { ...bridge, open };
}

interface Tool {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  readonly input_schema: Readonly<Record<string, unknown>>;
}

/** The JSON answer of a tool of the hostile server: the name and arguments it got. */
async function received(answer: Promise<unknown>): Promise<unknown> {
  const { content } = (await answer) as { content: { text: string }[] };
  return JSON.parse(content[0]?.text ?? '');
}

const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\u{e0000}-\u{e0fff}]/u;

describe('names', () => {
  it('are distinct identifiers, and calls use the exact name, hidden characters included', async () => {
    const { ask } = setUp('names');
    const tools: Tool[] = await ask('list_tools', { server: 'hostile' });
    expect(tools).toHaveLength(25);
    const aliases = tools.map(({ alias }) => alias);
    expect(new Set(aliases).size).toBe(25);
    expect(aliases.filter((alias) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(alias))).toEqual([]);
    expect(JSON.stringify(tools)).not.toMatch(HIDDEN);
    for (const { alias, name } of tools) {
      const exact = name.replace(/<U\+([0-9A-F]+)>/g, (_, code: string) => String.fromCodePoint(parseInt(code, 16)));
      const call = ask('call_tool', { server: 'hostile', tool: alias, arguments: {} });
      expect(await received(call)).toEqual([exact, {}]);
    }
  });

  it('of arguments and their values reach the server as it defined them', async () => {
    const { ask } = setUp('names');
    const args = { 'from<U+200B>': 'a<U+0007>', class_: 1, 'x-loc-lat': 2, class: 3 };
    const call = ask('call_tool', { server: 'hostile', tool: 'hidden', arguments: args });
    expect(await received(call)).toEqual(['hidden', { 'from\u200b': 'a\u0007', class_: 1, 'x-loc-lat': 2, class: 3 }]);
  });
});

describe('documents', () => {
  it('show hidden characters, in descriptions, schemas and instructions', async () => {
    const { ask } = setUp('names');
    const answer: { documents: { description: string }[] } = await ask('query_tool_docs', {
      server: 'hostile',
      tool: 'hidden',
      detail: 'full',
    });
    expect(answer.documents[0]?.description).toMatch(
      /^Adds\.<U\+200B> <U\+E0049>.*<U\+202E>esrever<U\+202C> <U\+001B>\[8m/,
    );
    expect(JSON.stringify(answer)).not.toMatch(HIDDEN);
    expect(await ask('describe_server', { server: 'hostile' })).toMatchObject({
      instructions: 'Be<U+200B> kind.<U+001B>[2J',
      protocol_version: '2025-11-25',
      capabilities: { tools: { listChanged: true } },
      notices: ['of tools with the same name only the first was kept', 'entries without a name were left out'],
    });
  });

  it.each(['schemas', 'shapes'])('of %s are generated, and every tool can be called', async (kind) => {
    const { ask } = setUp(kind);
    const { documents }: { documents: { tool: string }[] } = await ask('query_tool_docs', {
      server: 'hostile',
      detail: 'full',
    });
    expect(documents.length).toBe(kind === 'shapes' ? 2 : 16);
    for (const { tool } of documents) {
      expect(await received(ask('call_tool', { server: 'hostile', tool, arguments: { value: 1 } }))).toEqual([
        tool,
        { value: 1 },
      ]);
    }
  });
});

describe('too much', () => {
  it.each([
    ['flood', 10_000, ['only the first 10,000 tools were kept']],
    ['endless', 1_000, ['only the first 1,000 pages were read']],
    [
      'heavy',
      1,
      [
        'the list was cut at a part that is too large: more than 500,000 members',
        "the description of 'long' was cut to 20,000 characters",
        'of texts longer than 256 KiB only the beginning was read',
        'its instructions were cut to 20,000 characters',
      ],
    ],
  ])(
    '(%s) is cut with a notice in every answer, and the rest is kept for the next bridge',
    async (kind, count, said) => {
      const { ask, open, close } = setUp(kind);
      const expected = expect.arrayContaining(said.map((notice) => ({ server: 'hostile', notice })));
      // A search waits only some seconds for a server that is still listing its tools.
      await expect.poll(() => ask('search_tool_docs', { query: 'tool' })).toMatchObject({ notices: expected });
      expect(await ask('query_tool_docs', { server: 'hostile' })).toMatchObject({
        documents: { length: count },
        notices: expected,
      });
      await close();
      const next = open();
      expect(await next.ask('query_tool_docs', { server: 'hostile' })).toMatchObject({
        documents: { length: count },
        notices: expected,
      });
      expect(next.pool.states().map(({ state }) => state)).toEqual(['idle', 'idle']);
      await next.close();
    },
  );

  it('of list_changed notifications does not delay other calls', async () => {
    const { ask } = setUp('storm');
    expect(await ask('list_tools', { server: 'hostile' })).toHaveLength(3_000);
    for (let call = 0; call < 50; call += 1) {
      const answer = await ask('call_tool', { server: 'echo', tool: 'echo', arguments: { text: `${call}` } });
      expect(answer).toMatchObject({ content: [{ text: `${call}` }] });
    }
    expect(await ask('list_tools', { server: 'hostile' })).toHaveLength(3_000);
  });
});
