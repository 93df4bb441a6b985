/** `exec`: runs one cell from the shell. */
import type { Command } from 'commander';
import { addNotes, collect, jsonOption, type Settle, wholeNumber } from '../terminal/define.ts';

export interface ExecCommand {
  readonly command: 'exec';
  readonly source: { readonly kind: 'code'; readonly code: string } | { readonly kind: 'file'; readonly path: string };
  readonly servers: readonly string[];
  /** As typed; validated with the other arguments of the cell. */
  readonly session: string | undefined;
  /** Not yet checked against the limits. */
  readonly timeoutSeconds: number | undefined;
  readonly isJson: boolean;
}

interface ExecOptions {
  readonly code?: string;
  readonly server?: string[];
  readonly session?: string;
  readonly timeout?: number;
  readonly json?: true;
}

const NOTES = `Give either FILE or --code. If a policy requires approval, you are asked at the terminal, unless the code comes from standard input.

Exit code: 0 for success; 1 if the code failed; the cell's own code after sys.exit(); 124 at the deadline; for any other error, the exit code of that error.`;

export function defineExec(program: Command, settle: Settle<ExecCommand>): void {
  const exec = program
    .command('exec')
    .summary('run one cell of Python in a sandbox')
    .description('Run one cell of Python in a sandbox and print what it prints.')
    .argument('[file]', 'file with Python code; - reads standard input')
    .option('-c, --code <code>', 'Python code to run instead of a file')
    .option('--server <name>', 'MCP server to load; may be repeated', collect)
    .option('--session <name>', 'name of the session')
    .option('--timeout <seconds>', 'deadline for the cell', wholeNumber('a whole number of seconds', 0, Infinity))
    .addOption(jsonOption())
    .action((path: string | undefined, { code, server = [], session, timeout, json }: ExecOptions) => {
      if ((code === undefined) === (path === undefined)) {
        exec.error('error: exec needs exactly one of a file, - (standard input) and --code');
      }
      const source = code === undefined ? { kind: 'file' as const, path: path ?? '' } : { kind: 'code' as const, code };
      settle({ command: 'exec', source, servers: server, session, timeoutSeconds: timeout, isJson: json === true });
    });
  addNotes(exec, NOTES);
}
