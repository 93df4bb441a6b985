/** `policy …`: what code may call, and why. */
import { InvalidArgumentError, type Command as Program } from 'commander';
import type { Command } from '../terminal/command.ts';
import { addNotes, collect, jsonOption, type Settle } from '../terminal/define.ts';
import type { PolicyCommand } from './run.ts';

export const policyCommand: Command<PolicyCommand> = {
  names: ['policy'],
  defaultActions: { policy: 'show' },
  define,
  async run(line, host) {
    const { policy } = await import('./run.ts');
    return policy(line, { ...host, ...(await host.loadContext()) });
  },
};

interface Given {
  readonly args?: Readonly<Record<string, unknown>>;
  readonly code?: string;
  readonly package?: readonly string[];
  readonly json?: true;
}

function define(program: Program, settle: Settle<PolicyCommand>): void {
  const group = program
    .command('policy')
    .summary('show what code may call, and why')
    .description('Show what code may call, and why. Without a subcommand: `policy show`.')
    .helpCommand(false);
  const base = ({ json }: Given) => ({ command: 'policy' as const, isJson: json === true });

  group
    .command('show')
    .description('Show the policies in force and their errors. Starts no server.')
    .addOption(jsonOption())
    .action((given: Given) => settle({ ...base(given), action: 'show' }));

  group
    .command('explain')
    .description(
      'Explain what happens to a call and which rule decides. Starts the server if its tools are not known yet.',
    )
    .argument('<tool>', 'server and tool, such as github.create_issue')
    .option('--args <json>', 'arguments of the call, such as \'{"path": "/tmp/x"}\'', readArguments)
    .addOption(jsonOption())
    .action((tool: string, given: Given) => settle({ ...base(given), action: 'explain', tool, arguments: given.args }));

  const check = group
    .command('check')
    .description('List the calls that code would make and what happens to each. Does not run the code.')
    .argument('[file]', 'Python source; - for standard input')
    .option('-c, --code <code>', 'Python source, instead of a file')
    .option('--package <requirement>', 'a package such as "pandas>=2", instead of code; may be repeated', collect)
    .addOption(jsonOption())
    .action((path: string | undefined, given: Given) => {
      const { code, package: packages } = given;
      const sources = [
        ...(path === undefined ? [] : [{ kind: 'file' as const, path }]),
        ...(code === undefined ? [] : [{ kind: 'code' as const, code }]),
        ...(packages === undefined ? [] : [{ kind: 'packages' as const, packages }]),
      ];
      const [source] = sources;
      if (source !== undefined && sources.length === 1) {
        settle({ ...base(given), action: 'check', source });
      } else {
        check.error('error: policy check needs exactly one of a file, - (standard input), --code and --package');
      }
    });
  addNotes(
    check,
    'Reads code in a sandbox, so that needs an engine. Exit code: 77 if a call or a package would be refused, otherwise 0.',
  );
}

function readArguments(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError('It must be a JSON object, such as {"path": "/tmp/x"}.');
  }
  return value as Record<string, unknown>;
}
