/**
 * `npm run lab -- clients [NAME…]`: tests real clients from npm, each in an empty home. The client's own command registers a
 * server (and one for the folder, if that is the client's default), `install CLIENT --import` moves it, the client lists the
 * bridge as connected, a cell run by the command in the client's file calls the server, and `uninstall` restores the file.
 * Needs the built command and the npm registry.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { entryWords } from '../../src/app/install/own-entry.ts';
import { messageOf } from '../../src/core/base/errors.ts';
import { entriesAt, loadFormat } from '../../src/edges/clients/format.ts';
import { clientOf } from '../../src/edges/clients/table.ts';
import { CLI, fixtureServer } from '../support/bridge-client.ts';
import { INSPECTOR, QUIET, TESTED_CLIENTS, type TestedClient } from './clients.ts';

const CLIENT_LIMIT_MS = 120_000;
const SERVER = 'notes';
const FOLDER_SERVER = 'diary';
const run = promisify(execFile);

const names = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), 'clients-'));
const bin = join(work, 'node_modules', '.bin');
let passed = 0;
let failed = 0;

try {
  install([...chosen().map(({ spec }) => spec), INSPECTOR.spec]);
  for (const client of chosen()) {
    await testClient(client);
  }
} catch (error) {
  failed += 1;
  console.error(`clients: failed: the clients could not be installed: ${messageOf(error)}`);
} finally {
  // A client that is ending may still write its files.
  rmSync(work, { recursive: true, force: true, maxRetries: 10, retryDelay: 500 });
}
console.log(`clients: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

function chosen(): readonly TestedClient[] {
  return names.length === 0 ? TESTED_CLIENTS : TESTED_CLIENTS.filter(({ id }) => names.includes(id));
}

function install(specs: readonly string[]): void {
  writeFileSync(join(work, 'package.json'), '{"private": true}');
  // With their scripts, which install the program for this system.
  const flags = ['--no-audit', '--no-fund', '--loglevel=error'];
  // One of them creates folders in the home. npm's settings and cache stay where they are.
  const { npm_config_userconfig = join(homedir(), '.npmrc'), npm_config_cache = join(homedir(), '.npm') } = process.env;
  const env = { ...process.env, HOME: work, npm_config_userconfig, npm_config_cache };
  execFileSync('npm', ['install', ...flags, ...specs], { cwd: work, env, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** One client in one home. A failure ends it, because each step needs the one before. */
async function testClient(client: TestedClient): Promise<void> {
  const { id, isStarting, program } = client;
  const finds = isStarting ? 'connects to' : 'lists';
  const home = join(work, `home of ${id}`);
  const folder = join(home, 'project');
  mkdirSync(folder, { recursive: true });
  const env = {
    ...QUIET,
    HOME: home,
    TMPDIR: work,
    PATH: [bin, process.env['PATH']].join(delimiter),
    MCP_BRIDGE_RUNTIME: 'embedded',
  };
  const start = async (command: string, ...args: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await run(command, args, { cwd: folder, env, timeout: CLIENT_LIMIT_MS });
    return stripVTControlCharacters(stdout + stderr);
  };
  const bridge = (...args: string[]) => start(process.execPath, CLI, ...args);
  const file = join(home, client.file);
  const read = () => readFileSync(file, 'utf8');
  const { command, args = [] } = fixtureServer('echo.mjs');
  const servers = client.addToFolder === undefined ? [SERVER] : [SERVER, FOLDER_SERVER];
  const hasAny = (text: string) => servers.some((name) => text.includes(name));
  const saysAll = (listed: string) => servers.every((name) => client.says(name).test(listed));

  const steps: [string, () => Promise<boolean>][] = [
    [
      `registers a server with its own command, and ${finds} it`,
      async () => {
        await start(program, ...client.add(SERVER, [command, ...args]));
        if (client.addToFolder !== undefined) {
          await start(program, ...client.addToFolder(FOLDER_SERVER, [command, ...args]));
        }
        return saysAll(await start(program, ...client.list));
      },
    ],
    [
      'has its file restored byte for byte after install --import and uninstall',
      async () => {
        const before = read();
        await bridge('install', id, '--import');
        const changed = read();
        await bridge('uninstall', id);
        return changed !== before && !hasAny(changed) && read() === before;
      },
    ],
    [
      `${finds} the bridge, and no longer lists the server that moved`,
      async () => {
        const said = await bridge('install', id, '--import');
        const listed = await start(program, ...client.list);
        return (
          said.includes(`Code can call: ${servers.join(', ')}.`) && client.says('code').test(listed) && !hasAny(listed)
        );
      },
    ],
    [
      'has an entry whose bridge lets a cell call that server',
      async () => {
        const printed = servers.map((name) => `from ${name}\n`).join('');
        return (await callRegistered(client, file, { env, servers })) === printed;
      },
    ],
    ...(clientOf(id).keys[0] === 'mcpServers'
      ? [
          [
            'has an entry that the MCP Inspector can use',
            async () => {
              const { mcpServers } = JSON.parse(read()) as { mcpServers: { code: { env?: object } } };
              // The Inspector passes on none of its variables, and this home has no image.
              const code = { ...mcpServers.code, env: { ...mcpServers.code.env, MCP_BRIDGE_RUNTIME: 'embedded' } };
              const inspected = join(home, 'inspected.json');
              writeFileSync(inspected, JSON.stringify({ mcpServers: { code } }));
              const how = [
                '--cli',
                '--config',
                inspected,
                '--server',
                'code',
                '--method',
                'tools/call',
                '--tool-name',
                'run_python',
              ];
              const said = await start(INSPECTOR.program, ...how, '--tool-arg', 'code=6 * 7');
              // The answer may start with which engine was used and why.
              return /"text": ".*42"/.test(said);
            },
          ] satisfies [string, () => Promise<boolean>],
        ]
      : []),
    [
      `${finds} its own server again after uninstall`,
      async () => {
        await bridge('uninstall', id);
        const listed = await start(program, ...client.list);
        return saysAll(listed) && !client.says('code').test(listed);
      },
    ],
  ];
  for (const [what, step] of steps) {
    const reason = await step().then((isGood) => (isGood ? undefined : 'it does not'), messageOf);
    if (reason !== undefined) {
      failed += 1;
      console.error(`clients: failed: ${client.spec} ${what}: ${reason}`);
      return;
    }
    passed += 1;
    console.log(`clients: ok: ${client.spec} ${what}`);
  }
}

/** What a cell prints in the bridge that the entry in the file starts. */
async function callRegistered(
  { id }: TestedClient,
  file: string,
  { env, servers }: { readonly env: Record<string, string>; readonly servers: string[] },
): Promise<string> {
  const { format, keys } = clientOf(id);
  const root = (await loadFormat(format)).parse(readFileSync(file, 'utf8'));
  const [command = '', ...args] = entryWords(entriesAt(root, keys)?.['code']);
  const client = new Client({ name: 'test', version: '1' });
  // Split in the code, so that only the output contains the words together.
  const code = servers.map((name) => `print(await mcp_${name}.echo(text="from " + "${name}"))`).join('\n');
  await client.connect(new StdioClientTransport({ command, args, env, stderr: 'ignore' }));
  try {
    const answer = await client.callTool({
      name: 'run_python',
      arguments: { code, servers, timeout: 60 },
    });
    const [content] = answer.content as { text?: string }[];
    return (content?.text ?? '')
      .split('\n')
      .filter((line) => line.startsWith('from '))
      .join('\n')
      .concat('\n');
  } finally {
    await client.close();
  }
}
