/** What tests of egress run against: an internet without a bridge, where every attack must show as a fault. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type FakeInternet, startFakeInternet } from '../../support/fake-internet.ts';
import { byHost, createSdkApis } from '../../support/fake-sdk-apis.ts';
import { ECHO_PATHS, hostileApis, REDIRECT_PATHS } from '../../support/hostile-apis.ts';
import {
  faultsOf,
  HOSTILE_CODE_FOLDER,
  HOSTILE_CODE_SERVERS,
  HOSTILE_PROGRAMS,
  hostileCode,
} from '../../support/hostile-code.ts';
import { hasLocalPython } from '../../support/local-python.ts';
import { runOutside, SDK_PROGRAM_FOLDER, SDK_PROGRAMS } from '../../support/sdk-programs.ts';

const { plain, hostile } = HOSTILE_CODE_SERVERS;
const KEYS = { ...plain.egress.keys, ...hostile.egress.keys };

async function startInternet(): Promise<FakeInternet> {
  const internet = await startFakeInternet({ ...byHost(createSdkApis()), ...hostileApis() });
  onTestFinished(internet.close);
  return internet;
}

function programsIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.py') && name !== 'start.py');
}

describe('the programs for egress', () => {
  it('are those of the tables', () => {
    expect(programsIn(SDK_PROGRAM_FOLDER).toSorted()).toEqual(Object.keys(SDK_PROGRAMS).toSorted());
    expect(programsIn(HOSTILE_CODE_FOLDER).toSorted()).toEqual(Object.keys(HOSTILE_PROGRAMS).toSorted());
  });

  it('have pinned packages', () => {
    const pinned = readFileSync(join(SDK_PROGRAM_FOLDER, 'requirements.txt'), 'utf8').match(/^[^=]+(?===)/gm);
    const used = new Set(Object.values(SDK_PROGRAMS).flatMap(({ packages }) => packages));
    expect(pinned?.toSorted()).toEqual([...used].toSorted());
  });
});

/** Without those that wait for a time limit. */
const QUICK_PATHS = [...ECHO_PATHS, ...REDIRECT_PATHS, '/early'];

/** One fault of each kind that the program must show when no bridge stands between it and the internet. */
const FAULTS_WITHOUT_BRIDGE: Readonly<Record<string, readonly string[]>> = {
  'tunnels.py': [
    'other.example.com:443: was not refused',
    'GET https://127.0.0.1:443/v1/items: a key went to a host that has no right to it',
    '127.1:443: was asked for, and is not allowed',
  ],
  'targets.py': [
    'http://169.254.169.254/latest/meta-data/: was not refused',
    'GET https://api.example.com:443/v1/%2e%2e/admin: a path that is not allowed',
    'DELETE https://api.example.com:443/v1/items: a method that is not allowed',
    'GET https://api.example.com:443/v1/items: the header Host is another one',
  ],
  'smuggling.py': ['GET https://api.example.com:443/smuggled: a path that is not allowed'],
  'credentials.py': [
    'GET https://open.example.com:443/: a key went to a host that has no right to it',
    'GET http://api.example.com:80/v1/items: a key went without TLS',
  ],
  'local_search.py': ['environ: found PLAIN_API_KEY in PLAIN_API_KEY'],
  'answers.py': [
    '/echo/base64: shows a key (base64 1)',
    '/echo/hex: shows a key (hex)',
    '/echo/percent: shows a key (percent)',
    '/echo/json-escaped: shows a key (json-escaped)',
    ...['plain', 'header', 'cookie', 'reason', 'gzip', 'split'].map((path) => `/echo/${path}: shows a key (plain)`),
    'GET https://other.example.com:443/v1/items: a key went to a host that has no right to it',
  ],
};

describe.skipIf(!hasLocalPython())('the internet of tests', () => {
  it('serves a program that has the key, and no other', async () => {
    const internet = await startInternet();
    const code = readFileSync(join(SDK_PROGRAM_FOLDER, 'plain_urllib.py'), 'utf8');
    expect(await runOutside(code, internet, KEYS)).toMatch(/^ok urllib/);
    expect(internet.requests[0]).toMatchObject({ scheme: 'https', host: 'api.example.com', port: 443, method: 'GET' });
    expect(internet.requests.map(({ bodyBytes }) => bodyBytes)).toContain(1_000_000);
    expect(await runOutside(code, internet, { PLAIN_API_KEY: 'bridge-key-1' })).toContain('401');
  });

  it.each(Object.entries(FAULTS_WITHOUT_BRIDGE))(
    'shows the faults of %s',
    { timeout: 120_000 },
    async (file, faults) => {
      const internet = await startInternet();
      const printed = await runOutside(hostileCode(file, QUICK_PATHS), internet, KEYS);
      expect(faultsOf(file, printed, internet)).toEqual(expect.arrayContaining([...faults]));
      expect(printed).not.toContain('Traceback');
    },
  );
});
