// Tags: full, fresh
/**
 * Our own scripts that attack the host from inside the WebAssembly sandbox, without any sandbox of the operating system and without
 * the kernel's precautions. A script succeeds if it has an effect: a host file read or written, the environment read, a process
 * started, a connection made, or a signal sent to the parent.
 */
import { randomUUID } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasPython, makeChildFolder, removeFolder, startChild } from '../../../../support/embedded-child.ts';

const FIXTURES = fileURLToPath(new URL('../../../../fixtures/embedded-attacks/', import.meta.url));
/** Fails the test if attacks get lost. */
const MIN_ATTACKS = 90;
/** Endless scripts are killed, as by a host at the deadline. */
const KILL_AFTER_MS = 10_000;
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGUSR1', 'SIGUSR2', 'SIGTERM'] as const;
const FILE_SECRET = `file-${randomUUID()}`;
const ENVIRONMENT_SECRET = `environment-${randomUUID()}`;

interface Attack {
  readonly name: string;
  readonly code: string;
}

const attacks = ['files', 'processes', 'interpreter'].flatMap((file) => readAttacks(file));
let hostFolder = '';
let childFolder = '';
let listener: Server;
let datagrams: Socket;
let connections = 0;
let signals = 0;

function readAttacks(file: string): Attack[] {
  const [, ...parts] = readFileSync(join(FIXTURES, `${file}.py`), 'utf8').split(/^#: /m);
  return parts.map((part) => {
    const end = part.indexOf('\n');
    return { name: `${file}: ${part.slice(0, end)}`, code: part.slice(end) };
  });
}

const countSignal = (): void => {
  signals += 1;
};

function address(server: Server): number {
  const where = server.address();
  return typeof where === 'object' && where !== null ? where.port : 0;
}

/** The current state of everything on the host that a script could change. */
function hostState(): unknown {
  const files = readdirSync(hostFolder, { recursive: true }).map(String).toSorted();
  return { files, canary: readFileSync(join(hostFolder, 'canary'), 'utf8'), connections, signals };
}

async function run({ code }: Attack): Promise<string> {
  const child = startChild(childFolder, { env: { CANARY: ENVIRONMENT_SECRET }, cwd: join(hostFolder, 'cwd') });
  const constants = { HOST: hostFolder, PORT: address(listener), PARENT: process.pid, SEED: 20_261_121 };
  const prefix = Object.entries(constants).map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`);
  child.process.stdin.write(`${Buffer.from(prefix.join('') + code).toString('hex')}\n`);
  // oxlint-disable-next-line eslint/no-restricted-globals -- a time limit.
  const timer = setTimeout(() => child.process.kill('SIGKILL'), KILL_AFTER_MS);
  const { stdout, stderr } = await child.ended;
  clearTimeout(timer);
  return `${stdout.toString('latin1')}\n${stderr}`;
}

if (!hasPython()) {
  it.skip('not covered: attacks on the embedded engine: dist/embedded is missing: run "npm run build"', () =>
    undefined);
}

describe.skipIf(!hasPython())('attacks from inside the embedded engine', () => {
  beforeAll(async () => {
    hostFolder = mkdtempSync(join(tmpdir(), 'bridge-host-'));
    mkdirSync(join(hostFolder, 'cwd'));
    writeFileSync(join(hostFolder, 'canary'), FILE_SECRET);
    childFolder = await makeChildFolder(join(FIXTURES, 'boot.py'));
    SIGNALS.forEach((signal) => process.on(signal, countSignal));
    listener = createServer((connection) => {
      connections += 1;
      connection.destroy();
    });
    await new Promise<void>((done) => {
      listener.listen(0, '127.0.0.1', done);
    });
    datagrams = createSocket('udp4', () => {
      connections += 1;
    });
    await new Promise<void>((done) => {
      datagrams.bind(address(listener), '127.0.0.1', done);
    });
  });

  afterAll(() => {
    SIGNALS.forEach((signal) => process.off(signal, countSignal));
    listener.close();
    datagrams.close();
    [hostFolder, childFolder].forEach(removeFolder);
  });

  it('are as many as documented, with unique names', () => {
    expect(attacks.length).toBeGreaterThanOrEqual(MIN_ATTACKS);
    expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length);
  });

  it('would be detected', async () => {
    const output = await run({ name: 'harmless', code: 'show("EFFECT", open("/workspace/f", "w").write("x"))' });
    expect(output).toContain("'EFFECT' 1");
    expect(output).toContain("('end', 'done')");
  });

  it.each(attacks)('$name', async (attack) => {
    const before = hostState();
    const output = await run(attack);
    expect(output).not.toContain('EFFECT');
    expect(output).not.toContain(FILE_SECRET);
    expect(output).not.toContain(ENVIRONMENT_SECRET);
    expect(output).not.toContain('SyntaxError');
    expect(hostState()).toEqual(before);
  });
});
