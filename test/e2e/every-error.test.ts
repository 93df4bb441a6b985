// Tags: anywhere, full
/**
 * Provokes each error of the table, as closely as possible to how users meet it: through the built command with a real client
 * and real servers, with engines that fail on purpose, and, if only time or size could cause it, in the module that raises it.
 * An entry returns the text that was shown, and says what its message must contain.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERROR_PAGES } from '../../src/app/cli/help/error-texts.ts';
import { ERROR_CODES, type ErrorCode } from '../../src/core/base/errors.ts';
import { encodeFrame } from '../../src/core/protocol/codec.ts';
import { type BridgeClient, CLI, fixtureServer, packageServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { type Received, startFront } from '../support/http-front.ts';
import {
  BAD_FRAME,
  cancelledCall,
  cancelledCell,
  command,
  refusal,
  sentBefore,
  slowPull,
  tooManySessions,
  withEngine,
} from '../support/provocations.ts';

interface Provocation {
  /** Provokes the error; resolves with everything that was shown. */
  readonly provoke: () => Promise<string>;
  /** Value, limit and unit, or whatever else the message must contain. */
  readonly names: RegExp;
}

const [engine] = await coverEngines();
let bridge: BridgeClient;
let locked: Server;

const POLICY = {
  rules: [
    { effect: 'deny', server: 'echo', tool: 'process' },
    { effect: 'ask', server: 'echo', tool: ['request', 'unknown_content'] },
  ],
  limits: [{ server: 'echo', tool: 'structured', callsPerCell: 1 }],
};

function writeState(folder: string): void {
  const unusable = { command: 'no-such-server-command' };
  const servers = {
    echo: fixtureServer('echo.mjs'),
    crashing: fixtureServer('crashing.mjs'),
    chatty: fixtureServer('chatty.mjs'),
    slow: { ...fixtureServer('never-answers.mjs'), timeout: 1 },
    cat: { ...fixtureServer('turncoat.mjs', join(folder, 'turncoat')), pin: 'strict' },
    huge: fixtureServer('huge-output.mjs'),
    memory: packageServer('@modelcontextprotocol/server-memory', [], { MEMORY_FILE_PATH: join(folder, 'm.jsonl') }),
    unusable,
    keyless: { ...fixtureServer('echo.mjs'), env: { API_KEY: '${file:/nonexistent/key}' } },
    // Port 9 (discard), which is not open.
    away: { url: 'http://127.0.0.1:9/mcp' },
    locked: { url: lockedUrl() },
  };
  writeFileSync(join(folder, 'policy.json'), JSON.stringify(POLICY));
  writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: servers }));
}

/** The text that a cell shows; `loaded` are its servers. */
async function cell(code: string, loaded: readonly string[] = [], more: Record<string, unknown> = {}): Promise<string> {
  return String((await bridge.runPython(code, { servers: loaded, ...more })).structured['error']);
}

/** A state directory with one server that requires a login but offers none. */
function writeLocked(folder: string): void {
  writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: { locked: { url: lockedUrl() } } }));
}

function lockedUrl(): string {
  return `http://127.0.0.1:${(locked.address() as AddressInfo).port}/mcp`;
}

/** A cell of a client whose user answers with `reply`. */
async function askedCell(reply: 'decline' | 'nothing'): Promise<string> {
  const client = new Client({ name: 'asked', version: '1' }, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler('elicitation/create', () =>
    reply === 'nothing' ? new Promise(() => undefined) : { action: reply },
  );
  const env = { ...engine?.env, MCP_BRIDGE_STATE_DIR: bridge.folder, MCP_BRIDGE_APPROVAL_TIMEOUT: '1s' };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [CLI], env, stderr: 'ignore' }));
  try {
    const code = 'await mcp_echo.request()';
    const result = await client.callTool({ name: 'run_python', arguments: { code, servers: ['echo'] } });
    return JSON.stringify(result.structuredContent).replaceAll('\\n', '\n');
  } finally {
    await client.close();
  }
}

