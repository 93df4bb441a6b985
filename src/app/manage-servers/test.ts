/** `servers test`: starts servers step by step, and explains which step fails and how to fix it. */
import { BridgeError, ERROR_CODES, reportError } from '../../core/base/errors.ts';
import { escapeControls } from '../../core/base/log.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import {
  askEach,
  preparationOf,
  type ServerTest,
  type StartTimes,
  type StepReport,
  serversNamed,
  testServer,
} from '../../edges/configured/server-test.ts';
import type { LineFor } from '../../edges/terminal/command.ts';
import { findingOfIssue } from '../../edges/terminal/finding.ts';
import { countOf } from '../../edges/terminal/text-table.ts';
import type { ServersCommand } from './command.ts';
import type { Output } from './output.ts';

/** Resolves with the exit code: that of `SERVER_START_FAILED` if a server did not list its tools. */
export async function test(
  { names }: LineFor<ServersCommand, 'test'>,
  configured: ConfiguredServers,
  times: StartTimes,
  { print, noServers, startProgress }: Output,
): Promise<number> {
  const skipped = skippedEntries(configured, names);
  const rest = names.filter((name) => !skipped.some((one) => one.name === name));
  const servers = names.length > 0 && rest.length === 0 ? [] : await serversNamed(rest, configured.known);
  const { stop, watch } = await startProgress();
  const tested = await askEach(servers, (server) =>
    watch(server.name, testServer(server, configured, times), preparationOf(configured, server.name)),
  ).finally(stop);
  const tests = [...tested, ...skipped];
  print(tests, () => renderTests(tests, noServers));
  return tests.some(({ error }) => error !== null) ? ERROR_CODES.SERVER_START_FAILED.exitCode : 0;
}

/** Entries that were skipped because they are invalid, as failed tests; those of `names`, or all. */
function skippedEntries({ issues, definitions }: ConfiguredServers, names: readonly string[]): ServerTest[] {
  return issues().flatMap((issue) => {
    const { file, level, server: name } = issue;
    if (
      level !== 'error' ||
      name === undefined ||
      definitions().has(name) ||
      (names.length > 0 && !names.includes(name))
    ) {
      return [];
    }
    const { text, hint } = findingOfIssue(issue);
    const error = new BridgeError('CONFIG_INVALID', text, { hint });
    return {
      name,
      file,
      steps: [{ step: 'resolve', isDone: false, ms: 0 }],
      ms: 0,
      tools: null,
      protocolVersion: null,
      serverVersion: null,
      notices: [],
      error: reportError(error),
    };
  });
}

/** One line per server; below a failed one, the reason and the next step. */
export function renderTests(tests: readonly ServerTest[], noServers: string): string {
  if (tests.length === 0) {
    return `${noServers}\n`;
  }
  const width = Math.max(...tests.map(({ name }) => name.length));
  return tests.map((one) => renderTest(one, width)).join('');
}

function renderTest({ name, steps, error, notices, ...facts }: ServerTest, width: number): string {
  const shown = escapeControls(name).padEnd(width);
  const times = steps.map(renderStep).join(', ');
  if (error === null) {
    const lines = [
      `${shown}  ok      ${describe(facts)}: ${times}`,
      ...notices.map((notice) => `  note: ${escapeControls(notice)}`),
    ];
    return `${lines.join('\n')}\n`;
  }
  const why = error.message.split('\n').map((line) => `  ${escapeControls(line)}`);
  const hint = error.hint === undefined ? [] : [`  → ${escapeControls(error.hint)}`];
  return `${[`${shown}  failed  ${times}`, ...why, ...hint].join('\n')}\n`;
}

function renderStep({ step, isDone, ms }: StepReport): string {
  return isDone ? `${step} ${milliseconds(ms)}` : `${step} failed after ${milliseconds(ms)}`;
}

function describe({
  tools,
  protocolVersion,
  serverVersion,
}: Pick<ServerTest, 'tools' | 'protocolVersion' | 'serverVersion'>): string {
  const parts = [
    countOf(tools ?? 0),
    ...(protocolVersion === null ? [] : [`MCP ${protocolVersion}`]),
    ...(serverVersion === null ? [] : [`version ${serverVersion}`]),
  ];
  return escapeControls(parts.join(', '));
}

function milliseconds(ms: number): string {
  return `${ms.toLocaleString('en-US')} ms`;
}
