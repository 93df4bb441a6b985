/** The tools of a server as a `.pyi` file: what an agent reads to write many calls, in few tokens. */

import { firstSentence } from './first-sentence.ts';
import type { Schema } from './json-schema.ts';
import type { CatalogServer, CatalogTool } from './known.ts';
import { pythonString } from './python-literal.ts';
import { createTypeNames, createTypeScope, type TypeScope } from './python-types.ts';
import { toolSpec } from './tool-spec.ts';

export interface StubTool {
  readonly tool: CatalogTool;
  /** The schema of results seen so far, for a tool whose server describes none. */
  readonly observed?: Schema | undefined;
}

/** The stub of some tools of a server, in the order given; a type that several share is defined once, before the first. */
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
  const { types, signature, observed: isObserved } = toolSpec(tool, { observed, scope });
  const sentence = firstSentence(tool.description);
  const body = sentence === '' ? '...' : pythonString(sentence);
  return [...types, `async def ${signature}: ${body}${isObserved ? '  # result as observed' : ''}`];
}
