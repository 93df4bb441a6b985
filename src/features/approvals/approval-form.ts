/**
 * The form that asks a person to approve calls, and how to read the reply. The layout is fixed: text from the code or from
 * servers only appears on indented lines, so no argument can pass for text of the bridge. A client that renders Markdown
 * shows indented lines as code and interprets nothing in them.
 */
import type { Question, Reply } from '../../core/base/cell.ts';
import type { Approval } from '../../core/calls/contract.ts';
import { oneLine } from '../../core/catalog/visible.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import type { CallLine } from './call-line.ts';

/** How long a call is allowed, or that it is not. */
export type ApprovalChoice = Exclude<Approval, 'schedule'> | 'no';

/** A call as the form shows it, with secrets masked. */
export interface ShownCall {
  readonly server: string;
  readonly tool: string;
  /** Why approval is required, in one clause. */
  readonly reason: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Names of the arguments that the tool declares, the required ones first. */
  readonly parameters: readonly string[];
  /** Number of identical calls. */
  readonly count: number;
  readonly line?: CallLine | undefined;
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
/**
 * A form shows every argument whole, because one that is left out may be the one that matters. Chosen: four pages, more than
 * people read.
 */
export const MAX_FORM_CHARS = 10_000;
/** Of a line of code, which only helps to find the call. */
const MAX_LINE_CHARS = 600;
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
  const asked = calls.map(({ reason, server, tool }) => ({ server, tool, reason }));
  return { mode: 'form', message: paragraphs.join('\n\n'), requestedSchema: schemaFor(calls), calls: asked };
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
  const facts = [
    ...(number === undefined ? [] : [`Call ${number}`]),
    `Server: ${whole(call.server)}`,
    `Tool: ${nameOf(call.tool)}`,
    `Why: ${oneLine(call.reason, MAX_REASON_CHARS)}`,
    ...(call.count === 1 ? [] : [`Times: ${call.count}, with the same arguments`]),
  ];
  return [facts.join('\n'), ...describeArguments(call), ...describeLine(call)];
}

/** Declared arguments in the order of their declaration, so that code cannot choose which comes first; then the others. */
function describeArguments({ arguments: given, parameters }: ShownCall): string[] {
  const declared = parameters.filter((name) => Object.hasOwn(given, name));
  const others = Object.keys(given).filter((name) => !declared.includes(name));
  const lines = (names: readonly string[]) => names.map((name) => describeArgument(name, given[name])).join('\n');
  return [
    ...(declared.length === 0 ? [] : ['Arguments:', lines(declared)]),
    ...(others.length === 0 ? [] : ['Arguments that the tool does not declare:', lines(others)]),
    ...(declared.length + others.length === 0 ? ['Arguments: none'] : []),
  ];
}

function describeLine({ line }: ShownCall): string[] {
  if (line === undefined) {
    return [];
  }
  const others = line.candidates > 1 ? `; ${line.candidates} lines call this tool` : '';
  return [
    `Line ${line.number} of the code, as reported by the sandbox${others}:`,
    `${INDENT}${oneLine(line.text, MAX_LINE_CHARS)}`,
  ];
}

function describeArgument(name: string, value: unknown): string {
  const label = /^[\w.-]+$/.test(name) ? name : JSON.stringify(name);
  return `${INDENT}${whole(label)}: ${whole(stringifyExact(value))}`;
}

/** The server chooses it, so a name that could read as a sentence is quoted. */
function nameOf(tool: string): string {
  return whole(/^[\w./-]*$/.test(tool) ? tool : JSON.stringify(tool));
}

/** On one line with nothing left out. */
function whole(text: string): string {
  return oneLine(text, Number.POSITIVE_INFINITY);
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
