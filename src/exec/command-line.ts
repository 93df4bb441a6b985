/** `exec`: runs one cell from the shell. */
import type { Command } from 'commander';
import type { CodeSource } from '../terminal/code-source.ts';
import { addNotes, collect, jsonOption, type Settle, wholeNumber } from '../terminal/define.ts';

export interface ExecCommand {
  readonly command: 'exec';
  /** Undefined if the cells of the recording `replay` run again. */
  readonly source: CodeSource | undefined;
  /** A saved function that runs instead of code, with its arguments as typed. */
  readonly tool: ToolLine | undefined;
  /** Whether calls of tools that are not marked read-only get a stand-in. */
  readonly isDryRun: boolean;
  /** A recording that answers all calls. */
  readonly replay: string | undefined;
  /** The file in which the run is recorded, and from which it goes on after an interruption. */
  readonly resume: string | undefined;
  readonly servers: readonly string[];
  /** As typed; validated with the other arguments of the cell. */
  readonly session: string | undefined;
  /** Not yet checked against the limits. */
  readonly timeoutSeconds: number | undefined;
  readonly isJson: boolean;
}

interface ToolLine {
  readonly name: string;
  readonly words: readonly string[];
  readonly jsonArguments: string | undefined;
}

interface ExecOptions {
  readonly tool?: string;
  readonly jsonArgs?: string;
  readonly code?: string;
  readonly server?: string[];
  readonly session?: string;
  readonly timeout?: number;
  readonly dryRun?: true;
  readonly replay?: string;
  readonly resume?: string;
  readonly json?: true;
}

const NOTES = `Give either FILE or --code, or --tool with its arguments as name=value. A value @FILE is the content of that file. If a policy requires approval, you are asked at the terminal, unless the code comes from standard input.

Output is printed as it comes, with --json at the end. Ctrl-C interrupts the cell, prints the rest of its output, and exits with 130; with --session, the variables are kept. A second Ctrl-C does not wait for the cell.

With --dry-run, only calls of tools that their server marks as read-only are sent. The others get a stand-in, made from the output schema if there is one, and are listed on stderr.

With --tool, a function that code has kept runs, and what it returns is printed. The servers that it names are loaded. With --json, \`result\` has what it returned.

With --resume, the run is recorded in the file. After an interruption, the same command goes on: calls that were answered successfully get the recorded answer and are not made again; failed ones, and one that was under way, are made again. Policies and approvals apply as for any call.

With --replay, no server is started: a call gets the recorded answer of the same call with the same arguments, in order. Recorded cells that run again start without variables; those that end differently than recorded are named.

Exit code: 0 for success; 1 if the code failed; the cell's own code after sys.exit(); 124 at the deadline; for any other error, the exit code of that error. If several cells run, that of the first one that failed.`;

export function defineExec(program: Command, settle: Settle<ExecCommand>): void {
  const exec = program
    .command('exec')
    .summary('run one cell of Python in a sandbox')
    .description('Run one cell of Python in a sandbox and print what it prints.')
    .argument('[file...]', 'file with Python code; - reads standard input; with --tool: arguments, as name=value')
    .option('-c, --code <code>', 'Python code to run instead of a file')
    .option('--tool <name>', 'saved function to run instead')
    .option('--json-args <json>', 'arguments of the function as a JSON object')
    .option('--server <name>', 'MCP server to load; may be repeated', collect)
    .option('--session <name>', 'name of the session')
    .option('--timeout <seconds>', 'deadline for the cell', wholeNumber('a whole number of seconds', 0, Infinity))
    .option('--dry-run', 'send no call that could change something; a stand-in is its result')
    .option('--replay <recording>', 'answer all calls from a recording; without code, run its cells again')
    .option('--resume <file>', 'record the run there, or continue the one that was interrupted there')
    .addOption(jsonOption())
    .action((words: readonly string[], options: ExecOptions) => {
      const problem = problemOf(words, options);
      if (problem !== undefined) {
        exec.error(`error: ${problem}`);
      }
      const {
        code,
        dryRun,
        json,
        jsonArgs: jsonArguments,
        replay,
        resume,
        server = [],
        session,
        timeout,
        tool,
      } = options;
      const flags = { isDryRun: dryRun === true, isJson: json === true };
      const what =
        tool === undefined
          ? { source: sourceOf(code, words[0]), tool: undefined }
          : { source: undefined, tool: { name: tool, words, jsonArguments } };
      settle({ command: 'exec', ...what, servers: server, session, timeoutSeconds: timeout, replay, resume, ...flags });
    });
  addNotes(exec, NOTES);
}

/** What is wrong with the combination of options; undefined if nothing is. */
function problemOf(
  words: readonly string[],
  { code, dryRun, jsonArgs, replay, resume, server = [], session, timeout, tool }: ExecOptions,
): string | undefined {
  if (tool === undefined) {
    const given = words.length + (code === undefined ? 0 : 1);
    if (given > 1 || (given === 0 && replay === undefined)) {
      return 'exec needs exactly one of a file, - (standard input), --code and --tool';
    }
    if (jsonArgs !== undefined) {
      return '--json-args needs --tool';
    }
    if (given === 0 && (server.length > 0 || session !== undefined || timeout !== undefined)) {
      return '--server, --session and --timeout need code; recorded cells have their own';
    }
  } else if (code !== undefined) {
    return '--code cannot be combined with --tool';
  }
  if (resume !== undefined && (dryRun === true || replay !== undefined)) {
    return '--resume cannot be combined with --dry-run or --replay';
  }
  return dryRun === true && replay !== undefined
    ? '--dry-run cannot be combined with --replay, which sends no call at all'
    : undefined;
}

function sourceOf(code: string | undefined, path: string | undefined): CodeSource | undefined {
  if (code !== undefined) {
    return { kind: 'code', code };
  }
  return path === undefined ? undefined : { kind: 'file', path };
}
