/** The tools of a server as a `.pyi` stub: what an agent reads before it writes many calls, in few tokens. */

import type { Schema } from './json-schema.ts';
import type { CatalogServer, CatalogTool } from './known.ts';
import { pythonString } from './python-literal.ts';
import { createTypeNames, createTypeScope, type TypeScope } from './python-types.ts';
import { observedComment, toolSpec } from './tool-spec.ts';
import { firstSentence } from './visible.ts';

export interface StubTool {
  readonly tool: CatalogTool;
  /** The schema of the results seen so far, for a tool whose server declares none. */
  readonly observed?: Schema | undefined;
}

/** A stub for the given tools, in the given order. A type that several tools share is defined once, before the first of them. */
export function serverStub(server: CatalogServer, tools: readonly StubTool[]): string {
  const names = createTypeNames();
  const lines = tools.flatMap(({ tool, observed }) =>
    toolLines(tool, observed, createTypeScope(tool.alias, { names })),
  );
  const imports = IMPORTED.filter((name) => lines.some((line) => new RegExp(`\\b${name}\\b`).test(line)));
  return [
    `# mcp_${server.alias}: await mcp_${server.alias}.name(...). "= ..." is the server's own default.`,
    ...(imports.length === 0 ? [] : [`from typing import ${imports.join(', ')}`]),
    ...lines,
    '',
  ].join('\n');
}

const IMPORTED = ['Any', 'Literal', 'NotRequired', 'TypedDict'];

function toolLines(tool: CatalogTool, observed: Schema | undefined, scope: TypeScope): string[] {
  const spec = toolSpec(tool, { observed, scope });
  const sentence = firstSentence(tool.description);
  const body = sentence === '' ? '...' : pythonString(sentence);
  return [...spec.types, `async def ${spec.signature}: ${body}${observedComment(spec)}`];
}
