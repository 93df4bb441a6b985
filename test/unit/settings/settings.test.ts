import { describe, expect, test } from 'vitest';
import { BridgeError, ERROR_CODES, renderError } from '../../../src/core/base/errors.ts';
import { describeUnknownVariables } from '../../../src/edges/settings/inspect.ts';
import { loadSettings, SETTINGS_TABLE } from '../../../src/edges/settings/settings.ts';

const HOME = { HOME: '/home/ada' };
const GIB = 1024 ** 3;

function refused(env: Record<string, string>): BridgeError {
  try {
    loadSettings({ ...HOME, ...env });
  } catch (error) {
    if (error instanceof BridgeError && error.code === 'CONFIG_INVALID') {
      return error;
    }
    throw error;
  }
  throw new Error('was accepted');
}

const refusal = (env: Record<string, string>): string => refused(env).message;

test('has these defaults', () => {
  expect(loadSettings(HOME, undefined, 4 * GIB)).toEqual({
    runtime: 'auto',
    egress: 'ask',
    maxSessions: 16,
    httpMaxRate: 200,
    httpMaxCells: 64,
    httpMaxStreams: 64,
    httpMaxBodyBytes: 4 * 1024 ** 2,
    image: 'python:3.14-slim',
    pull: 'missing',
    timeoutSeconds: 30,
    maxTimeoutSeconds: 120,
    answerWithin: 'auto',
    idleTimeoutMs: 300_000,
    prewarm: 1,
    checkpoint: 'auto',
    approvalTimeoutMs: 300_000,
    kubernetesLocalServers: false,
    memoryBytes: GIB,
    pids: 128,
    containerUser: '65534:65534',
    configSources: [{ kind: 'mcps' }],
    stateDir: '/home/ada/MCPs',
    tools: ['run_python'],
    outputMode: 'compact',
    maxOutputChars: 40_000,
    apps: true,
    savedTools: 'on',
    audit: 'on',
    otelContent: false,
    auditMaxBytes: 268_435_456,
    auditMaxAgeDays: 90,
    live: true,
    logLevel: 'INFO',
    allowSelfServer: false,
    autoload: false,
    masksSecrets: true,
    packages: 'common',
    packagesMaxAgeMs: 90 * 24 * 3_600_000,
    packagesMaxBytes: 4 * 1024 ** 3,
    packagesMinAgeMs: 7 * 24 * 3_600_000,
    packagesNetwork: 'default',
    packagesStore: 'mcp-bridge-packages',
    pin: 'warn',
    prestart: 'recent',
    prewarmImports: 'recent',
  });
});

test('a sandbox gets less memory by default where it is scarce or reserved', () => {
  const limit = (env: Record<string, string>, machineBytes: number) =>
    loadSettings(env, undefined, machineBytes).memoryBytes;
  const cluster = { MCP_BRIDGE_RUNTIME: 'kubernetes' };
  expect([limit(HOME, 3 * GIB), limit(HOME, 3 * GIB - 1), limit(cluster, 64 * GIB)]).toEqual([GIB, GIB / 2, GIB / 2]);
  const set = { MCP_BRIDGE_MEMORY: '1g' };
  expect([limit(set, 2 * GIB), limit({ ...set, ...cluster }, 2 * GIB)]).toEqual([GIB, GIB]);
});

test('treats an empty variable as not set', () => {
  const empty = Object.fromEntries(SETTINGS_TABLE.map(({ variable }) => [variable, ' ']));
  expect(loadSettings({ ...HOME, ...empty })).toEqual(loadSettings(HOME));
});

test('allows every default', () => {
  for (const { variable, default: text } of SETTINGS_TABLE) {
    expect(() => loadSettings({ ...HOME, [variable]: text })).not.toThrow();
  }
});