async function unrecordedCall(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-recording-'));
  const env = { ...engine?.env, MCP_BRIDGE_RECORD: folder };
  const exec = (args: readonly string[], text: string): Promise<string> =>
    command(['exec', ...args, '--server', 'echo', '-c', `await mcp_echo.echo(text='${text}')`], env, (stateDir) =>
      writeFileSync(
        join(stateDir, 'servers.json'),
        JSON.stringify({ mcpServers: { echo: fixtureServer('echo.mjs') } }),
      ),
    );
  try {
    await exec([], 'a');
    return await exec(['--replay', join(folder, readdirSync(folder)[0] ?? '')], 'b');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The bridge notices a change within a second. */
async function changedTool(): Promise<string> {
  const code = `
import asyncio
await mcp_cat.look()
await mcp_cat.become(look={'description': 'Looks elsewhere.'}, announce=True)
for _ in range(200):
    await asyncio.sleep(0.1)
    await mcp_cat.look()`;
  return cell(code, ['cat']);
}

async function busyHttpServer(): Promise<string> {
  const front = await startFront({ limits: { maxRequestsPerSecond: 1 } });
  const sent = await Promise.all(Array.from({ length: 10 }, () => front.send({ method: 'PUT' })));
  return errorOf(sent.find(({ status }) => status === 429));
}

async function refusedByHttpServer(): Promise<string> {
  const front = await startFront();
  return errorOf(await front.send({ method: 'GET', headers: { Host: 'evil.example' } }));
}

function errorOf(received: Received | undefined): string {
  const error = received?.message['error'] as { readonly message: string } | undefined;
  return error?.message ?? 'nothing was refused';
}

/** One entry per code; the first test lists missing ones. */
const PROVOKED: Readonly<Partial<Record<ErrorCode, Provocation>>> = {
  ARGUMENT_INVALID: {
    provoke: () => cell('1', [], { timeout: 9_999 }),
    names: /`timeout` is 9999; .* seconds from 1 to 120/,
  },
  USAGE_INVALID: { provoke: () => command(['exce']), names: /'exce'.*exec/ },
  CONFIG_INVALID: {
    provoke: () => command(['servers'], { MCP_BRIDGE_TIMEOUT: 'soon' }),
    names: /MCP_BRIDGE_TIMEOUT is 'soon'; allowed: .*1s to 24h/,
  },
  ENGINE_UNAVAILABLE: { provoke: () => withEngine('dead-podman'), names: /podman.*unable to connect/ },
  ENGINE_FAILED: { provoke: () => withEngine('silent'), names: /podman.*exit code 0/ },
  IMAGE_MISSING: {
    provoke: () => withEngine('pulling', { MCP_BRIDGE_PULL: 'never' }),
    names: /python:3\.14-slim .*podman/,
  },
  IMAGE_PULLING: { provoke: slowPull, names: /0\.02 s/ },
  IMAGE_UNSUITABLE: { provoke: () => withEngine('pythonless'), names: /python:3\.14-slim has no python3/ },
  SESSION_START_TIMEOUT: { provoke: () => withEngine('hanging', {}, ['--timeout', '1']), names: /within \d+ s/ },
  SESSION_LOST: {
    provoke: () => cell('import os\nos._exit(3)', [], { session: 'lost' }),
    names: /ended while the cell ran: /,
  },
  SESSION_LIMIT: { provoke: tooManySessions, names: /16 sessions are running/ },
  HTTP_BUSY: { provoke: busyHttpServer, names: /more than 1 requests per second/ },
  HTTP_REFUSED: { provoke: refusedByHttpServer, names: /Host evil\.example/ },
  CHECK_FAILED: {
    provoke: () => cell('await mcp_memory.no_such_tool()', ['memory']),
    names: /1 mistake[^]*no_such_tool/,
  },
  CELL_DEADLINE: { provoke: () => cell('import time\ntime.sleep(30)', [], { timeout: 1 }), names: /deadline of 1 s/ },
  CELL_CANCELLED: { provoke: cancelledCell, names: /client cancelled the cell/ },
  LIMIT_CALLS: {
    provoke: () =>
      cell('import asyncio\nfor _ in range(17): runtime.background(asyncio.sleep(30))', [], { session: 'jobs' }),
    names: /16 jobs are running/,
  },
  LIMIT_ARTIFACT: {
    provoke: () => cell("runtime.save_artifact('a.bin', bytes((64 << 20) + 1))"),
    names: /'a\.bin' .*67108864 bytes|67,108,864 bytes/,
  },
  LIMIT_FRAME: {
    provoke: () => cell("await mcp_echo.echo(text='x' * 9_000_000)", ['echo']),
    names: /a call frame has 9,000,\d+ bytes; the limit is 8,388,608 bytes/,
  },
  LIMIT_RESULT: {
    provoke: () => cell('await mcp_huge.line(mib=161)', ['huge'], { timeout: 60 }),
    names: /1\d{8} bytes; the limit is \d+ bytes/,
  },
  PROTOCOL_VIOLATION: { provoke: () => cell(BAD_FRAME), names: /hello: missing .*protocol_version/ },
  CALL_REFUSED: {
    provoke: () => cell("runtime.save_artifact('a/b', b'x')"),
    names: /an artifact cannot have the name 'a\/b'/,
  },
  CALL_TIMEOUT: {
    provoke: () => cell('await mcp_slow.hang()', ['slow']),
    names: /'slow' did not answer 'hang' after 1 s/,
  },
  CALL_CANCELLED: { provoke: cancelledCall, names: /'slow' did not finish 'sleep': the call was cancelled/ },
  SERVER_NOT_AVAILABLE: {
    provoke: () => cell("await runtime.call_tool_raw('huge', 'line')", [], { session: 'bare' }),
    names: /Server 'huge' is not available: it is not loaded in this session/,
  },
  SERVER_UNKNOWN: {
    provoke: () => cell("await runtime.call_tool_raw('nowhere', 'x')"),
    names: /no server 'nowhere' is configured/,
  },
  SERVER_START_FAILED: {
    provoke: () => cell('await mcp_unusable.x()', ['unusable']),
    names: /'no-such-server-command' not found/,
  },
  SERVER_UNREACHABLE: { provoke: () => cell('await mcp_away.x()', ['away']), names: /127\.0\.0\.1:9/ },
  LOGIN_REQUIRED: { provoke: () => cell('await mcp_locked.x()', ['locked']), names: /'locked'/ },
  LOGIN_FAILED: {
    provoke: () => command(['servers', 'login', 'locked', '--no-browser', '--timeout', '1'], {}, writeLocked),
    names: /login at server 'locked' did not succeed: /,
  },
  SECRET_UNAVAILABLE: {
    provoke: () => cell("await mcp_keyless.echo(text='x')", ['keyless']),
    names: /'keyless'.*\/nonexistent\/key/,
  },
  SERVER_EXITED: {
    provoke: () => cell('await mcp_crashing.crash(code=7)', ['crashing']),
    names: /'crashing' exited before it answered \(exit code 7\)/,
  },
  SERVER_PROTOCOL: {
    provoke: () => cell('await mcp_chatty.broken()', ['chatty']),
    names: /'chatty' gave no usable answer to 'broken'/,
  },
  CAPABILITY_MISSING: {
    provoke: () => cell('await mcp_memory.list_prompts()', ['memory']),
    names: /'memory' offers no prompts/,
  },
  TOOL_UNKNOWN: {
    provoke: () => cell("await runtime.call_tool_raw('echo', 'nothing')", ['echo']),
    names: /'echo' has no tool 'nothing'/,
  },
  TOOL_ARGUMENT_INVALID: {
    provoke: () => cell("given = {'query': 5}\nawait mcp_memory.search_nodes(**given)", ['memory']),
    names: /query.*5/,
  },
  CALL_NOT_RECORDED: {
    provoke: unrecordedCall,
    names: /the recording has no call echo\.echo\(text="b"\)[^]*nearest is call 1: echo\.echo\(text="a"\)/,
  },
  OUTCOME_UNKNOWN: { provoke: sentBefore, names: /ledger\.record was sent before this run was interrupted/ },
  TOOL_CHANGED: { provoke: changedTool, names: /'look' of server 'cat'/ },
  TOOL_FAILED: {
    provoke: () => cell("await mcp_echo.fails(text='no more ink')", ['echo']),
    names: /echo\.fails: no more ink/,
  },
  ARTIFACT_UNKNOWN: {
    provoke: () => cell("runtime.load_artifact('none.txt')"),
    names: /session 'default' has saved no artifact 'none\.txt'/,
  },
  POLICY_DENIED: {
    provoke: () => cell("await runtime.call_tool_raw('echo', 'process')", ['echo']),
    names: /echo\.process was not called: rules\[0\] of .*policy\.json/,
  },
  POLICY_LIMIT: {
    provoke: () => cell('for _ in range(2): await mcp_echo.structured()', ['echo']),
    names: /echo|1 call/,
  },
  APPROVAL_DENIED: { provoke: () => askedCell('decline'), names: /echo\.request was not called: .*said no/ },
  APPROVAL_TIMEOUT: { provoke: () => askedCell('nothing'), names: /within 1 s/ },
  APPROVAL_UNAVAILABLE: {
    provoke: () => cell('await mcp_echo.request()', ['echo']),
    names: /echo\.request was not called/,
  },
  PACKAGE_UNAVAILABLE: {
    // Nothing listens on port 9.
    provoke: () =>
      command(['exec', '-c', 'await runtime.install("tiny-pkg")'], {
        ...engine?.env,
        MCP_BRIDGE_PACKAGES: 'any',
        MCP_BRIDGE_PACKAGES_NETWORK: 'host',
        MCP_BRIDGE_PACKAGES_STORE: 'bridge-test-packages-unused',
        PIP_INDEX_URL: 'http://127.0.0.1:9/simple',
      }),
    names: /cannot be reached/,
  },
  STATE_WRITE_FAILED: {
    provoke: () => {
      writeFileSync(join(bridge.folder, 'tools'), 'in the way');
      return cell('def f():\n    return 1\nruntime.save_tool(f)');
    },
    names: /could not be written to .*tools/,
  },
  AUDIT_UNAVAILABLE: {
    provoke: () => {
      const env = { ...engine?.env, MCP_BRIDGE_AUDIT: 'required' };
      return command(['exec', '-c', '1'], env, (folder) => writeFileSync(join(folder, 'audit'), 'in the way'));
    },
    names: /cannot be recorded: .*audit/,
  },
  INTERNAL: {
    provoke: async () =>
      refusal(Promise.resolve().then(() => encodeFrame({ type: 'answer', call: 1, ok: true, value: Number.NaN }))),
    names: /NaN/,
  },
};

it('every code of the table is provoked here', () => {
  expect(Object.keys(PROVOKED).toSorted()).toEqual(Object.keys(ERROR_CODES).toSorted());
});

if (engine !== undefined) {
  describe('every error', () => {
    beforeAll(async () => {
      locked = createServer((_, response) => response.writeHead(401, { 'www-authenticate': 'Bearer' }).end());
      await new Promise<void>((resolve) => locked.listen(0, '127.0.0.1', resolve));
      bridge = await startBridge({ engine, onLog: () => undefined });
      writeState(bridge.folder);
    });
    afterAll(async () => {
      if (engine?.isContainer) {
        await engine.run('volume', 'rm', '--force', 'bridge-test-packages-unused');
      }
      await bridge.close();
      locked.close();
    });

    it.each(Object.entries(PROVOKED))('%s', async (code, { provoke, names }) => {
      const shown = await provoke();
      expect(shown).toContain(`${code}: `);
      const text = shown.slice(shown.indexOf(`${code}: `));
      expect(text).toMatch(names);
      if (ERROR_PAGES[code as ErrorCode].hasHint) {
        expect(text).toMatch(/\nHint: \S/);
      }
    });
  });
}
