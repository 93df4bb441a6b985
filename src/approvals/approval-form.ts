/**
 * The form that asks a person to approve calls, and how to read the reply. The layout is fixed: text from the code or from
 * servers only appears on indented lines, so no argument can pass for text of the bridge. A client that renders Markdown
 * shows indented lines as code and interprets nothing in them.
 */
import type { Question, Reply } from '../base/cell.ts';
import type { Approval } from '../calls/contract.ts';
import { oneLine } from '../catalog/visible.ts';
import { stringifyExact } from '../protocol/exact-json.ts';

/** How long a call is allowed, or that it is not. */
export type ApprovalChoice = Approval | 'no';

/** A call as the form shows it, with secrets masked. */
export interface ShownCall {
  readonly server: string;
  readonly tool: string;
  /** Why approval is required, in one clause. */
  readonly reason: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Number of identical calls. */
  readonly count: number;
  /** The line of code that makes the call; the sandbox reports its number. */
  readonly line?: { readonly number: number; readonly text: string } | undefined;
}

/** The labels are the `enum` values themselves, because few clients show titles. */
const LABELS: Readonly<Record<ApprovalChoice, string>> = {
  once: 'Allow once',
  cell: 'Allow for this cell',
  session: 'Allow for this session',
  no: 'Do not allow',
};
const CHOICES: ReadonlyMap<unknown, ApprovalChoice> = new Map(
  Object.entries(LABELS).map(([choice, label]) => [label, choice as ApprovalChoice]),
);

export const MAX_NAME_CHARS = 100;
export const MAX_REASON_CHARS = 300;
/** How much a form shows of a single call, or of each of several. Chosen so that a form stays readable and hides no call. */
const ROOM = {
  one: { values: 20, valueChars: 600 },
  many: { values: 6, valueChars: 150 },
} as const;
const INDENT = '    ';

/** The form that asks whether these calls, at least one, may be made. */
export function approvalForm(session: string, calls: readonly ShownCall[]): Extract<Question, { mode: 'form' }> {
  const isOne = calls.length === 1;
  const wish = isOne ? 'call a tool' : `make ${calls.length} different tool calls`;
  const paragraphs = [
    `Code in session '${session}' wants to ${wish}, and your policy requires your approval.`,
    ...calls.flatMap((call, index) => describeCall(call, isOne ? undefined : index + 1)),
    'Indented lines come from the code or from servers. A session ends with its sandbox; a cell is this one call to run_python.',
  ];
  return { mode: 'form', message: paragraphs.join('\n\n'), requestedSchema: schemaFor(calls) };
}

/** The answer for each of the `count` calls of a form, in order. Anything but a clear yes is a no. */
export function readChoices({ action, content = {} }: Reply, count: number): readonly ApprovalChoice[] {
  const given = action === 'accept' ? content : {};
  const forAll = CHOICES.get(given['answer']) ?? 'no';
  return Array.from({ length: count }, (_, index) => {
    const own = given[fieldOf(index)];
    // Clients omit a field that was left empty, or send an empty string.
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
    ...(lines.length === 0 ? ['Arguments: none'] : ['Arguments:', lines.join('\n')]),
    ...(more > 0 ? [`Not shown: ${more} more arguments.`] : []),
  ];
  const { line } = call;
  return line === undefined
    ? paragraphs
    : [
        ...paragraphs,
        `Line ${line.number} of the code, as reported by the sandbox:`,
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
    { ...choice, title: `For call ${index + 1} only: ${oneLine(tool, MAX_NAME_CHARS)}` },
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