describe('accepted values', () => {
  test.each([
    ['MCP_BRIDGE_RUNTIME', 'Docker', { runtime: 'docker' }],
    ['MCP_BRIDGE_RUNTIME', 'bubblewrap', { runtime: 'bubblewrap' }],
    ['MCP_BRIDGE_RUNTIME', 'container', { runtime: 'container' }],
    ['MCP_BRIDGE_IMAGE', 'registry.example:5000/a/b@sha256:0f', { image: 'registry.example:5000/a/b@sha256:0f' }],
    ['MCP_BRIDGE_PULL', 'never', { pull: 'never' }],
    ['MCP_BRIDGE_REGISTRY', 'Off', { registry: 'off' }],
    ['MCP_BRIDGE_REGISTRY', 'https://mcp.example/registry/', { registry: 'https://mcp.example/registry' }],
    ['MCP_BRIDGE_CATALOGS', '/a.yaml, ~/b', { catalogs: ['/a.yaml', '/home/ada/b'] }],
    ['MCP_BRIDGE_OCI_RUNTIME', '/usr/bin/runsc', { ociRuntime: '/usr/bin/runsc' }],
    ['MCP_BRIDGE_TIMEOUT', '2m', { timeoutSeconds: 120 }],
    ['MCP_BRIDGE_TIMEOUT', '5000ms', { timeoutSeconds: 5 }],
    ['MCP_BRIDGE_MAX_TIMEOUT', '24h', { maxTimeoutSeconds: 86_400 }],
    ['MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT', '500ms', { idleTimeoutMs: 500 }],
    ['MCP_BRIDGE_CHECKPOINT', 'idle', { checkpoint: 'idle' }],
    ['MCP_BRIDGE_APPROVAL_TIMEOUT', '10m', { approvalTimeoutMs: 600_000 }],
    ['MCP_BRIDGE_ANSWER_WITHIN', '50s', { answerWithin: 50_000 }],
    ['MCP_BRIDGE_ANSWER_WITHIN', 'OFF', { answerWithin: 'off' }],
    ['MCP_BRIDGE_MEMORY', '2g', { memoryBytes: 2_147_483_648 }],
    ['MCP_BRIDGE_PIDS', '64', { pids: 64 }],
    ['MCP_BRIDGE_CPUS', '0.5', { cpus: 0.5 }],
    ['MCP_BRIDGE_CONTAINER_USER', '1000', { containerUser: '1000' }],
    ['MCP_BRIDGE_CONTAINER_USER', '655330:65533', { containerUser: '655330:65533' }],
    ['MCP_BRIDGE_STATE_DIR', '/var/lib/bridge', { stateDir: '/var/lib/bridge' }],
    ['MCP_BRIDGE_STATE_DIR', '~', { stateDir: '/home/ada' }],
    ['MCP_BRIDGE_STATE_DIR', '~grace/x', { stateDir: `${process.cwd()}/~grace/x` }],
    ['MCP_SERVERS_CONFIG', '~/more.json', { serversConfig: '/home/ada/more.json' }],
    ['MCP_BRIDGE_OUTPUT_MODE', 'toon', { outputMode: 'toon' }],
    [
      'MCP_BRIDGE_MOUNTS',
      '/srv/a:/data, C:\\b:/more/:rw',
      {
        mounts: [
          { source: '/srv/a', target: '/data', isWritable: false },
          { source: 'C:\\b', target: '/more', isWritable: true },
        ],
      },
    ],
    ['MCP_BRIDGE_MAX_OUTPUT', '1000', { maxOutputChars: 1_000 }],
    ['MCP_BRIDGE_LOG_LEVEL', 'debug', { logLevel: 'DEBUG' }],
    ['MCP_BRIDGE_LOG_LEVEL', 'CRITICAL', { logLevel: 'ERROR' }],
    ['MCP_BRIDGE_AUTOLOAD', '1', { autoload: true }],
    ['MCP_BRIDGE_PIN', 'Strict', { pin: 'strict' }],
    ['MCP_BRIDGE_MASK_SECRETS', '0', { masksSecrets: false }],
    ['MCP_BRIDGE_ALLOW_SELF_SERVER', '1', { allowSelfServer: true }],
    ['MCP_BRIDGE_ALLOW_SELF_SERVER', 'false', { allowSelfServer: false }],
  ])('%s=%s', (variable, text, expected) => {
    expect(loadSettings({ ...HOME, [variable]: text })).toMatchObject(expected);
  });
});

