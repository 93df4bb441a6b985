/**
 * Programs from PyPI that run Python: FastMCP's code mode, smolagents' executor, Monty, and IPython, by itself and behind
 * jupyter-mcp-server. Those that are libraries run in the host programs beside this file.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openHost } from '../line-host.ts';
import { openProgram, plainEnvironment } from '../mcp-program.ts';
import { CALLS_AT_ONCE, type Neighbour, type Place, type Servers } from '../neighbour.ts';

const SERVERS_FILE = 'servers.json';
const GATHER = `import asyncio
len(await asyncio.gather(*[echo(text="x") for _ in range(${CALLS_AT_ONCE})]))`;
const START_TRIES = 300;
const START_PAUSE_MS = 100;

async function writeServers({ home }: Place, servers: Servers): Promise<void> {
  await writeFile(join(home, SERVERS_FILE), JSON.stringify(servers));
}

function host(file: string, { home, python }: Place, ...args: string[]) {
  const script = fileURLToPath(new URL(file, import.meta.url));
  return { command: python, args: [script, ...args], cwd: home, env: plainEnvironment(home) };
}

/** A library in a program of ours. It has no definitions of tools; the host that embeds it writes them. */
async function openLibrary(file: string, place: Place, ...args: string[]) {
  const { ask, close } = openHost(host(file, place, ...args));
  const cell = async (code: string) => String(await ask({ code }));
  // Its answer shows that it has started.
  await cell('None');
  return { cell, close, add: () => cell('1 + 1') };
}

export const fastmcpCodeMode: Neighbour = {
  name: 'FastMCP code mode',
  registry: 'pypi',
  packages: { 'fastmcp[code-mode]': '4.1.6' },
  licence: 'Apache-2.0',
  language: 'Python, of Monty',
  isolation: 'an interpreter in Rust',
  prepare: writeServers,
  async open(place) {
    const mcp = await openProgram(host('fastmcp_server.py', place, SERVERS_FILE));
    const cell = (code: string) => mcp.call('execute', { code });
    const call = `call_tool("echo", {"text": "x"})`;
    return {
      definitions: mcp.definitions,
      cell,
      add: () => cell('return 1 + 1'),
      calls: {
        one: () => cell(`return await ${call}`),
        fifty: () =>
          cell(`import asyncio\nreturn len(await asyncio.gather(*[${call} for _ in range(${CALLS_AT_ONCE})]))`),
      },
      close: mcp.close,
    };
  },
};

export const monty: Neighbour = {
  name: 'Monty',
  registry: 'pypi',
  packages: { 'pydantic-monty': '1.4.0', mcp: '2.3.0' },
  licence: 'MIT',
  language: 'Python, in part',
  isolation: 'an interpreter in Rust, in a child process',
  prepare: writeServers,
  async open(place) {
    const library = await openLibrary('monty_host.py', place, SERVERS_FILE);
    return {
      ...library,
      calls: { one: () => library.cell('await echo(text="x")'), fifty: () => library.cell(GATHER) },
    };
  },
};

export const smolagents: Neighbour = {
  name: 'smolagents, local executor',
  registry: 'pypi',
  // Its adapter for MCP does not work with the SDK's version 2.
  packages: { 'smolagents[mcp]': '1.26.0', mcp: '1.30.0' },
  licence: 'Apache-2.0',
  language: 'Python, in part',
  isolation: 'an interpreter in the process',
  prepare: writeServers,
  async open(place) {
    const library = await openLibrary('smolagents_host.py', place, SERVERS_FILE);
    return {
      ...library,
      calls: {
        one: () => library.cell('echo(text="x")'),
        // Its functions answer at once, so calls follow each other.
        fifty: () => library.cell(`len([echo(text="x") for _ in range(${CALLS_AT_ONCE})])`),
      },
    };
  },
};

export const ipython: Neighbour = {
  name: 'IPython kernel',
  registry: 'pypi',
  packages: { ipykernel: '7.4.0', 'jupyter-client': '8.10.0' },
  licence: 'BSD-3-Clause',
  language: 'Python',
  isolation: 'a child process',
  prepare: async () => undefined,
  open: (place) => openLibrary('ipython_host.py', place),
};

export const jupyterMcpServer: Neighbour = {
  name: 'jupyter-mcp-server',
  registry: 'pypi',
  packages: { 'jupyter-mcp-server': '2.2.4', ipykernel: '7.4.0' },
  licence: 'BSD-3-Clause',
  language: 'Python',
  isolation: 'a child process',
  prepare: async () => undefined,
  async open({ folder, home, python }) {
    const env = { ...plainEnvironment(home), PATH: `${join(python, '..')}:${process.env['PATH'] ?? ''}` };
    const port = await freePort();
    const token = 'bench';
    const options = [`--ServerApp.port=${port}`, '--ServerApp.ip=127.0.0.1', `--IdentityProvider.token=${token}`];
    const jupyter = spawn(python, ['-m', 'jupyter_server', ...options, '--no-browser', '--allow-root'], {
      cwd: home,
      env,
      stdio: 'ignore',
    });
    const ended = once(jupyter, 'close');
    const url = `http://127.0.0.1:${port}`;
    try {
      await untilAnswers(`${url}/api/status?token=${token}`);
      const mcp = await openProgram({
        command: join(folder, 'venv/bin/jupyter-mcp-server'),
        cwd: home,
        env: { ...env, JUPYTER_URL: url, JUPYTER_TOKEN: token, ALLOW_IMG_OUTPUT: 'true' },
      });
      const cell = (code: string) => mcp.call('execute_code', { code });
      return {
        definitions: mcp.definitions,
        cell,
        add: () => cell('1 + 1'),
        async close() {
          await mcp.close();
          jupyter.kill();
          await ended;
        },
      };
    } catch (error) {
      jupyter.kill();
      throw error;
    }
  },
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') {
    throw new Error('the system gave no port');
  }
  return address.port;
}

async function untilAnswers(url: string): Promise<void> {
  for (let left = START_TRIES; left > 0; left -= 1) {
    if (
      await fetch(url).then(
        ({ ok }) => ok,
        () => false,
      )
    ) {
      return;
    }
    await sleep(START_PAUSE_MS);
  }
  throw new Error('the Jupyter server did not start');
}
