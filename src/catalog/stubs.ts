/**
 * The tools of a server as a `.pyi` stub: what an agent reads before it writes many calls, in few tokens. A stub that would be
 * too long gets shorter in steps: first without types, then without descriptions, then with names only.
 */

import type { Schema } from './json-schema.ts';
import type { CatalogServer, CatalogTool } from './known.ts';
import { pythonString } from './python-literal.ts';
import { createTypeNames, createTypeScope, type TypeScope } from './python-types.ts';
import { resultComment, signatureLine, toolSpec } from './tool-spec.ts';
import { firstSentence } from './visible.ts';

export interface StubTool {
  readonly tool: CatalogTool;
  /** The schema of the results seen so far, for a tool whose server declares none. */
  readonly observed?: Schema | undefined;
}

export interface StubOptions {
  /** About how long the stub may be. Default: unlimited. */
  readonly maxTokens?: number | undefined;
  /** How the tools were chosen, such as `3 of 40 tools, chosen by 'log'`. */
  readonly choice?: string | undefined;
  /** Whether the session can call the tools now; yes by default. */
  readonly isLoaded?: boolean;
}

/** Characters per token of o200k_base: 4.4 in stubs of real servers, 3.6 in lists of names with digits (measured). */
const CHARS_PER_TOKEN = 3.5;
/** Sizes in hints are rounded up to this. */
const TOKEN_STEP = 500;

/** A stub for the given tools, in the given order. A type that several tools share is defined once, before the first of them. */
export function serverStub(
  server: CatalogServer,
  tools: readonly StubTool[],
  { maxTokens = Number.POSITIVE_INFINITY, choice, isLoaded = true }: StubOptions = {},
): string {
  const maxChars = maxTokens * CHARS_PER_TOKEN;
  const comment = [
    ...(isLoaded ? [] : [`# Not loaded: servers=[${pythonString(server.name)}].`]),
    ...(choice === undefined ? [] : [`# ${choice}.`]),
  ];
  const call = `# mcp_${server.alias}: await mcp_${server.alias}.name(...). "= ..." is the server's own default.`;
  const full = withImports([call, ...comment], fullLines(tools));
  if (full.length <= maxChars) {
    return full;
  }
  const [first] = tools;
  const example = pythonString(first?.tool.alias ?? '');
  const allTokens = Math.ceil(full.length / CHARS_PER_TOKEN / TOKEN_STEP) * TOKEN_STEP;
  const head = (what: string): string[] => [
    call,
    ...comment,
    `# Shortened to ${maxTokens} tokens: ${what}. For more, name tools or words of their descriptions:`,
    `# runtime.stubs(${pythonString(server.name)}, ${example}); max_tokens=${allTokens} shows everything.`,
  ];
  const steps = [
    withImports(head('objects are dict, and types are left out'), briefLines(tools, true)),
    withImports(head('types and descriptions are left out'), briefLines(tools, false)),
  ];
  return steps.find((text) => text.length <= maxChars) ?? namesOnly(head('only names are shown'), tools, maxChars);
}

const IMPORTED = ['Annotated', 'Any', 'Literal', 'NotRequired', 'TypedDict'];

function withImports(head: readonly string[], lines: readonly string[]): string {
  const imports = IMPORTED.filter((name) => lines.some((line) => new RegExp(`\\b${name}\\b`).test(line)));
  return [...head, ...(imports.length === 0 ? [] : [`from typing import ${imports.join(', ')}`]), ...lines, ''].join(
    '\n',
  );
}

function fullLines(tools: readonly StubTool[]): string[] {
  const names = createTypeNames();
  return tools.flatMap(({ tool, observed }) => toolLines(tool, observed, createTypeScope(tool.alias, { names })));
}

function toolLines(tool: CatalogTool, observed: Schema | undefined, scope: TypeScope): string[] {
  const spec = toolSpec(tool, { observed, scope });
  return [...spec.types, `async def ${spec.signature}: ${bodyOf(tool)}${resultComment(spec)}`];
}

function briefLines(tools: readonly StubTool[], hasSentences: boolean): string[] {
  return tools.map(({ tool }) => `async def ${signatureLine(tool)}: ${hasSentences ? bodyOf(tool) : '...'}`);
}

function bodyOf(tool: CatalogTool): string {
  const sentence = firstSentence(tool.description);
  return sentence === '' ? '...' : pythonString(sentence);
}

/** The end of a list that was cut. */
const MORE_CHARS = '# , … (10,000 more)\n'.length;

/** As many names as fit. */
function namesOnly(head: readonly string[], tools: readonly StubTool[], maxChars: number): string {
  const all = tools.map(({ tool }) => tool.alias);
  let chars = head.join('\n').length + MORE_CHARS;
  const fitting = all.filter((name) => {
    chars += name.length + 2;
    return chars <= maxChars;
  });
  const more = all.length - fitting.length;
  return [...head, `# ${fitting.join(', ')}${more === 0 ? '' : `, … (${more} more)`}`, ''].join('\n');
}
