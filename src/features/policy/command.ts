/** `policy …`: what code may call, and why. */
import { InvalidArgumentError } from 'commander';
import { action, argument, type Group, type LineOf, option, repeated } from '../../edges/terminal/define.ts';

export const POLICY = {
  command: 'policy',
  summary: 'show what code may call, and why',
  description: 'Show what code may call, and why.',
  defaultAction: 'show',
  actions: () => ({
    show: action('Show the policies in force and their errors. Starts no server.', {}),
    explain: action(
      'Explain what happens to a call and which rule decides. Starts the server if its tools are not known yet.',
      {
        tool: argument('<tool>', 'server and tool, such as github.create_issue'),
        arguments: option('--args <json>', 'arguments of the call, such as \'{"path": "/tmp/x"}\'', readArguments),
      },
    ),
    check: action(
      'List the calls that code would make and what happens to each. Does not run the code.',
      {
        path: argument('[file]', 'Python source; - for standard input'),
        code: option('-c, --code <code>', 'Python source, instead of a file'),
        packages: repeated(
          '--package <requirement>',
          'a package such as "pandas>=2", instead of code; may be repeated',
        ),
      },
      {
        notes:
          'Reads code in a sandbox, so that needs an engine. Exit code: 77 if a call or a package would be refused, otherwise 0.',
        check({ code, packages, path }, definition) {
          if ([path !== undefined, code !== undefined, packages.length > 0].filter(Boolean).length !== 1) {
            definition.error(
              'error: policy check needs exactly one of a file, - (standard input), --code and --package',
            );
          }
        },
      },
    ),
  }),
} as const satisfies Group;

export type PolicyCommand = LineOf<typeof POLICY>;

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
