import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { OLDEST_NODE, whyNodeIsTooOld } from '../../../src/app/cli/node-version.ts';

const ROOT = new URL('../../../', import.meta.url);

test.each(['20.19.0', '20.20.2', '21.0.0', '24.1.0', '100.0.0'])('Node %s will do', (version) => {
  expect(whyNodeIsTooOld(version)).toBeUndefined();
});

test.each(['18.20.8', '20.18.3', '20.9.0', '4.0.0'])('Node %s is too old', (version) => {
  expect(whyNodeIsTooOld(version)).toMatchObject({
    code: 'CONFIG_INVALID',
    message: `Node ${version} is too old; the bridge needs 20.19 or newer`,
    hint: expect.stringMatching(/^Install Node 20\.19 or newer/),
  });
});

test('the package and the bundle require the same version', () => {
  const { engines } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as { engines: { node: string } };
  expect(engines.node).toBe(`>=${OLDEST_NODE}`);
  expect(readFileSync(new URL('scripts/build.mjs', ROOT), 'utf8')).toContain(`target: 'node${OLDEST_NODE}'`);
});
