/** Tokens in a real file, as the command writes it and a running bridge reads it. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { principalFolder, TOKEN_NAME } from '../../../src/core/state/principals.ts';
import { createIdentify } from '../../../src/front/tokens/identify.ts';
import { TokenFile } from '../../../src/front/tokens/token-file.ts';

let folder: string;
let tokens: TokenFile;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tokens-'));
  tokens = new TokenFile(folder);
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

describe('the file of tokens', () => {
  it('has only hashes, and only its owner can read it', async () => {
    const token = await tokens.add('alice', { max_sessions: 3 });
    expect(token).toMatch(/^mcpb_[\w-]{43}$/);
    expect(readFileSync(tokens.path, 'utf8')).not.toContain(token.slice(5, 20));
    expect(statSync(tokens.path).mode & 0o077).toBe(0);
    expect(await tokens.find(token)).toMatchObject({ name: 'alice', max_sessions: 3 });
  });

  it('is read again when another process has changed it', async () => {
    const running = new TokenFile(folder);
    expect(await running.list()).toBeUndefined();
    const token = await tokens.add('alice', {});
    expect(await running.find(token)).toMatchObject({ name: 'alice' });
    expect(await tokens.remove(['alice', 'bob'])).toEqual(['bob']);
    expect(await running.find(token)).toBeUndefined();
    expect(await running.list()).toEqual([]);
  });

  it('has each name once', async () => {
    await tokens.add('alice', {});
    await expect(tokens.add('alice', {})).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  });

  it('finds nothing for what is not exactly a token', async () => {
    const token = await tokens.add('alice', {});
    const wrong = ['', token.slice(0, -1), `${token}A`, token.toUpperCase(), token.slice(5), `${token}\n`, 'mcpb_'];
    expect(await Promise.all(wrong.map((one) => tokens.find(one)))).toEqual(wrong.map(() => undefined));
    const hash = (await tokens.list())?.[0]?.sha256 ?? '';
    expect(await tokens.find(hash)).toBeUndefined();
  });

  it.each(['', 'no JSON', '{"version":2,"tokens":[]}', '{"version":1,"tokens":[{"name":"../x"}]}'])(
    'is refused as a whole if it is "%s"',
    async (text) => {
      await tokens.add('alice', {});
      writeFileSync(tokens.path, text);
      await expect(tokens.list()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
      await expect(createIdentify(tokens, { isRequired: false })(undefined)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      });
    },
  );
});

describe('the principal of a request', () => {
  it('is the user of the machine if there never was a token, unless one is required', async () => {
    expect(await createIdentify(tokens, { isRequired: false })(undefined)).toMatchObject({
      principal: { name: undefined },
    });
    expect(await createIdentify(tokens, { isRequired: true })(undefined)).toEqual({ refused: 'missing' });
  });

  it('needs a token as soon as there is one, even if all are removed', async () => {
    const identify = createIdentify(tokens, { isRequired: false });
    const before = await identify(undefined);
    const token = await tokens.add('alice', {});
    expect('isValid' in before && (await before.isValid())).toBe(false);
    expect(await identify(undefined)).toEqual({ refused: 'missing' });
    expect(await identify(`Bearer ${token}`)).toMatchObject({ principal: { name: 'alice' } });
    await tokens.remove(['alice']);
    expect(await identify(`Bearer ${token}`)).toEqual({ refused: 'unknown' });
    expect(await identify(undefined)).toEqual({ refused: 'missing' });
    rmSync(tokens.path);
    expect(await identify(undefined)).toEqual({ refused: 'missing' });
  });

  it('is only who sends exactly a token as a bearer', async () => {
    const token = await tokens.add('alice', {});
    const identify = createIdentify(tokens, { isRequired: true });
    expect(await identify(`bearer  ${token}`)).toMatchObject({ principal: { name: 'alice' } });
    const wrong = [
      token,
      `Basic ${token}`,
      `Bearer ${token}x`,
      `Bearer ${token} x`,
      `Bearer ${token},Bearer x`,
      'Bearer',
      '',
    ];
    expect(await Promise.all(wrong.map(identify))).toEqual(wrong.map(() => ({ refused: 'unknown' })));
  });

  it('is no one once its token has expired, also for what is open', async () => {
    const expires = new Date(Date.now() + 60_000).toISOString();
    const token = await tokens.add('alice', { expires_at: expires });
    const identify = createIdentify(tokens, { isRequired: true });
    const identity = await identify(`Bearer ${token}`);
    expect('isValid' in identity && (await identity.isValid())).toBe(true);
    vi.useFakeTimers({ now: Date.parse(expires), toFake: ['Date'] });
    expect(await identify(`Bearer ${token}`)).toEqual({ refused: 'expired' });
    expect('isValid' in identity && (await identity.isValid())).toBe(false);
  });

  it('is not valid any more if the name has a new token', async () => {
    const first = await tokens.add('alice', {});
    const identify = createIdentify(tokens, { isRequired: true });
    const identity = await identify(`Bearer ${first}`);
    await tokens.remove(['alice']);
    await tokens.add('alice', {});
    expect('isValid' in identity && (await identity.isValid())).toBe(false);
    expect(await identify(`Bearer ${first}`)).toEqual({ refused: 'unknown' });
  });
});

it('a name is safe as the name of a folder, and no two names have the same', () => {
  const good = ['alice', 'alice@example.com', 'a', '1', 'con', 'a.b-c_d', 'a'.repeat(64)];
  expect(good.filter((name) => !TOKEN_NAME.test(name))).toEqual([]);
  const bad = [
    '',
    '.',
    '..',
    '../x',
    'a/b',
    'a\\b',
    'Alice',
    'a b',
    'a\n',
    '-a',
    'a.',
    '.a',
    'ä',
    'a'.repeat(65),
    'a\0',
  ];
  expect(bad.filter((name) => TOKEN_NAME.test(name))).toEqual([]);
  expect(new Set(good.map((name) => principalFolder('/state', name).toLowerCase())).size).toBe(good.length);
});
