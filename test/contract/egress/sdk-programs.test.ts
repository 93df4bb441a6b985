// Tags: full, only-check
/**
 * The programs for egress, with the SDKs from the index, straight to their fake APIs and with the real keys: what they need of a bridge
 * is a proxy, an authority and the keys, and nothing else.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startFakeInternet } from '../../support/fake-internet.ts';
import { byHost, createSdkApis } from '../../support/fake-sdk-apis.ts';
import { installPythonPackages, whyNoPythonPackages } from '../../support/python-packages.ts';
import { runOutside, SDK_PROGRAM_FOLDER, SDK_PROGRAMS } from '../../support/sdk-programs.ts';

const PINNED = readFileSync(join(SDK_PROGRAM_FOLDER, 'requirements.txt'), 'utf8').trimEnd().split('\n');
const missing = await whyNoPythonPackages();

describe('the programs for egress', () => {
  if (missing !== undefined) {
    it.skip(`not covered: SDKs on fake APIs, because ${missing}`, () => undefined);
    return;
  }

  const cases = Object.entries(SDK_PROGRAMS).filter(([, { needs }]) => needs === undefined);
  it.each(cases)('%s', { timeout: 300_000 }, async (file, { api, packages }) => {
    const apis = createSdkApis();
    const internet = await startFakeInternet(byHost(apis));
    onTestFinished(internet.close);
    const pinned = PINNED.filter((line) => packages.includes(line.replace(/==.*/, '')));
    const folder = pinned.length === 0 ? '' : await installPythonPackages(pinned);
    const code = readFileSync(join(SDK_PROGRAM_FOLDER, file), 'utf8');
    const keys = apis[api]?.keys ?? {};
    expect(await runOutside(code, internet, { ...keys, PYTHONPATH: folder })).toMatch(/^ok .*\n$/);
    const wrong = Object.fromEntries(Object.keys(keys).map((name) => [name, 'bridge-key-0123456789abcdef']));
    expect(await runOutside(code, internet, { ...wrong, PYTHONPATH: folder })).not.toMatch(/^ok /m);
  });
});
