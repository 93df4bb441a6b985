/**
 * `npm run test:conformance`: the official conformance suite against the bridge's server and against its client of other servers, for the revisions it speaks. What is known to fail
 * stands with its reason in expected-failures.yml; anything else that fails, and a listed failure that has gone, fails the run.
 * The suite is fetched from npm at a pinned version. It needs Node 22; where this one is older, npm's `node` package runs it.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { loadContext } from '../../src/commands/context.ts';
import { createLazyBridge } from '../../src/commands/lazy-bridge.ts';
import { createArtifacts } from '../../src/config/artifacts.ts';
import { VERSION } from '../../src/package.ts';
import { createServerFactory } from '../../src/server/server.ts';
import { serveOverHttp } from './bridge-over-http.ts';

const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const REVISIONS = ['2025-11-25', '2026-07-28'];
const OLDEST_NODE = 22;
/** The suite splits it at spaces, and appends the address. */
const CLIENT = `${process.execPath} --import ${new URL('../../scripts/typescript-loader.mjs', import.meta.url).href} ${fileURLToPath(new URL('client.ts', import.meta.url))}`;

const work = mkdtempSync(join(tmpdir(), 'conformance-'));
const { settings, logger, createBridge } = await loadContext({ ...process.env, MCP_BRIDGE_STATE_DIR: work });
const bridge = createLazyBridge(() => createBridge(settings, logger));
const server = await serveOverHttp(
  createServerFactory({
    runner: bridge,
    artifacts: createArtifacts(settings.stateDir),
    version: VERSION,
    outputMode: settings.outputMode,
    maxOutputChars: settings.maxOutputChars,
    defaultTimeoutSeconds: settings.timeoutSeconds,
    maxTimeoutSeconds: settings.maxTimeoutSeconds,
    logger,
  }),
);
const failed: string[] = [];
for (const revision of REVISIONS) {
  console.log(`\n== the server, requirements of ${revision}`);
  const options = ['--url', server.url, '--requirements', revision, '--expected-failures', expectedFailures(revision)];
  if ((await runSuite(['server', ...options, '--output-dir', join(work, revision)])) !== 0) {
    failed.push(`server ${revision}`);
  }
}
await server.close();
await bridge.close();
for (const revision of REVISIONS) {
  console.log(`\n== the client of the servers behind the bridge, requirements of ${revision}`);
  const options = ['--command', CLIENT, '--requirements', revision, '--expected-failures', expectedFailures(revision)];
  if ((await runSuite(['client', ...options, '--output-dir', join(work, `client-${revision}`)])) !== 0) {
    failed.push(`client ${revision}`);
  }
}
rmSync(work, { recursive: true, force: true });
console.log(`${2 * REVISIONS.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** Path of a file as the suite reads it, with what is expected to fail. */
function expectedFailures(revision: string): string {
  const text = readFileSync(new URL('expected-failures.yml', import.meta.url), 'utf8');
  const lists = parse(text) as Readonly<Record<string, readonly string[]>>;
  const path = join(work, `expected-failures-${revision}.yml`);
  const ofServer = [...(lists['every revision'] ?? []), ...(lists[revision] ?? [])];
  writeFileSync(path, stringify({ server: ofServer, client: lists['client'] ?? [] }));
  return path;
}

/** Resolves with its exit code. */
function runSuite(args: readonly string[]): Promise<number> {
  const isOld = Number(process.versions.node.split('.')[0]) < OLDEST_NODE;
  const packages = [SUITE, ...(isOld ? ['node@24'] : [])].map((name) => `--package=${name}`);
  const child = spawn('npm', ['exec', '--yes', ...packages, '--', 'conformance', ...args], {
    cwd: work,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return new Promise((resolve) => {
    child.once('error', (error) => console.error(error.message));
    child.once('close', (exitCode) => resolve(exitCode ?? 1));
  });
}
