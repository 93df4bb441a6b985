/**
 * `npm run lab -- real-servers [NAME… | npm | python] [--folder DIR --json FILE --write]`: installs real servers from npm and PyPI
 * outside this package, puts each behind the bridge, and prints the results. Of servers from npm, no tool is really called. Those from
 * PyPI are started with `uvx` or `pipx`, with an empty cache at first, and those that need no account are called. `--write` puts the
 * results of the latter into README.md.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../../src/core/base/errors.ts';
import { installedProgram, installPackages } from '../support/npm-packages.ts';
import { installPythonTools, pathWith, RUNNERS } from '../support/python-tools.ts';
import { type CallReport, callServer } from './call-server.ts';
import { checkServer, type ServerCommand, type ServerReport } from './check-server.ts';
import { PYTHON_SERVERS, type PythonServer, runnerCommand } from './python-servers.ts';
import { REAL_SERVERS, type RealServer } from './servers.ts';
import { type TableRow, writeTable } from './table.ts';

type Report = (ServerReport & Partial<Omit<CallReport, 'faults'>>) | { readonly error: string };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { folder: { type: 'string' }, json: { type: 'string' }, write: { type: 'boolean' } },
});
const wanted = (name: string, group: string): boolean =>
  positionals.length === 0 || positionals.includes(group) || positionals.includes(`${group}/${name}`);
const npmNames = Object.keys(REAL_SERVERS).filter((name) => wanted(name, 'npm'));
const pythonNames = Object.keys(PYTHON_SERVERS).filter((name) => wanted(name, 'python'));
const known = [
  ...Object.keys(REAL_SERVERS).map((name) => `npm/${name}`),
  ...Object.keys(PYTHON_SERVERS).map((name) => `python/${name}`),
];
const unknown = positionals.filter((name) => !['npm', 'python', ...known].includes(name));
if (unknown.length > 0) {
  throw new Error(
    `unknown: ${unknown.join(', ')}. Give npm, python, or names such as ${known[0]} and ${known.at(-1)}.`,
  );
}

const work = mkdtempSync(join(tmpdir(), 'real-servers-'));
const reports: Record<string, Report> = {};
const rows: TableRow[] = [];
const notCovered: string[] = [];

if (npmNames.length > 0) {
  const specs = Object.values(REAL_SERVERS).map(({ spec }) => spec);
  const installed = installPackages(specs, { folder: values.folder, flags: ['--ignore-scripts'] });
  for (const name of npmNames) {
    const server = REAL_SERVERS[name];
    if (server !== undefined) {
      const report = await checkServer(name, npmCommand(installed, server)).catch(failed);
      take(`npm/${name}`, report);
    }
  }
}
if (pythonNames.length > 0) {
  const tools = installPythonTools(RUNNERS);
  if ('missing' in tools) {
    notCovered.push(`servers from PyPI: ${tools.missing}`);
  } else {
    for (const name of pythonNames) {
      const server = PYTHON_SERVERS[name];
      if (server !== undefined) {
        take(`python/${name}`, await checkPython(name, server, tools.bin).catch(failed), server);
      }
    }
  }
}
rmSync(work, { recursive: true, force: true });
if (values.json !== undefined) {
  writeFileSync(values.json, JSON.stringify(reports, undefined, 2));
}
if (values.write === true) {
  writeTable(rows);
}
const all = Object.values(reports);
const good = all.filter((report) => 'tools' in report && report.faults.length === 0);
const sum = (of: (report: Exclude<Report, { error: string }>) => number): number =>
  all.reduce((total, report) => total + ('tools' in report ? of(report) : 0), 0);
console.log(
  `${good.length} of ${all.length} servers without a fault, ${sum(({ tools }) => tools)} tools, ${sum(({ calls = 0 }) => calls)} calls`,
);
notCovered.forEach((what) => console.log(`Not covered: ${what}`));
process.exitCode = good.length === all.length && all.length > 0 ? 0 : 1;

/** The first start with real calls, and then all tools behind the relay. */
async function checkPython(name: string, server: PythonServer, bin: string): Promise<Report> {
  const cwd = join(work, name);
  mkdirSync(cwd);
  if (name === 'git') {
    execFileSync('git', ['init', '--quiet', '--initial-branch=main'], { cwd });
    execFileSync('git', ['config', 'user.email', 'a@example.com'], { cwd });
    execFileSync('git', ['config', 'user.name', 'A'], { cwd });
  }
  const inFolder = (text: string): string => text.replaceAll('FOLDER', cwd);
  const { command, args } = runnerCommand(server);
  const entry: ServerCommand = {
    command: join(bin, command),
    args: args.map(inFolder),
    env: {
      PATH: pathWith(bin),
      UV_CACHE_DIR: join(work, 'uv'),
      PIPX_HOME: join(work, 'pipx'),
      ...Object.fromEntries(Object.entries(server.env ?? {}).map(([key, value]) => [key, inFolder(value)])),
    },
    cwd,
  };
  const called = await callServer(name, entry);
  const checked = await checkServer(name, entry);
  return { ...called, ...checked, faults: [...called.faults, ...checked.faults] };
}

function npmCommand(installed: string, { spec, args = [], env = {} }: RealServer): ServerCommand {
  const inFolder = (text: string): string => text.replaceAll('FOLDER', work);
  return {
    command: process.execPath,
    args: [installedProgram(installed, spec), ...args.map(inFolder)],
    env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, inFolder(value)])),
    cwd: work,
  };
}

function failed(error: unknown): Report {
  return { error: messageOf(error) };
}

function take(name: string, report: Report, python?: PythonServer): void {
  reports[name] = report;
  if ('error' in report) {
    console.log(`${name.padEnd(22)} FAILED: ${report.error}`);
    addRow({ result: 'does not start' }, python);
    return;
  }
  const { tools, protocolVersion, listMs, foundFirst, faults, firstStartMs, progress, calls, oddities = [] } = report;
  const first =
    firstStartMs === undefined ? '' : `first start ${seconds(firstStartMs)}, ${progress} lines of progress  `;
  const called = calls === undefined ? '' : `${String(calls).padStart(2)} calls  `;
  const facts = `${String(tools).padStart(3)} tools  MCP ${protocolVersion}  ${first}listed in ${seconds(listMs)}`;
  const result = faults.length === 0 ? 'ok' : `${faults.length} FAULTS`;
  console.log(`${name.padEnd(22)} ${facts}  ${called}found first ${foundFirst}  ${result}`);
  for (const line of [...oddities.map((one) => `odd: ${one}`), ...faults]) {
    console.log(`${' '.repeat(23)}${line}`);
  }
  addRow({ tools, protocolVersion, calls, firstStartMs, oddities, result }, python);
}

function addRow(row: Omit<TableRow, 'spec' | 'runner' | 'with'>, python: PythonServer | undefined): void {
  if (python !== undefined) {
    const { spec, runner = 'uvx', with: extra, listOnly } = python;
    rows.push({ spec, runner, with: extra, ...row, calls: listOnly ?? row.calls });
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
