/** `exec`: one cell from the shell. */
import type { Command } from 'commander';
import { addNotes, collect, jsonOption, type Settle, wholeNumber } from '../terminal/define.ts';

export interface ExecCommand {
  readonly command: 'exec';
  readonly source: { readonly kind: 'code'; readonly code: string } | { readonly kind: 'file'; readonly path: string };
  readonly servers: readonly string[];
  /** As typed; checked with the other arguments of the cell. */
  readonly session: string | undefined;
  /** Not checked against the bounds yet. */
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

const NOTES = `Give either FILE or --code. At a terminal it asks you where a policy says so, unless the code came from standard input.

Exit code: 0 for success, 1 if its code failed, the cell's own after sys.exit(), 124 at the deadline, and that of the error if the bridge ended the cell or refused the call that did.`;

export function defineExec(program: Command, settle: Settle<ExecCommand>): void {
  const exec = program
    .command('exec')
    .summary('run one cell of Python in a sandbox')
    .description('Run one cell of Python in a sandbox and print what it prints.')
    .argument('[file]', 'Python source; - is standard input')
    .option('-c, --code <code>', 'Python source, instead of a file')
    .option('--server <name>', 'load an MCP server; may be repeated', collect)
    .option('--session <name>', 'name of the session')
    .option('--timeout <seconds>', 'deadline of the cell', wholeNumber('a whole number of seconds', 0, Infinity))
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
