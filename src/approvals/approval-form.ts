/**
 * What a person is shown who is to allow calls, and what their reply means. The layout is fixed: only whole lines with an
 * indent come from the code or from servers, so that no argument can pass for words of the bridge. A client that renders
 * Markdown shows them as code, in which nothing is interpreted.
 */
import type { Question, Reply } from '../base/cell.ts';
import type { Approval } from '../calls/contract.ts';
import { oneLine } from '../catalog/visible.ts';
import { stringifyExact } from '../protocol/exact-json.ts';

/** For how long a call is allowed, or that it is not. */
export type ApprovalChoice = Approval | 'no';

/** A call as it is shown; its secrets are masked. */
export interface ShownCall {
  readonly server: string;
  readonly tool: string;
  /** Why the person is asked, one clause. */
  readonly reason: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** How many calls are exactly like it. */
  readonly count: number;
  /** The line that leads to the call, as the sandbox says. */
  readonly line?: { readonly number: number; readonly text: string } | undefined;
}

/** As the person reads them. Plain values of an `enum`, because titles are shown by few clients. */
const LABELS: Readonly<Record<ApprovalChoice, string>> = {
  once: 'Allow once',
  cell: 'Allow for this cell',
  session: 'Allow for this session',
  no: 'Do not allow',
};
const CHOICES: ReadonlyMap<unknown, ApprovalChoice> = new Map(
  Object.entries(LABELS).map(([choice, label]) => [label, choice as ApprovalChoice]),
);

/** What is shown of one call among `calls`: all chosen so that a form can be read, and none can be buried. */
const MAX_NAME_CHARS = 100;
const MAX_REASON_CHARS = 300;
const ROOM = {
  one: { values: 20, valueChars: 600 },
  many: { values: 6, valueChars: 150 },
} as const;
const INDENT = '    ';

/** The question whether these calls may be made; at least one. */
export function approvalForm(session: string, calls: readonly ShownCall[]): Extract<Question, { mode: 'form' }> {
  const isOne = calls.length === 1;
  const wish = isOne ? 'call a tool' : `make ${calls.length} different calls of tools`;
  const paragraphs = [
    `Code of session '${session}' wants to ${wish}, and your policy says to ask you.`,
    ...calls.flatMap((call, index) => describeCall(call, isOne ? undefined : index + 1)),
    'Indented lines come from the code or from servers. A session ends with its sandbox; a cell is this one call of run_python.',
  ];
  return { mode: 'form', message: paragraphs.join('\n\n'), requestedSchema: schemaFor(calls) };
}

/** What the reply means for each of the `count` calls of a form, in its order. What is not clearly allowed is not. */
export function readChoices({ action, content = {} }: Reply, count: number): readonly ApprovalChoice[] {
  const given = action === 'accept' ? content : {};
  const forAll = CHOICES.get(given['answer']) ?? 'no';
  return Array.from({ length: count }, (_, index) => {
    const own = given[fieldOf(index)];
    // Clients send a field that was left empty as nothing, or as an empty text.
    return own === undefined || own === '' ? forAll : (CHOICES.get(own) ?? 'no');
  });
}

function describeCall(call: ShownCall, number: number | undefined): string[] {
  const room = number === undefined ? ROOM.one : ROOM.many;
  const facts = [
    ...(number === undefined ? [] : [`Call ${number}`]),
    `Server: ${oneLine(call.server, MAX_NAME_CHARS)}`,
    `Tool: ${oneLine(call.tool, MAX_NAME_CHARS)}`,
    `Why: ${oneLine(call.reason, MAX_REASON_CHARS)}`,
    ...(call.count === 1 ? [] : [`Times: ${call.count}, with the same arguments`]),
  ];
  const given = Object.entries(call.arguments);
  const lines = given.slice(0, room.values).map(([name, value]) => describeArgument(name, value, room.valueChars));
  const more = given.length - lines.length;
  const paragraphs = [
    facts.join('\n'),
    ...(lines.length === 0 ? ['Arguments: none'] : [`Arguments:`, lines.join('\n')]),
    ...(more > 0 ? [`${more} more arguments are not shown.`] : []),
  ];
  const { line } = call;
  return line === undefined
    ? paragraphs
    : [
        ...paragraphs,
        `Line ${line.number} of the code, as the sandbox says:`,
        indented(line.text.trim(), room.valueChars),
      ];
}

function describeArgument(name: string, value: unknown, maxChars: number): string {
  const label = /^[\w.-]+$/.test(name) ? name : JSON.stringify(name);
  return `${indented(label, MAX_NAME_CHARS)}: ${oneLine(stringifyExact(value), maxChars)}`;
}

function indented(text: string, maxChars: number): string {
  return `${INDENT}${oneLine(text, maxChars)}`;
}

function schemaFor(calls: readonly ShownCall[]): Record<string, unknown> {
  const choice = { type: 'string', enum: Object.values(LABELS) };
  const isOne = calls.length === 1;
  const single = calls.map(({ tool }, index) => [
    fieldOf(index),
    { ...choice, title: `Only for call ${index + 1}: ${oneLine(tool, MAX_NAME_CHARS)}` },
  ]);
  return {
    type: 'object',
    properties: {
      answer: { ...choice, title: isOne ? 'Your answer' : `Your answer for all ${calls.length} calls` },
      ...(isOne ? {} : Object.fromEntries(single)),
    },
    required: ['answer'],
  };
}

function fieldOf(index: number): string {
  return `call_${index + 1}`;
}
