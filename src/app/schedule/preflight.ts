/** Whether a run can work now. Starts no server: what is not known about one is no problem. */
import { CancelSource } from '../../core/base/cancel.ts';
import { BridgeError, type ErrorCode, toBridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { counted } from '../../core/base/units.ts';
import { methodTool } from '../../core/calls/surface-calls.ts';
import { resolveName } from '../../core/catalog/names.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import { reportServer } from '../../edges/configured/report.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import type { Rights } from './rights.ts';
import { readSource, type ScheduledCode } from './source.ts';
import type { Entry, Limits, StoredRun } from './store.ts';
import { localTime } from './timetable.ts';

/** In the data of a problem that an earlier start had. */
const EARLIER = 'earlier';

export interface Preflight {
  /** The gravest first; none if a run can work. */
  readonly problems: readonly BridgeError[];
  /** Undefined if it cannot be read. */
  readonly source: ScheduledCode | undefined;
}

export interface PreflightWork {
  readonly name: string;
  readonly entry: Entry;
  readonly runs: readonly StoredRun[];
  readonly now: Date;
}

/** Never rejects. @param areServersOpen whether `openServers` returns servers that are in use. */
export async function examineSchedule(
  { entry, name, now, runs }: PreflightWork,
  context: Pick<CommandContext, 'findFunction' | 'listFunctions' | 'openServers'>,
  areServersOpen = false,
): Promise<Preflight> {
  const read = await readSource(entry, context).catch(toBridgeError);
  const source = read instanceof BridgeError ? undefined : read;
  const spent = problemOfDay(entry, usedToday(entry, runs, now));
  const problems = [
    ...(read instanceof BridgeError ? [read] : [problemOfRights(name, entry, read)]),
    ...(await problemsOfServers(entry, context, areServersOpen).catch((error: unknown) => [toBridgeError(error)])),
    spent === undefined ? undefined : new BridgeError('POLICY_LIMIT', spent, { hint: 'The next run is tomorrow.' }),
  ];
  return { problems: problems.filter((one) => one !== undefined), source };
}

function problemOfRights(name: string, { rights }: Entry, { hash }: ScheduledCode): BridgeError | undefined {
  if (rights?.source === hash) {
    return undefined;
  }
  const problem =
    rights === undefined ? 'nobody has accepted what it may call' : 'its code has changed since it was accepted';
  return new BridgeError('APPROVAL_UNAVAILABLE', problem, {
    hint: `Run it once at a terminal, and accept what it may call: ${COMMAND} schedule run ${name}`,
  });
}

async function problemsOfServers(
  entry: Entry,
  { openServers }: Pick<CommandContext, 'openServers'>,
  areOpen: boolean,
): Promise<BridgeError[]> {
  const tools = entry.rights?.tools ?? [];
  const names = [...new Set([...entry.servers, ...tools.map(({ server }) => server)])];
  if (names.length === 0) {
    return [];
  }
  const configured = await openServers({ hidesDenied: true, isSilent: true });
  try {
    if (!areOpen) {
      configured.refresh();
      await configured.known.ready();
    }
    const problems = names.map((server) => problemsOfServer(server, tools, configured));
    return (await Promise.all(problems)).flat();
  } finally {
    if (!areOpen) {
      await configured.pool.close();
      await configured.known.close();
    }
  }
}

async function problemsOfServer(
  name: string,
  tools: Rights['tools'],
  configured: ConfiguredServers,
): Promise<BridgeError[]> {
  try {
    const server = await configured.known.find(name);
    const definition = configured.definitions().get(server.name);
    const report = definition && (await reportServer(configured, definition));
    if (report?.state === 'login-needed') {
      const hint = `Run: ${COMMAND} servers login ${server.name}`;
      return [new BridgeError('LOGIN_REQUIRED', `${server.name} needs a login`, { hint })];
    }
    const failure = report?.state === 'failed' ? report.failure : null;
    const failed = failure === null ? [] : [failedBefore(server.name, failure)];
    if (configured.known.metadata(server) === undefined) {
      return failed;
    }
    const known = await configured.known.tools(server, new CancelSource());
    const ofTools = tools
      .filter((one) => one.server === name && methodTool(one.tool) === undefined)
      .flatMap(({ tool }) => problemOfTool(name, tool, resolveName(known, tool)));
    return [...ofTools, ...failed];
  } catch (error) {
    return [toBridgeError(error)];
  }
}

/** It may start now. */
function failedBefore(
  server: string,
  { code, message }: { readonly code: ErrorCode; readonly message: string },
): BridgeError {
  return new BridgeError(code, `${server} failed when it was last started: ${message}`, {
    hint: `Run: ${COMMAND} servers test ${server}`,
    data: { [EARLIER]: true },
  });
}

/** Whether the problem keeps a run from being tried. */
export function isCertain({ data }: BridgeError): boolean {
  return data[EARLIER] !== true;
}

function problemOfTool(server: string, name: string, tool: { readonly change?: unknown } | undefined): BridgeError[] {
  if (tool === undefined) {
    const message = `${server}.${name} is not there any more, or a policy denies it`;
    return [new BridgeError('TOOL_UNKNOWN', message, { hint: `Run: ${COMMAND} policy explain ${server}.${name}` })];
  }
  return tool.change === undefined
    ? []
    : [
        new BridgeError('TOOL_CHANGED', `${server}.${name} differs from the definition that was accepted`, {
          hint: `Run: ${COMMAND} servers approve ${server}`,
        }),
      ];
}

type Used = { readonly [Unit in keyof Limits]-?: number };

/** What the runs have used that were started today, in the time zone of the schedule. */
export function usedToday({ timezone }: Entry, runs: readonly StoredRun[], now: Date): Used {
  const day = (date: Date): string => localTime(date, timezone).slice(0, 'YYYY-MM-DD'.length);
  const today = runs.map(({ run }) => run).filter(({ startedAt }) => day(new Date(startedAt)) === day(now));
  const sum = (of: 'calls' | 'seconds' | 'tokens'): number => today.reduce((total, run) => total + run[of], 0);
  return { calls: sum('calls'), seconds: sum('seconds'), tokens: sum('tokens') };
}

function problemOfDay({ perDay }: Entry, used: Used): string | undefined {
  const units = { calls: 'call', seconds: 'second', tokens: 'token' } as const;
  const over = (['calls', 'seconds', 'tokens'] as const).find((one) => used[one] >= (perDay[one] ?? Infinity));
  return (
    over &&
    `today's runs have used ${counted(Math.round(used[over]), units[over])}; the limit of a day is ${perDay[over]}`
  );
}
