/** The subcommands of a program as an MCP server would list them. */
import type { JsonObject } from '../../../core/base/is-object.ts';
import { parametersIn, type Subcommand } from '../../../core/base/subcommand.ts';
import type { UpstreamTool } from '../tool-list.ts';

export function toolsOf(subcommands: Readonly<Record<string, Subcommand>>): readonly UpstreamTool[] {
  return Object.entries(subcommands).map(([name, subcommand]) => {
    const required = requiredOf(subcommand);
    const { description, parameters, readOnly } = subcommand;
    return {
      name,
      ...(description === undefined ? {} : { description }),
      inputSchema: {
        type: 'object',
        properties: Object.fromEntries(Object.entries(parameters).map(([key, schema]) => [key, withoutOwn(schema)])),
        ...(required.length === 0 ? {} : { required }),
        additionalProperties: false,
      },
      annotations: { readOnlyHint: readOnly, destructiveHint: !readOnly, openWorldHint: true },
    };
  });
}

/** The parameters of arguments that are always there, without those that have a default. */
function requiredOf({ args, parameters }: Subcommand): readonly string[] {
  const names = new Set(parametersIn(args.filter((part) => typeof part === 'string')));
  return [...names].filter((name) => (parameters[name]?.['default'] ?? undefined) === undefined);
}

function withoutOwn(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== 'mayBeginWithDash'));
}
