/** How the runner of the conformance clients reports how they ended. The processes are real and start as in the suite. */
import { exec } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type ClientRunner, createClientRunner } from '../../conformance/client-runner.ts';

const SCRIPT = `
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
console.error(scenario, process.argv.at(-1), process.env.MCP_CONFORMANCE_CONTEXT);
if (scenario === 'hangs') setInterval(() => undefined, 1000);
if (scenario === 'crashes') process.kill(process.pid, 'SIGKILL');
if (scenario === 'fails') process.exitCode = 3;
`;
const folder = mkdtempSync(join(tmpdir(), 'client-runner-'));
const script = join(folder, 'client.mjs');
let runner: ClientRunner | undefined;

beforeAll(() => writeFileSync(script, SCRIPT));
afterEach(() => runner?.close());
afterAll(() => rmSync(folder, { recursive: true }));

/** Resolves with the exit code that the suite sees. */
function launch(command: string, scenario: string): Promise<number> {
  const env = { ...process.env, MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_PROTOCOL_VERSION: '2025-11-25' };
  return new Promise((resolve) => {
    const child = exec(`${command} http://localhost:1/mcp`, { env: { ...env, MCP_CONFORMANCE_CONTEXT: '{"a":1}' } });
    child.once('exit', (exitCode) => resolve(exitCode ?? -1));
  });
}

it('distinguishes a client that succeeds from one that fails or crashes', async () => {
  const { command, outcomes } = (runner = await createClientRunner({ folder, script, parallel: 2 }));
  const scenarios = ['ends', 'fails', 'crashes'];
  expect(await Promise.all(scenarios.map((scenario) => launch(command, scenario)))).toEqual([0, 3, 1]);
  expect(scenarios.map((scenario) => outcomes.get(`2025-11-25 ${scenario}`)?.end)).toEqual([
    { how: 'exited', exitCode: 0 },
    { how: 'exited', exitCode: 3 },
    { how: 'killed', signal: 'SIGKILL' },
  ]);
  expect(outcomes.get('2025-11-25 ends')?.stderr).toBe('ends http://localhost:1/mcp {"a":1}\n');
});

it('ends a client that hangs, and reports that', async () => {
  const { command, outcomes } = (runner = await createClientRunner({ folder, script, parallel: 1, limitMs: 200 }));
  expect(await launch(command, 'hangs')).toBe(1);
  expect(outcomes.get('2025-11-25 hangs')?.end).toEqual({ how: 'timed out', limitMs: 200 });
});