describe('refused values', () => {
  test.each([
    ['MCP_BRIDGE_RUNTIME', 'lxc'],
    ['MCP_BRIDGE_IMAGE', '--privileged'],
    ['MCP_BRIDGE_IMAGE', 'python:3 -v /:/h'],
    ['MCP_BRIDGE_PULL', 'always'],
    ['MCP_BRIDGE_OCI_RUNTIME', '-x'],
    ['MCP_BRIDGE_TIMEOUT', '0'],
    ['MCP_BRIDGE_TIMEOUT', '1500ms'],
    ['MCP_BRIDGE_TIMEOUT', 'soon'],
    ['MCP_BRIDGE_MAX_TIMEOUT', '25h'],
    ['MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT', '0'],
    ['MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT', '600h'],
    ['MCP_BRIDGE_APPROVAL_TIMEOUT', '0'],
    ['MCP_BRIDGE_MEMORY', '512m --privileged'],
    ['MCP_BRIDGE_MEMORY', '4m'],
    ['MCP_BRIDGE_PIDS', '-1'],
    ['MCP_BRIDGE_PIDS', '1.5'],
    ['MCP_BRIDGE_CPUS', '0'],
    ['MCP_BRIDGE_CPUS', 'two'],
    ['MCP_BRIDGE_CONTAINER_USER', '0'],
    ['MCP_BRIDGE_CONTAINER_USER', '1000:0'],
    ['MCP_BRIDGE_CONTAINER_USER', '65533'],
    ['MCP_BRIDGE_CONTAINER_USER', '65533:1000'],
    ['MCP_BRIDGE_CONTAINER_USER', 'root'],
    ['MCP_BRIDGE_OUTPUT_MODE', 'xml'],
    ['MCP_BRIDGE_LOG_LEVEL', 'LOUD'],
    ['MCP_BRIDGE_ALLOW_SELF_SERVER', '2'],
  ])('%s=%s', (variable, text) => {
    const allowed = SETTINGS_TABLE.find((setting) => setting.variable === variable)?.allowed;
    expect(refusal({ [variable]: text })).toBe(`${variable} is '${text}'; allowed: ${allowed}.`);
  });

  test('cuts a reason that repeats the value', () => {
    const message = refusal({ MCP_BRIDGE_CONFIG_SOURCES: 'x'.repeat(100_000) });
    expect(message.length).toBeLessThan(1_000);
  });

  test('refuses a deadline above the longest allowed', () => {
    expect(refusal({ MCP_BRIDGE_TIMEOUT: '200' })).toBe(
      'MCP_BRIDGE_TIMEOUT is 200 seconds; allowed: at most MCP_BRIDGE_MAX_TIMEOUT, which is 120 seconds.',
    );
    expect(loadSettings({ ...HOME, MCP_BRIDGE_MAX_TIMEOUT: '10' }).timeoutSeconds).toBe(10);
  });

  test('reports all of them at once, with a next step', () => {
    const env = { MCP_BRIDGE_TIMEOUT: 'soon', MCP_BRIDGE_PIDS: 'many\u001b[31m' };
    expect(refusal(env)).toBe(
      '2 settings are invalid:\n' +
        "  MCP_BRIDGE_TIMEOUT is 'soon'; allowed: whole seconds from 1s to 24h, such as 30, 30s or 2m.\n" +
        "  MCP_BRIDGE_PIDS is 'many\\x1b[31m'; allowed: a whole number from 8 to 4194304.",
    );
    expect(() => loadSettings(env)).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('Correct or remove it') }),
    );
    expect(ERROR_CODES.CONFIG_INVALID.exitCode).toBe(78);
  });

  test('cuts long values', () => {
    expect(refusal({ MCP_BRIDGE_IMAGE: '-'.repeat(5000) }).length).toBeLessThan(300);
  });
});

test('reports misspelled variables with a suggestion', async () => {
  const env = { MCP_BRIDGE_TIMOUT: '3', MCP_BRIDGE_DEPTH: '1', MCP_BRIDGE_TIMEOUT: '3', PATH: '/bin' };
  expect(await describeUnknownVariables(env)).toEqual([
    expect.stringMatching(
      /^MCP_BRIDGE_TIMOUT is set, but there is no such setting\. Did you mean 'MCP_BRIDGE_TIMEOUT'/,
    ),
  ]);
});

test('reports a removed setting, and what applies instead', async () => {
  expect(await describeUnknownVariables({ MCP_BRIDGE_KEYRING: 'auto' })).toEqual([
    'MCP_BRIDGE_KEYRING is set, but this setting was removed: logins are always kept in files that only you can read.',
  ]);
});

test('renders the error like this', () => {
  expect(renderError(refused({ MCP_BRIDGE_PULL: 'always' }))).toBe(
    "CONFIG_INVALID: MCP_BRIDGE_PULL is 'always'; allowed: missing or never.\n" +
      'Hint: Correct or remove it where it is set, usually in the "env" of the entry that registers the bridge.',
  );
});
