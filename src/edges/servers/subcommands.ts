/** The schema of `subcommands` in an entry: the tools of a program that is no MCP server. */
import { z } from 'zod';
import { isObject } from '../../core/base/is-object.ts';
import { parametersIn, type Subcommand, type SubcommandArgument } from '../../core/base/subcommand.ts';

/** Chosen: more than a model would look through. */
const MAX_SUBCOMMANDS = 500;
const MAX_ARGUMENTS = 200;
const NAME = /^[A-Za-z_][\w-]{0,99}$/;
const PARAMETER = /^[A-Za-z_]\w{0,99}$/;
/** What other texts of an entry can refer to. A secret among arguments could be seen by every program of the machine. */
const REFERENCE = /\$\{(?:env|file|cmd|secret):/;

const word = z
  .string()
  .refine((text) => !text.includes('\0'), 'must not contain a NUL character')
  .refine((text) => !REFERENCE.test(text), 'cannot refer to secrets, files or variables; put those into "env"');

const argument = z.union(
  [word, z.array(word).min(1), z.strictObject({ flag: word, if: z.string() })],
  'must be a text, a list of texts, or {"flag": "--name", "if": "parameter"}',
);

const subcommand = z
  .strictObject({
    description: z.string().optional(),
    args: z.array(argument).max(MAX_ARGUMENTS).default([]),
    parameters: z
      .record(
        z.string().regex(PARAMETER, 'must be a name of letters, digits and _'),
        z.custom<Record<string, unknown>>(isObject, 'must be a JSON Schema, such as {"type": "string"}'),
      )
      .default({}),
    stdin: z.string().optional(),
    readOnly: z.boolean().default(false),
  })
  .superRefine((value, context) => {
    for (const message of faultsOf(value)) {
      context.addIssue({ code: 'custom', message });
    }
  });

export const SubcommandsSchema = z
  .record(z.string().regex(NAME, 'must be a name of letters, digits, _ and -'), subcommand)
  .refine((all) => Object.keys(all).length <= MAX_SUBCOMMANDS, `must be at most ${MAX_SUBCOMMANDS}`);

/** Parameters that are used but not declared, or declared but not used. */
function faultsOf({ args, parameters, stdin }: Subcommand): string[] {
  const used = new Set([...args.flatMap(parametersOf), ...(stdin === undefined ? [] : [stdin])]);
  const undeclared = [...used].filter((name) => !Object.hasOwn(parameters, name));
  const unused = Object.keys(parameters).filter((name) => !used.has(name));
  return [
    ...undeclared.map((name) => `uses {${name}}, which is not in "parameters"; write {{${name}}} for a text in braces`),
    ...unused.map((name) => `does not use the parameter ${name}`),
  ];
}

function parametersOf(part: SubcommandArgument): readonly string[] {
  if (typeof part === 'string') {
    return parametersIn([part]);
  }
  return 'flag' in part ? [part.if] : parametersIn(part);
}
