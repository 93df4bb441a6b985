// Tags: bubblewrap, full
/**
 * Requests that code sends itself: real SDKs from the index in real sandboxes, through the built command, to APIs of an internet that
 * exists only in the test. Nothing of the keys may be found where code, the model or a later reader could look.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { type FakeInternet, startFakeInternet } from '../support/fake-internet.ts';
import { byHost, createSdkApis, type SdkApi } from '../support/fake-sdk-apis.ts';
import { installPythonPackages, whyNoPythonPackages } from '../support/python-packages.ts';
import { SDK_PROGRAM_FOLDER, SDK_PROGRAMS } from '../support/sdk-programs.ts';

const engines = await coverEngines();
const missing = await whyNoPythonPackages();
const PINNED = readFileSync(join(SDK_PROGRAM_FOLDER, 'requirements.txt'), 'utf8').trimEnd().split('\n');
const PACKAGES = '/sdks';
/** Libraries that look at how a key begins. */
const PREFIXES: Readonly<Record<string, string>> = { STRIPE_API_KEY: 'sk_test_', SLACK_BOT_TOKEN: 'xoxb-' };

/** The entries of all APIs. Their values are variables of the bridge, as its environment has them. */
function entriesOf(apis: Readonly<Record<string, SdkApi>>) {
  const env: Record<string, string> = {};
  const entries = Object.entries(apis).map(([name, { hosts, keys }]): [string, unknown] => {
    const first = hosts.find((host) => !host.startsWith('*')) ?? hosts[0]?.replace('*', 'any');
    const variables = Object.entries(keys).map(([variable, value]) => {
      env[`CANARY_${variable}`] = value;
      return [variable, `\${CANARY_${variable}}`] as const;
    });
    const {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      ...plain
    } = Object.fromEntries(variables);
    const placeholders = Object.fromEntries(
      Object.entries(plain).map(([variable, value]) => [variable, { value, prefix: PREFIXES[variable] ?? '' }]),
    );
    const sign = accessKeyId === undefined ? {} : { aws: { accessKeyId, secretAccessKey } };
    // One program also asks without TLS, which an entry must name.
    const plainly = name === 'plain' ? hosts.map((host) => `http://${host}`) : [];
    const egress = { hosts: [...hosts, ...plainly], keys: placeholders, sign };
    return [name, { url: `https://${first}`, egress, policy: { default: 'allow' } }];
  });
  return { env, entries: Object.fromEntries(entries) };
}

for (const engine of engines) {
  // The packages are those of this machine's Python, which only bubblewrap uses.
  describe.skipIf(missing !== undefined || engine.name !== 'bubblewrap')(
    `requests of code on ${engine.label}`,
    { timeout: 300_000 },
    () => {
      const apis = createSdkApis();
      const { entries, env } = entriesOf(apis);
      let internet: FakeInternet;
      let bridge: BridgeClient;
      let log = '';

      beforeAll(async () => {
        const folder = await installPythonPackages(PINNED);
        internet = await startFakeInternet(byHost(apis));
        bridge = await startBridge({
          engine,
          servers: () => entries as never,
          env: {
            ...env,
            HTTPS_PROXY: internet.proxyUrl,
            HTTP_PROXY: internet.proxyUrl,
            NODE_EXTRA_CA_CERTS: internet.certificateFile,
            MCP_BRIDGE_MOUNTS: `${folder}:${PACKAGES}`,
            MCP_BRIDGE_LOG_LEVEL: 'DEBUG',
          },
          onLog: (text) => {
            log += text;
          },
        });
        return async () => {
          await bridge.close();
          await internet.close();
        };
      }, 300_000);

      it.each(Object.entries(SDK_PROGRAMS))('%s works without the key', async (file, { api }) => {
        const code = readFileSync(join(SDK_PROGRAM_FOLDER, file), 'utf8');
        const before = internet.requests.length;
        const { text } = await bridge.runPython(`import sys; sys.path.insert(0, "${PACKAGES}")\n${code}`, {
          servers: [api],
          session: api,
        });
        expect(text).toMatch(/^ok /m);
        expect(internet.requests.length).toBeGreaterThan(before);
        for (const key of Object.values(apis[api]?.keys ?? {})) {
          expect(text).not.toContain(key);
        }
      });

      it('none of the keys is in the log or in a file', () => {
        const values = Object.values(env);
        expect(values.filter((value) => log.includes(value))).toEqual([]);
        const files = filesIn(bridge.folder).filter((path) => {
          const text = readOrNothing(path);
          return values.some((value) => text.includes(value));
        });
        expect(files).toEqual([]);
      });
    },
  );
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}

/** Empty for a file that is gone. */
function readOrNothing(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return Buffer.alloc(0);
    }
    throw error;
  }
}
