/** `exec`: runs one cell from the shell. */
import {
  action,
  argument,
  flag,
  json,
  type LineOf,
  option,
  repeated,
  type Single,
  wholeNumber,
} from '../../edges/terminal/define.ts';

const NOTES = `Give either FILE or --code, or --tool with its arguments as name=value. A value @FILE is the content of that file. If a policy requires approval, you are asked at the terminal, unless the code comes from standard input.

Output is printed as it comes, with --json at the end. Ctrl-C interrupts the cell, prints the rest of its output, and exits with 130; with --session, the variables are kept. A second Ctrl-C does not wait for the cell.

With --dry-run, only calls of tools that their server marks as read-only are sent. The others get a stand-in, made from the output schema if there is one, and are listed on stderr.

With --tool, a function that code has kept runs, and what it returns is printed. The servers that it names are loaded. With --json, \`result\` has what it returned.

With --resume, the run is recorded in the file. After an interruption, the same command goes on: calls that were answered successfully get the recorded answer and are not made again; failed ones, and one that was under way, are made again. Policies and approvals apply as for any call.

With --replay, no server is started: a call gets the recorded answer of the same call with the same arguments, in order. Recorded cells that run again start without variables; those that end differently than recorded are named.

Exit code: 0 for success; 1 if the code failed; the cell's own code after sys.exit(); 124 at the deadline; for any other error, the exit code of that error. If several cells run, that of the first one that failed.`;

export const EXEC = {
  command: 'exec',
  action: () =>
    action(
      'Run one cell of Python in a sandbox and print what it prints.',
      {
        words: argument(
          '[file...]',
          'file with Python code; - reads standard input; with --tool: arguments, as name=value',
        ),
        code: option('-c, --code <code>', 'Python code to run instead of a file'),
        tool: option('--tool <name>', 'saved function to run instead'),
        jsonArguments: option('--json-args <json>', 'arguments of the function as a JSON object'),
        servers: repeated('--server <name>', 'MCP server to load; may be repeated'),
        session: option('--session <name>', 'name of the session'),
        timeoutSeconds: option(
          '--timeout <seconds>',
          'deadline for the cell',
          wholeNumber('a whole number of seconds', 0, Infinity),
        ),
        isDryRun: flag('--dry-run', 'send no call that could change something; a stand-in is its result'),
        replay: option('--replay <recording>', 'answer all calls from a recording; without code, run its cells again'),
        resume: option('--resume <file>', 'record the run there, or continue the one that was interrupted there'),
        isJson: json(),
      },
      {
        summary: 'run one cell of Python in a sandbox',
        notes: NOTES,
        check(line, definition) {
          const problem = problemOf(line);
          if (problem !== undefined) {
            definition.error(`error: ${problem}`);
          }
        },
      },
    ),
} as const satisfies Single;

export type ExecCommand = LineOf<typeof EXEC>;

/** What is wrong with the combination of options; undefined if nothing is. */
function problemOf(line: Omit<ExecCommand, 'command'>): string | undefined {
  const { code, isDryRun, jsonArguments, replay, resume, servers, session, timeoutSeconds, tool, words } = line;
  if (tool === undefined) {
    const given = words.length + (code === undefined ? 0 : 1);
    if (given > 1 || (given === 0 && replay === undefined)) {
      return 'exec needs exactly one of a file, - (standard input), --code and --tool';
    }
    if (jsonArguments !== undefined) {
      return '--json-args needs --tool';
    }
    if (given === 0 && (servers.length > 0 || session !== undefined || timeoutSeconds !== undefined)) {
      return '--server, --session and --timeout need code; recorded cells have their own';
    }
  } else if (code !== undefined) {
    return '--code cannot be combined with --tool';
  }
  if (resume !== undefined && (isDryRun || replay !== undefined)) {
    return '--resume cannot be combined with --dry-run or --replay';
  }
  return isDryRun && replay !== undefined
    ? '--dry-run cannot be combined with --replay, which sends no call at all'
    : undefined;
}

/** Whether code runs, rather than a saved function or the cells of a recording. */
export function hasCode({ code, tool, words }: ExecCommand): boolean {
  return tool === undefined && (code !== undefined || words.length > 0);
}
