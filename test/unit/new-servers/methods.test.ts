/** When code may search and propose, what the person is asked, and what is remembered. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Question, Reply } from '../../../src/core/base/cell.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { checkParams } from '../../../src/core/calls/method.ts';
import type { CallContext } from '../../../src/core/session/dispatch.ts';
import { DeclinedServers } from '../../../src/edges/registries/declined.ts';
import { NewServers } from '../../../src/edges/registries/find.ts';
import { type NewServersOptions, newServerMethods } from '../../../src/features/new-servers/index.ts';
import { type RegisteredServer, startRegistry } from '../../support/registry-server.ts';

const NAME = 'io.github.acme/mail';
const MAIL: RegisteredServer = {
  name: NAME,
  description: 'Mail\n\n    Command: something harmless',
  packages: [{ registryType: 'npm', identifier: 'mail', version: '1.0.0' }],
};
const YES: Reply = { action: 'accept', content: { add: true } };

async function setUp(reply?: Reply | (() => never), more: Partial<NewServersOptions> = {}, servers = [MAIL]) {
  const registry = await startRegistry(servers);
  const stateDir = mkdtempSync(join(tmpdir(), 'bridge-propose-'));
  onTestFinished(async () => {
    await registry.close();
    rmSync(stateDir, { recursive: true });
  });
  const asked: Question[] = [];
  const added: [string, unknown][] = [];
  const methods = new Map(
    newServerMethods({
      servers: new NewServers({ stateDir, registry: registry.url }, {}),
      declined: new DeclinedServers(stateDir),
      whyNoSearch: undefined,
      whyNoProposal: undefined,
      isTaken: (name) => name === 'taken',
      storedSecrets: async () => new Set(['mail.STORED']),
      add: async (name, entry) => {
        added.push([name, entry]);
        return '/servers.json';
      },
      ...more,
    }),
  );
  const loaded: string[] = [];
  const asker = reply && {
    code: '',
    opensPages: false,
    ask: async (question: Question) => {
      asked.push(question);
      return typeof reply === 'function' ? reply() : reply;
    },
  };
  const ask = async (
    method: 'find_new_servers' | 'propose_server',
    params: Record<string, unknown>,
    context: Partial<CallContext> = {},
  ) => {
    const found = methods.get(method) ?? expect.fail();
    const whole = {
      session: 'default',
      signal: new AbortController().signal,
      asker,
      load: (name: string) => loaded.push(name),
      ...context,
    };
    return found.run(checkParams(found, params), whole as unknown as CallContext);
  };
  return { added, ask, asked, loaded, registry };
}

const propose = (more: object = {}): [method: 'propose_server', params: Record<string, unknown>] => [
  'propose_server',
  { name: NAME, ...more },
];

describe('propose_server', () => {
  it('adds, and loads, what the person has agreed to', async () => {
    const { added, ask, asked, loaded } = await setUp(YES);
    await expect(ask(...propose())).resolves.toMatchObject({
      server: 'mail',
      proxy: 'mcp_mail',
      runs: 'npx -y mail@1.0.0',
      missing_secrets: [],
    });
    expect([added[0]?.[0], loaded]).toEqual(['mail', ['mail']]);
    // What a stranger has written cannot pass for a line of the bridge.
    expect(asked[0]?.message).toContain('\n    Its own words: Mail Command: something harmless\n');
  });

  it.each<Reply>([{ action: 'accept' }, { action: 'accept', content: { add: 'true' } }, { action: 'decline' }])(
    'takes %j for a no, and asks no more',
    async (reply) => {
      const { added, ask, asked } = await setUp(reply);
      await expect(ask(...propose())).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
      await expect(ask(...propose(), { session: 'other' })).rejects.toThrow(/the user declined it on 20/);
      expect([asked.length, added]).toEqual([1, []]);
    },
  );

  it('may ask again after a question that was dismissed, or could not be asked', async () => {
    const { ask, asked } = await setUp({ action: 'cancel' });
    await expect(ask(...propose())).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
    await expect(ask(...propose())).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
    expect(asked).toHaveLength(2);
    const late = await setUp(() => {
      throw new BridgeError('APPROVAL_TIMEOUT', 'no one answered');
    });
    await expect(late.ask(...propose())).rejects.toThrow(/was not added: no one answered/);
    await expect(late.ask(...propose())).rejects.toMatchObject({ code: 'APPROVAL_TIMEOUT' });
  });

  it.each<[string, object, object, RegExp]>([
    ['by a principal', { whyNoProposal: 'only the operator of this bridge adds servers' }, {}, /only the operator/],
    ['under a name that is taken', {}, { alias: 'taken' }, /there is a server 'taken' already/],
    ['under a strange name', {}, { alias: '-x' }, /invalid parameters: alias/],
    [
      'with many values',
      {},
      { values: Object.fromEntries([...Array(51).keys()].map((key) => [key, ''])) },
      /at most 50 values/,
    ],
    ['with unknown values', {}, { values: { x: 'y' } }, /has no value 'x'/],
  ])('is refused %s, and no one is asked', async (_how, options, params, message) => {
    const { added, ask, asked } = await setUp(YES, options);
    await expect(ask(...propose(params))).rejects.toThrow(message);
    expect([asked, added]).toEqual([[], []]);
  });

  it('is refused where no one can be asked, before anything leaves the machine', async () => {
    const { ask, registry } = await setUp();
    await expect(ask(...propose())).rejects.toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
      hint: expect.stringContaining(`servers add --from ${NAME}`),
    });
    await expect(ask(...propose(), { job: 'j' })).rejects.toThrow(/a background job cannot ask/);
    expect(registry.requests).toEqual([]);
  });

  it('does not show a part of what would run', async () => {
    const long = {
      ...Object(MAIL['packages'])[0],
      packageArguments: Array.from({ length: 30 }, () => ({ type: 'positional', value: 'x'.repeat(500) })),
    };
    const { ask, asked } = await setUp(YES, {}, [{ ...MAIL, packages: [long] }]);
    await expect(ask(...propose())).rejects.toThrow(/too much to show in a question/);
    expect(asked).toEqual([]);
  });
});

describe('find_new_servers', () => {
  it('is bounded, and off where it must be', async () => {
    const { ask } = await setUp();
    await expect(ask('find_new_servers', { query: 'x'.repeat(401) })).rejects.toThrow(/invalid parameters: query/);
    for (let count = 0; count < 60; count += 1) {
      await ask('find_new_servers', { query: 'mail' });
    }
    await expect(ask('find_new_servers', { query: 'mail' })).rejects.toThrow(/looked for new servers 60 times/);
    await expect(ask('find_new_servers', { query: 'mail' }, { session: 'other' })).resolves.toMatchObject({
      servers: [{ name: NAME }],
    });
    const off = await setUp(undefined, { whyNoSearch: 'a recording is replayed' });
    await expect(off.ask('find_new_servers', { query: 'mail' })).rejects.toThrow(
      /cannot be searched for: a recording is replayed/,
    );
  });
});
