/** The browser is led to the page without the token in its arguments. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { openPage } from '../../../src/record/ui/open-page.ts';
import { newStateDir } from '../../support/ui-server.ts';

const address = 'http://127.0.0.1:8700/#token=s3cret-token';
const env = { DISPLAY: ':0' };

it('leads to the address by a file that only the user can read', async () => {
  const stateDir = newStateDir();
  let argv: readonly string[] = [];
  const { isOpen, remove } = await openPage({
    address,
    stateDir,
    env,
    open: async ({ args }) => {
      argv = args;
      return true;
    },
  });
  expect(isOpen).toBe(true);
  expect(argv.join(' ')).not.toContain('s3cret');
  const file = fileURLToPath(argv.at(-1) ?? '');
  expect(readFileSync(file, 'utf8')).toContain(`url=${address}"`);
  if (process.platform !== 'win32') {
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }
  await remove();
  expect(readdirSync(stateDir)).toEqual([]);
});

it('leaves nothing if no browser can be started', async () => {
  const stateDir = newStateDir();
  expect((await openPage({ address, stateDir, env, open: () => Promise.reject(new Error('none')) })).isOpen).toBe(
    false,
  );
  expect(readdirSync(stateDir)).toEqual([]);
  expect((await openPage({ address, stateDir, env, open: async () => false })).isOpen).toBe(false);
  await expect.poll(() => readdirSync(stateDir)).toEqual([]);
  expect((await openPage({ address, stateDir: '/dev/null', env, open: async () => true })).isOpen).toBe(false);
});
