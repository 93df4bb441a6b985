/**
 * `npm run test:real-servers [-- NAME… --folder DIR --json FILE]`: installs real servers from npm into a folder outside this
 * package, puts each behind the bridge, and prints the results. No tool is really called.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../../src/base/errors.ts';
import { checkServer, type ServerCommand, type ServerReport } from './check-server.ts';
import { REAL_SERVERS, type RealServer } from './servers.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { folder: { type: 'string' }, json: { type: 'string' } },
});
const names = positionals.length === 0 ? Object.keys(REAL_SERVERS) : positionals;
const work = mkdtempSync(join(tmpdir(), 'real-servers-'));
const installed = install(values.folder ?? join(tmpdir(), `mcp-real-servers-${hashOf(REAL_SERVERS)}`));

const reports: Record<string, ServerReport | { readonly error: string }> = {};
for (const name of names) {
  const server = REAL_SERVERS[name];
  reports[name] =
    server === undefined
      ? { error: `there is none of this name; there are ${Object.keys(REAL_SERVERS).join(', ')}` }
      : await checkServer(name, commandOf(server)).catch((error: unknown) => ({ error: messageOf(error) }));
  print(name, reports[name]);
}
rmSync(work, { recursive: true, force: true });
if (values.json !== undefined) {
  writeFileSync(values.json, JSON.stringify(reports, undefined, 2));
}
const good = Object.values(reports).filter((report) => 'tools' in report && report.faults.length === 0);
const tools = Object.values(reports).reduce((sum, report) => sum + ('tools' in report ? report.tools : 0), 0);
console.log(`${good.length} of ${names.length} servers without a fault, ${tools} tools`);
process.exitCode = good.length === names.length ? 0 : 1;

/** Installs all of them without their scripts. A folder that already contains them is reused. */
function install(folder: string): string {
  const marker = join(folder, `installed-${hashOf(REAL_SERVERS)}`);
  if (!existsSync(marker)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    const specs = Object.values(REAL_SERVERS).map(({ spec }) => spec);
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--legacy-peer-deps', '--save-exact'];
    execFileSync('npm', ['install', ...flags, ...specs], { cwd: folder, stdio: 'inherit' });
    writeFileSync(marker, '');
  }
  return folder;
}

function commandOf({ spec, args = [], env = {} }: RealServer): ServerCommand {
  const manifest = join(installed, 'node_modules', spec.slice(0, spec.lastIndexOf('@')), 'package.json');
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: string | Record<string, string> };
  const program = typeof bin === 'string' ? bin : (Object.values(bin)[0] ?? '');
  const inFolder = (text: string): string => text.replaceAll('FOLDER', work);
  return {
    command: process.execPath,
    args: [join(dirname(manifest), program), ...args.map(inFolder)],
    env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, inFolder(value)])),
    cwd: work,
  };
}

function print(name: string, report: ServerReport | { readonly error: string } | undefined): void {
  if (report === undefined || 'error' in report) {
    console.log(`${name.padEnd(12)} FAILED: ${report?.error}`);
    return;
  }
  const { tools: count, protocolVersion, listMs, foundFirst, faults } = report;
  const facts = `${String(count).padStart(4)} tools  MCP ${protocolVersion}  listed in ${String(Math.round(listMs)).padStart(5)} ms`;
  console.log(
    `${name.padEnd(12)} ${facts}  found first ${foundFirst}  ${faults.length === 0 ? 'ok' : `${faults.length} FAULTS`}`,
  );
  for (const fault of faults) {
    console.log(`             ${fault}`);
  }
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
}
