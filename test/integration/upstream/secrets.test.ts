// Tags: user-release
/** Servers that leak their secrets through every channel a server has. */
import { describe, expect, it } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { createLogger } from '../../../src/core/base/log.ts';
import { failureOf, fixtureServer, startPool, until } from '../../support/upstream.ts';

const SECRETS = ['tok-"canary"-0123456789', 'plain+canary/0123456789'];

describe.each(SECRETS)('a server that repeats %s', (secret) => {
  const start = (masksSecrets?: boolean) => {
    const log: string[] = [];
    const logger = createLogger('DEBUG', (line) => log.push(line));
    const entry = { ...fixtureServer('leaky'), env: { API_TOKEN: secret } };
    return { log, pool: startPool({ leaky: entry }, { logger, masksSecrets }) };
  };
  const expectNoSecret = (said: unknown) => {
    const text = JSON.stringify(said);
    expect(text).not.toContain('canary');
    expect(text).not.toContain('0123456789');
    expect(text).toContain('***');
  };

  it.each(['text', 'json', 'structured', 'address', 'resource', 'meta', 'escaped'])(
    'is masked in a result: %s',
    async (how) => {
      const { pool } = start();
      expectNoSecret(await pool.callTool({ server: 'leaky', tool: 'repeat', arguments: { how } }));
    },
  );

  it('is masked in base64', async () => {
    const { pool } = start();
    const result = await pool.callTool({ server: 'leaky', tool: 'repeat', arguments: { how: 'base64' } });
    const [block] = result['content'] as [{ text: string }];
    expect(Buffer.from(block.text.replace('Basic ', ''), 'base64').toString()).not.toContain('canary');
  });

  it('is masked in a result of 8 MiB, and nothing else is', async () => {
    const { pool } = start();
    const result = await pool.callTool({ server: 'leaky', tool: 'large', arguments: { megabytes: 8 } });
    const [block] = result['content'] as [{ text: string }];
    expect(block.text.length).toBe(8 * 1024 * 1024 + '***'.length);
    expect(block.text.endsWith('x***')).toBe(true);
  });

  it('is masked in the description of the server', async () => {
    const { pool } = start();
    const listing = await pool.describe('leaky');
    expectNoSecret(listing.tools);
    expectNoSecret(listing.info.instructions);
    expect(listing.tools.map(({ name }) => name)).toContain('repeat');
  });

  it('is masked in resources and prompts', async () => {
    const { pool } = start();
    const ask = async (method: 'resources/list' | 'resources/read' | 'prompts/list' | 'prompts/get') =>
      pool.surface({ server: 'leaky', method, params: { uri: 'x:y', name: 'p' } });
    expectNoSecret(await ask('resources/list'));
    expectNoSecret(await ask('resources/read'));
    expectNoSecret(await ask('prompts/list'));
    expectNoSecret(await ask('prompts/get'));
  });

  it('is masked in progress reports', async () => {
    const { pool } = start();
    const reports: unknown[] = [];
    await pool.callTool({ server: 'leaky', tool: 'report', arguments: {}, onProgress: (one) => reports.push(one) });
    expect(reports).toHaveLength(1);
    expectNoSecret(reports);
  });

  it('is masked in failures, the end of stderr and the log', async () => {
    const { pool, log } = start();
    expectNoSecret(await pool.callTool({ server: 'leaky', tool: 'fail', arguments: {} }));
    await pool.callTool({ server: 'leaky', tool: 'announce', arguments: {} });
    await pool.callTool({ server: 'leaky', tool: 'noise', arguments: {} });
    const refused = await failureOf(pool.callTool({ server: 'leaky', tool: 'refuse', arguments: {} }));
    expectNoSecret([refused.message, refused.hint, refused.data, String(refused.cause)]);
    const ended = await failureOf(pool.callTool({ server: 'leaky', tool: 'exit', arguments: {} }));
    expect(ended.message).toContain('login with *** failed');
    expectNoSecret([ended.message, ended.hint, ended.data]);
    await until(() => log.some((line) => line.includes('SERVER_EXITED')));
    expectNoSecret(log);
  });

  it('is returned unmasked if the entry says so, but never in messages', async () => {
    const { pool } = start(false);
    const result = await pool.callTool({ server: 'leaky', tool: 'repeat', arguments: { how: 'text' } });
    expect(JSON.stringify(result)).toContain('canary');
    expectNoSecret((await failureOf(pool.callTool({ server: 'leaky', tool: 'refuse', arguments: {} }))).message);
  });
});

describe('values that are inserted at the start', () => {
  const entry = { ...fixtureServer('leaky'), env: { WITHOUT_A_NAME: '${cmd:x}' } };

  it('reach the server, and are masked whatever their names', async () => {
    const secrets = ['hunter-two'];
    const pool = startPool(
      { leaky: entry },
      { prepare: async (definition) => ({ ...definition, env: { API_TOKEN: 'hunter-two' }, secrets }) as never },
    );
    const result = await pool.callTool({ server: 'leaky', tool: 'repeat', arguments: { how: 'text' } });
    expect(result['content']).toEqual([{ type: 'text', text: 'token is ***, again ***' }]);
    const refused = await failureOf(pool.callTool({ server: 'leaky', tool: 'refuse', arguments: {} }));
    expect(refused.message).toContain('bad token ***');
  });

  it('are not fetched just for a look, and fail the start if they are missing', async () => {
    let asked = 0;
    const failure = new BridgeError('SECRET_UNAVAILABLE', 'no value', { data: { server: 'leaky' } });
    const pool = startPool(
      { leaky: entry },
      {
        prepare: async () => {
          asked += 1;
          throw failure;
        },
      },
    );
    expect(pool.states()).toHaveLength(1);
    expect(asked).toBe(0);
    expect(await failureOf(pool.callTool({ server: 'leaky', tool: 'repeat', arguments: {} }))).toBe(failure);
    expect(asked).toBe(1);
  });
});

it('does not mask words and short values of the entry in results', async () => {
  const env = { API_TOKEN: 'password', MODE: 'production', DEBUG: 'true' };
  const pool = startPool({ leaky: { ...fixtureServer('leaky'), env } });
  const result = await pool.callTool({ server: 'leaky', tool: 'repeat', arguments: { how: 'text' } });
  expect(result['content']).toEqual([{ type: 'text', text: 'token is password, again password' }]);
});
