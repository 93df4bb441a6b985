/** Problems in configuration files, as data and as one line of text. */
import type { z } from 'zod';

/** One problem in a configuration file. */
export interface ConfigIssue {
  /** `error`: the file or entry is ignored. `warning`: it works, but probably not as intended. `debug`: a note. */
  readonly level: 'error' | 'warning' | 'debug';
  /** Absolute path of the file, or of the folder that could not be read. */
  readonly file: string;
  /** Path inside the file, such as `mcpServers.github.args[0]`; empty for the whole file. */
  readonly path: string;
  /** The entry with the problem; left out if the problem concerns more than one. */
  readonly server?: string;
  /** What is wrong and what is allowed. */
  readonly message: string;
  /** The next step; left out if the step is to fix the file. */
  readonly hint?: string;
}

/** Messages without a subject: the place before them is the subject. */
const PREDICATE = /^(?:cannot|contains|has|is|must|was) /;

/** `FILE: PATH MESSAGE`, or `FILE: PATH: MESSAGE` if the message is a clause of its own. */
export function renderIssue({ file, path, message }: ConfigIssue): string {
  const place = [file, path].filter((part) => part !== '').join(': ');
  return `${place}${PREDICATE.test(message) ? ' ' : ': '}${message}`;
}

/** A JSON path in JavaScript notation: `mcpServers["a b"].args[0]`. */
export function renderPath(path: readonly PropertyKey[]): string {
  let rendered = '';
  for (const key of path) {
    if (typeof key === 'number') {
      rendered += `[${key}]`;
    } else if (/^[A-Za-z_$][\w$-]*$/.test(String(key))) {
      rendered += rendered === '' ? String(key) : `.${String(key)}`;
    } else {
      rendered += `[${JSON.stringify(String(key))}]`;
    }
  }
  return rendered;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a string',
  array: 'a list of strings',
  record: 'an object with string values',
  boolean: 'true or false',
  object: 'an object',
};

/** Zod's issues with the value at `base`. The messages never repeat a value, because it may be a secret. */
export function explainZodIssues(error: z.ZodError, file: string, base: readonly PropertyKey[]): ConfigIssue[] {
  return error.issues.map((issue) => {
    const path = renderPath([...base, ...issue.path]);
    return { level: 'error', file, path, message: messageOfZodIssue(issue) };
  });
}

function messageOfZodIssue(issue: z.core.$ZodIssue): string {
  // Any other message of this kind was written in the schema.
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
    const expected = EXPECTED[issue.expected] ?? issue.expected;
    return issue.input === undefined && issue.message.includes('undefined')
      ? `is missing; it must be ${expected}`
      : `must be ${expected}`;
  }
  if (issue.code === 'invalid_key') {
    return issue.issues[0]?.message ?? issue.message;
  }
  return issue.message;
}
