import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createKeyring, keyringCommands } from '../../../src/secrets/keyring.ts';
import { seal, unseal } from '../../../src/state/seal.ts';

describe('the commands', () => {
  it.each(['linux', 'darwin', 'freebsd'] as const)('of %s have the secret nowhere in their words', (platform) => {
    const { words, input } = keyringCommands(platform)?.write('a-secret') ?? { words: [], input: '' };
    expect(words.join(' ')).not.toContain('a-secret');
    expect(input).toContain('a-secret');
  });

  it('are these', () => {
    expect(keyringCommands('darwin')?.read.words.join(' ')).toBe(
      'security find-generic-password -s mcp-server-code-execution-mode -a key-of-logins -w',
    );
    expect(keyringCommands('darwin')?.write('00ff')).toEqual({
      words: ['security', '-i'],
      input: 'add-generic-password -U -s mcp-server-code-execution-mode -a key-of-logins -w 00ff\n',
    });
    expect(keyringCommands('linux')?.write('00ff').words.join(' ')).toBe(
      'secret-tool store --label=mcp-server-code-execution-mode service mcp-server-code-execution-mode account key-of-logins',
    );
    expect(keyringCommands('win32')).toBeUndefined();
  });
});

it('a machine without the program, or without any, has no key', async () => {
  for (const platform of ['linux', 'darwin', 'win32'] as const) {
    const keyring = createKeyring({ mode: 'auto', platform, env: { PATH: '/nonexistent' } });
    expect(await keyring.keyForSaving()).toBeUndefined();
    expect(await keyring.keyForReading()).toBeUndefined();
  }
});

describe('a seal', () => {
  const key = randomBytes(32);
  it('opens with its key at its place alone, and not when a byte is another one', () => {
    const sealed = seal('täxt', key, 'a\nb');
    expect(unseal(sealed, key, 'a\nb')).toBe('täxt');
    expect(seal('täxt', key, 'a\nb')).not.toBe(sealed);
    expect(() => unseal(sealed, randomBytes(32), 'a\nb')).toThrow();
    expect(() => unseal(sealed, key, 'a\nc')).toThrow();
    const bytes = Buffer.from(sealed, 'base64');
    for (const at of [0, 12, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => unseal(changed.toString('base64'), key, 'a\nb')).toThrow();
    }
    expect(() => unseal(bytes.subarray(0, 20).toString('base64'), key, 'a\nb')).toThrow();
  });
});
