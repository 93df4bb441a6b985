/** What is wrong in a server file, as data and as one line for people. */
import type { z } from 'zod';

/** One finding about a server file. */
export interface ConfigIssue {
  /** `error`: something was left out; `warning`: works, probably not as meant; `debug`: a note. */
  readonly level: 'error' | 'warning' | 'debug';
  /** Absolute path of the file, or of the folder that could not be read. */
  readonly file: string;
  /** Place in the file, for example `mcpServers.github.args[0]`; empty for the whole file. */
  readonly path: string;
  /** Name of the entry that it is about; left out when it is about more. */
  readonly server?: string;
  /** What is wrong and what is allowed. */
  readonly message: string;
  /** The next step; left out when it is to mend the file. */
  readonly hint?: string;
}

/** `FILE: PATH: MESSAGE`. */
export function renderIssue(issue: ConfigIssue): string {
  return [issue.file, issue.path, issue.message].filter((part) => part !== '').join(': ');
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
  string: 'a text',
  array: 'a list of texts',
  record: 'an object of texts',
  boolean: 'true or false',
  object: 'an object',
};

/** The findings of zod about the value at `base`, one line each. Values are not repeated: they may be secrets. */
export function explainZodIssues(error: z.ZodError, file: string, base: readonly PropertyKey[]): ConfigIssue[] {
  return error.issues.map((issue) => {
    const path = renderPath([...base, ...issue.path]);
    return { level: 'error', file, path, message: messageOfZodIssue(issue) };
  });
}

function messageOfZodIssue(issue: z.core.$ZodIssue): string {
  // Other messages of this kind are the schema's own.
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
