/**
 * The tools of a server as a `.pyi` stub: what an agent reads before it writes many calls, in few tokens. A stub that would be
 * too long gets shorter in steps: first without types, then without descriptions, then with signatures of the first tools and the names
 * of the others.
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
  return steps.find((text) => text.length <= maxChars) ?? asManyAsFit(head, tools, maxChars);
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
const MORE_CHARS = '# Also: , … (10,000 more).\n'.length;
/** Longer than the line that says how many tools have no signature. */
const WHAT_CHARS = 80;
/** A name costs more than its comma: names have fewer characters per token than signatures. */
const NAME_CHARS = 4;
/** The names of the tools without a signature get this share of the room, or all that the signatures leave. Chosen. */
const NAMES_SHARE = 0.5;

/** The signatures of as many tools as fit, from the first on, and the names of the others. */
function asManyAsFit(head: (what: string) => string[], tools: readonly StubTool[], maxChars: number): string {
  const lines = briefLines(tools, false);
  const names = tools.map(({ tool }) => tool.alias);
  const sum = (texts: readonly string[], between: number): number =>
    texts.reduce((chars, text) => chars + text.length + between, 0);
  const room = maxChars - sum(head(''), 1) - WHAT_CHARS - MORE_CHARS - 'from typing import Literal\n'.length;
  let forNames = sum(names, NAME_CHARS);
  let used = 0;
  let count = 0;
  for (const [index, line] of lines.entries()) {
    forNames -= (names[index]?.length ?? 0) + NAME_CHARS;
    used += line.length + 1;
    if (used + Math.min(forNames, room * NAMES_SHARE) > room) {
      break;
    }
    count = index + 1;
  }
  let left = room - sum(lines.slice(0, count), 1);
  const fitting = names.slice(count).filter((name) => {
    left -= name.length + NAME_CHARS;
    return left >= 0;
  });
  const more = names.length - count - fitting.length;
  const named = [...fitting, ...(more === 0 ? [] : [`… (${more} more)`])].join(', ');
  const what = `types are left out, and ${names.length - count} tools have no signature`;
  return withImports(head(what), [...lines.slice(0, count), `# Also: ${named}.`]);
}
