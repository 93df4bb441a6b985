/**
 * `npm run test:real-servers [-- NAME… --folder DIR --json FILE]`: installs real servers from npm into a folder outside this
 * package, puts each behind the bridge, and prints the results. No tool is really called.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../../src/base/errors.ts';
import { installedProgram, installPackages } from '../support/npm-packages.ts';
import { checkServer, type ServerCommand, type ServerReport } from './check-server.ts';
import { REAL_SERVERS, type RealServer } from './servers.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { folder: { type: 'string' }, json: { type: 'string' } },
});
const names = positionals.length === 0 ? Object.keys(REAL_SERVERS) : positionals;
const work = mkdtempSync(join(tmpdir(), 'real-servers-'));
const specs = Object.values(REAL_SERVERS).map(({ spec }) => spec);
const installed = installPackages(specs, { folder: values.folder, flags: ['--ignore-scripts'] });

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

function commandOf({ spec, args = [], env = {} }: RealServer): ServerCommand {
  const inFolder = (text: string): string => text.replaceAll('FOLDER', work);
  return {
    command: process.execPath,
    args: [installedProgram(installed, spec), ...args.map(inFolder)],
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
