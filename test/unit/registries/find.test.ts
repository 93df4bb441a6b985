/** Finding servers in a registry on this machine, its copy, and catalogs in files; with a registry that is hostile, slow or gone. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DeclinedServers } from '../../../src/edges/registries/declined.ts';
import { describeNewServer, describeSources } from '../../../src/edges/registries/describe.ts';
import { planEntry } from '../../../src/edges/registries/entry.ts';
import { NewServers } from '../../../src/edges/registries/find.ts';
import { type RegisteredServer, startRegistry } from '../../support/registry-server.ts';

const npm = (identifier: string) => ({
  packages: [{ registryType: 'npm', identifier, version: '1.0.0', transport: { type: 'stdio' } }],
});
const MAIL: RegisteredServer = {
  name: 'io.github.acme/mail',
  description: 'Reads and sends mail',
  ...npm('@acme/mail'),
};
const MAPS: RegisteredServer = { name: 'io.github.acme/maps', description: 'Routes', ...npm('@acme/maps') };

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-find-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function setUp(servers: RegisteredServer[], api?: 'v0' | 'v0.1') {
  const registry = await startRegistry(servers, { ...(api && { api }) });
  onTestFinished(() => registry.close());
  const stateDir = newFolder();
  // Each is a process of its own: nothing but the copy is shared.
  const open = (more = {}) => new NewServers({ stateDir, registry: registry.url, ...more }, {});
  const names = async (query: string, limit = 10) =>
    (await open().search(query, limit)).servers.map(({ server }) => server.name);
  return { registry, stateDir, open, names };
}

describe('a registry', () => {
  it('is asked for each telling word, and the best match comes first', async () => {
    const { names, registry } = await setUp([
      MAPS,
      MAIL,
      { ...MAIL, name: 'io.github.acme/mailbox', status: 'deprecated' },
    ]);
    expect(await names('a server to send mail')).toEqual(['io.github.acme/mail', 'io.github.acme/mailbox']);
    expect(registry.requests).toEqual(
      ['send', 'mail'].map((word) => `/v0.1/servers?search=${word}&version=latest&limit=100`),
    );
    expect(await names('mail', 1)).toEqual(['io.github.acme/mail']);
  });

  it('may have only the older API', async () => {
    const { names } = await setUp([MAIL], 'v0');
    expect(await names('mail')).toEqual(['io.github.acme/mail']);
  });

  it('leaves a copy, which answers with its date when the registry is gone', async () => {
    const { names, open, registry } = await setUp([MAIL, MAPS]);
    expect(describeSources(await open().search('maps', 5))[0]).toMatch(/^From http:.*, as of 20\d\d-/);
    await names('mail');
    registry.answer = (_, response) => void response.writeHead(503).end();
    const found = await open().search('mail', 5);
    expect(found.servers.map(({ server }) => server.name)).toEqual(['io.github.acme/mail']);
    expect(describeSources(found)).toEqual([
      expect.stringMatching(/answered with HTTP 503\. From the copy of 20\d\d-.* UTC\.$/),
    ]);
    await registry.close();
    expect(describeSources(await open().search('maps', 5))).toEqual([
      expect.stringMatching(/could not be asked.*copy of 20/),
    ]);
  });

  it('that was never reached has no copy', async () => {
    const { open, registry } = await setUp([]);
    await registry.close();
    expect(describeSources(await open().search('mail', 5))).toEqual([
      expect.stringMatching(/could not be asked: .*There is no copy\.$/),
    ]);
    await expect(open().lookUp('io.github.acme/mail')).rejects.toThrow(/no registry or catalog has a server/);
  });

  it('is not asked again for the same word within minutes', async () => {
    const { open, registry } = await setUp([MAIL]);
    const servers = open();
    await servers.search('mail', 5);
    await servers.search('mail', 5);
    await servers.search('nothing', 5);
    await servers.search('nothing', 5);
    expect(registry.requests).toHaveLength(2);
  });

  it.each<[string, (write: (text: string) => void) => void, RegExp]>([
    ['a huge page', (write) => write(`{"servers":["${'x'.repeat(5 << 20)}"]}`), /more than 4194304 bytes/],
    ['deep nesting', (write) => write('['.repeat(100_000)), /nested deeper/],
    ['no JSON', (write) => write('<html>'), /is not JSON/],
    ['no list', (write) => write('{"servers":7}'), /not a list of servers/],
  ])('that sends %s is not believed', async (_what, send, problem) => {
    const { open, registry } = await setUp([]);
    registry.answer = (_, response) => send((text) => void response.end(text));
    expect(describeSources(await open().search('mail', 5))[0]).toMatch(problem);
  });

  it('with endless cursors and 10,000 entries is read a few pages far', async () => {
    const { open, registry } = await setUp([]);
    let page = 0;
    registry.answer = (_, response) => {
      page += 1;
      const servers = Array.from({ length: 300 }, (_one, index) => ({
        server: { ...MAIL, name: `a/mail-${page}-${index}`, version: '1' },
      }));
      response.end(JSON.stringify({ servers, metadata: { nextCursor: String(page) } }));
    };
    expect((await open().search('mail', 1_000)).servers).toHaveLength(500);
    expect(page).toBe(2);
    registry.answer = (_, response) => {
      page += 1;
      response.end(JSON.stringify({ servers: [], metadata: { nextCursor: 'same' } }));
    };
    page = 0;
    await open().search('mail', 5);
    expect(page).toBe(2);
  });

  it('cannot pass one name for another', async () => {
    const { names, open } = await setUp([
      MAIL,
      { ...MAIL, name: 'io.github.acrne/mail' },
      { ...MAIL, name: 'io.github.аcme/mail' },
      { ...MAIL, name: 'io.github.Acme/mail' },
    ]);
    expect((await names('mail')).toSorted()).toEqual([
      'io.github.Acme/mail',
      'io.github.acme/mail',
      'io.github.acrne/mail',
    ]);
    const { servers } = await open().search('mail', 5);
    expect(servers.map((one) => describeNewServer(one)['warning'])).toEqual(
      servers.map(() => expect.stringContaining('its name looks like that of')),
    );
    expect((await open().lookUp('io.github.acme/mail')).server.name).toBe('io.github.acme/mail');
  });
});

describe('catalogs', () => {
  it('of Docker, with secrets, variables, settings and folders', async () => {
    const { open, stateDir } = await setUp([]);
    const file = join(stateDir, 'catalog.yaml');
    const digest = `sha256:${'b'.repeat(64)}`;
    writeFileSync(
      file,
      `registry:
  files:
    title: Files
    description: Local files.
    image: mcp/files@${digest}
    upstream: https://github.com/acme/files
    command: ["{{files.paths|volume-target|into}}"]
    volumes: ["{{files.paths|volume|into}}"]
    secrets: [{ name: files.key, env: FILES_KEY, example: k }]
    env: [{ name: LEVEL, value: "{{files.level}}" }]
    metadata: { pulls: 1200, owner: acme }
  loose: { title: Loose files, description: Files, image: "mcp/loose" }
  far:
    title: Far files
    description: Files
    remote: { url: "https://far.example/mcp", transport_type: sse, headers: { Authorization: "Bearer \${FAR_KEY}" } }
    secrets: [{ name: far.key, env: FAR_KEY }]
  own: { title: Own files, description: Files, image: "mcp/own@${digest}", volumes: ["/:/host"] }
`,
    );
    const { servers } = await open({ registry: 'off', catalogs: [file] }).search('files', 10);
    const found = Object.fromEntries(servers.map((one) => [one.server.name, describeNewServer(one)]));
    expect(found['files']).toMatchObject({
      publisher: 'acme',
      kind: 'oci',
      runs: `docker run -i --rm -e FILES_KEY -e LEVEL -v '<files.paths>:<files.paths>' mcp/files@${digest} <files.paths>`,
      mounts: ['<files.paths>:<files.paths>'],
      users: 1200,
      source: file,
    });
    expect(found['files']?.['needs']).toMatchObject([
      { name: 'FILES_KEY', secret: true },
      { name: 'files.level' },
      { name: 'files.paths' },
    ]);
    expect(found['far']).toMatchObject({
      kind: 'remote',
      runs: 'https://far.example/mcp',
      needs: [{ name: 'FAR_KEY', secret: true }],
    });
    const far = servers.find((one) => one.server.name === 'far')?.server ?? expect.fail();
    expect(planEntry(far, { alias: 'far', values: {} }).entry).toMatchObject({
      type: 'sse',
      headers: { Authorization: 'Bearer ${secret:far.FAR_KEY}' },
    });
    expect(found['loose']?.['not_addable']).toMatch(/no version, which can be something else/);
    expect(found['own']?.['not_addable']).toMatch(/mounts a folder/);
  });

  it('in folders and files come before the registry, and a broken part does not hide the rest', async () => {
    const { open, registry, stateDir } = await setUp([MAIL]);
    const folder = join(stateDir, 'checkout');
    mkdirSync(join(folder, 'servers/mail'), { recursive: true });
    mkdirSync(join(folder, 'servers/broken'), { recursive: true });
    writeFileSync(
      join(folder, 'servers/mail/server.json'),
      JSON.stringify({ ...MAIL, description: 'Our mail', version: '9.0.0' }),
    );
    writeFileSync(join(folder, 'servers/broken/server.json'), '{');
    writeFileSync(
      join(folder, 'servers/broken/server.yaml'),
      'name: fax\nimage: mcp/fax\nabout: { title: Fax, description: Sends a fax }',
    );
    const servers = open({ catalogs: [folder, join(stateDir, 'missing.json')] });
    const { server } = await servers.lookUp('io.github.acme/mail');
    expect(server).toMatchObject({ description: 'Our mail', version: '9.0.0', origin: folder });
    const found = await servers.search('fax', 5);
    expect(found.servers.map((one) => one.server.title)).toEqual(['Fax']);
    expect(describeSources(found)).toEqual([
      expect.stringContaining('servers/broken/server.json could not be read'),
      expect.stringContaining('missing.json could not be read'),
      expect.stringContaining(`From ${registry.url}`),
    ]);
  });
});

it('nothing is searched with MCP_BRIDGE_REGISTRY=off and no catalog', async () => {
  const servers = new NewServers({ stateDir: newFolder(), registry: 'off' }, {});
  await expect(servers.search('mail', 5)).rejects.toThrow(/MCP_BRIDGE_REGISTRY is off/);
});

it('remembers what was declined, by name and version, until it is forgotten', async () => {
  const folder = newFolder();
  const declined = new DeclinedServers(folder);
  await declined.add('a/b', '1');
  expect(await declined.since('a/b', '1')).toMatch(/^20/);
  expect(await declined.since('a/b', '2')).toBeUndefined();
  expect(readdirSync(folder)).toEqual(['.declined-servers.json']);
  expect([await declined.forget('a/c'), await declined.forget('a/b')]).toEqual([0, 1]);
  expect(await declined.since('a/b', '1')).toBeUndefined();
});
