/** The command line of the evaluation. */
import { parseArgs } from 'node:util';
import type { Mode } from './run.ts';

export const USAGE = `npm run eval -- --agent AGENT [options]
npm run eval -- --table FILE [--table FILE…]

  --suite SUITE   tools (the default): files, a database and other servers; data: questions over real tables
  --agent AGENT   a command, as "claude -p", "codex exec" or "gemini -p"; it gets the task as its input.
                  In other commands, {config} becomes the file with the MCP configuration and {prompt}
                  the task. "manual" waits for somebody to do the tasks with a small command;
                  "reference" does them with known solutions
  --mode MODE     direct (all tools of the servers), code (run_python alone), or both (the default);
                  the suite data has code only
  --task ID       only this task; may be repeated
  --name NAME     what the results call the agent, for example its model
  --json FILE     also write the results to FILE; --table makes a table from such files
  --browser PATH  a Chromium or Chrome, or "none"; by default one is looked for
  --timeout S     seconds for one task of an agent that is a command (600)
  --keep          keep the workspace
  --list          list the tasks
`;

export type SuiteName = 'data' | 'tools';

export interface EvalOptions {
  readonly suite: SuiteName;
  /** Undefined if the command line asks for a table, a list or help. */
  readonly agent: string | undefined;
  readonly agentName: string;
  readonly modes: readonly Mode[];
  /** Ids; empty means all. */
  readonly tasks: readonly string[];
  readonly jsonFile: string | undefined;
  readonly tables: readonly string[];
  readonly browser: string | undefined;
  readonly timeoutMs: number;
  readonly isKept: boolean;
  readonly isList: boolean;
}

const SUITES: readonly string[] = ['data', 'tools'] satisfies SuiteName[];
const TIMEOUT_S = 600;
const MODES: Readonly<Record<string, readonly Mode[]>> = {
  direct: ['direct'],
  code: ['code'],
  both: ['direct', 'code'],
};

/** Throws a TypeError that names the unknown option or value. */
export function parseOptions(argv: readonly string[]): EvalOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      suite: { type: 'string', default: 'tools' },
      agent: { type: 'string' },
      mode: { type: 'string' },
      task: { type: 'string', multiple: true, default: [] },
      name: { type: 'string' },
      json: { type: 'string' },
      table: { type: 'string', multiple: true, default: [] },
      browser: { type: 'string' },
      timeout: { type: 'string', default: String(TIMEOUT_S) },
      keep: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const suite = values.suite as SuiteName;
  if (!SUITES.includes(suite)) {
    throw new TypeError(`The suite "${suite}" is unknown; use tools or data.`);
  }
  const mode = values.mode ?? (suite === 'data' ? 'code' : 'both');
  const modes = MODES[mode];
  if (modes === undefined) {
    throw new TypeError(`The mode "${mode}" is unknown; use direct, code or both.`);
  }
  if (suite === 'data' && mode !== 'code') {
    throw new TypeError(`The suite data cannot be done in mode ${mode}; use --mode code.`);
  }
  const timeoutS = Number(values.timeout);
  if (!(timeoutS > 0)) {
    throw new TypeError(`The timeout "${values.timeout}" is not a number of seconds above 0.`);
  }
  return {
    suite,
    agent: values.help === true ? undefined : values.agent,
    agentName: values.name ?? values.agent ?? '',
    modes,
    tasks: values.task,
    jsonFile: values.json,
    tables: values.table,
    browser: values.browser,
    timeoutMs: timeoutS * 1000,
    isKept: values.keep,
    isList: values.list,
  };
}
