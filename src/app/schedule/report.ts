/** Where a run puts what it has to say: a file, a tool of a server, or the next answer to a client. */
import { dirname } from 'node:path';
import { CancelSource } from '../../core/base/cancel.ts';
import { BridgeError, toBridgeError } from '../../core/base/errors.ts';
import { oneLine } from '../../core/catalog/visible.ts';
import { isFailure } from '../../core/protocol/result-bytes.ts';
import { makeFolders } from '../../core/state/file-system.ts';
import { writeAtomically } from '../../core/state/state-files.ts';
import { checkToolArguments } from '../../edges/terminal/argument-check.ts';
import { readJsonArguments } from '../../edges/terminal/call-arguments.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import type { Entry, Run } from './store.ts';
import type { RunToExecute } from './tick.ts';
import { localTime } from './timetable.ts';

const CALL_MS = 60_000;
const FIRST_LINE_CHARS = 120;

export type ReportEnd = Pick<Run, 'report' | 'reportProblem'>;

/** How a run stands, and what it printed. */
export function reportText({ entry, name, run }: Pick<RunToExecute, 'entry' | 'name' | 'run'>): string {
  const reason = run.reason === undefined ? '' : `${run.reason}\n`;
  const output = run.output === '' || run.output.endsWith('\n') ? run.output : `${run.output}\n`;
  return `Schedule '${name}', run of ${localTime(new Date(run.due), entry.timezone)}: ${run.status}.\n${reason}${output}`;
}

/** One line for the next answer to a client. */
export function newsLine(one: Pick<RunToExecute, 'entry' | 'name' | 'run'>): string {
  const { entry, name, run } = one;
  const said = (run.reason ?? run.reportProblem ?? run.output).trim().split('\n')[0] ?? '';
  const line = oneLine(said, FIRST_LINE_CHARS);
  return `Schedule '${name}', run of ${localTime(new Date(run.due), entry.timezone)}, ${run.status}${line === '' ? '.' : `: ${line}`}`;
}

/** Never rejects. */
export async function sendReport(
  one: RunToExecute,
  context: Pick<CommandContext, 'callByPerson' | 'logger' | 'openServers'>,
): Promise<ReportEnd> {
  const { entry, name } = one;
  try {
    if (entry.reportFile !== undefined) {
      await makeFolders(dirname(entry.reportFile));
      await writeAtomically(entry.reportFile, [reportText(one)]);
    }
    if (entry.reportCall !== undefined) {
      await callWith(one, entry.reportCall, context);
    }
    return { report: 'sent' };
  } catch (error) {
    const { code, message } = toBridgeError(error);
    const reportProblem = `The report was not sent: ${code}: ${message}.`;
    context.logger.error(`schedule ${name}: ${reportProblem}`);
    return { report: 'failed', reportProblem };
  }
}

async function callWith(
  one: RunToExecute,
  { arguments: json, server: wanted, tool: wantedTool }: NonNullable<Entry['reportCall']>,
  { callByPerson, openServers }: Pick<CommandContext, 'callByPerson' | 'openServers'>,
): Promise<void> {
  const servers = await openServers();
  try {
    servers.refresh();
    await servers.known.ready();
    const server = await servers.known.find(wanted);
    const tool = await servers.known.findTool(server, wantedTool, new CancelSource());
    const given = readJsonArguments(json).map(([key, value]): [string, unknown] => [key, filled(value, one)]);
    const call = { server, tool, arguments: await checkToolArguments(server, tool, given), timeoutMs: CALL_MS };
    const result = await callByPerson(call, servers, { terminal: undefined, writeError: () => undefined });
    if (isFailure(result)) {
      throw new BridgeError('TOOL_FAILED', `${server.name}.${tool.name} reported an error`);
    }
  } finally {
    await servers.pool.close();
    await servers.known.close();
  }
}

/** `{report}`, `{name}`, `{due}` and `{status}` in texts, at any depth. */
function filled(value: unknown, one: RunToExecute): unknown {
  if (typeof value === 'string') {
    const { entry, name, run } = one;
    const facts: Readonly<Record<string, string>> = {
      report: run.output === '' ? (run.reason ?? '') : run.output,
      name,
      due: localTime(new Date(run.due), entry.timezone),
      status: run.status,
    };
    return value.replace(/\{(report|name|due|status)\}/g, (_whole, fact: string) => facts[fact] ?? '');
  }
  if (Array.isArray(value)) {
    return value.map((item) => filled(item, one));
  }
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, filled(member, one)]))
    : value;
}
