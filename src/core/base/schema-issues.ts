/**
 * What a schema checker (zod) says about a message, as a sentence. The MCP SDK throws errors whose text is, or ends with, the list
 * of issues as JSON; so everything that shows an error of a peer goes through here (`messageOf`).
 */

import { renderPath } from './config-issue.ts';
import { isObject, type JsonObject } from './is-object.ts';

const SHOWN = 5;
/** How such a list begins, as zod writes it. */
const START = '[\n  {';
/** A longer one is left out. Chosen. */
const MAX_CHARS = 100_000;
const EXPECTED: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'an integer',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a string',
};

/** The text of an error with the issues of a schema checker as a sentence; any other text is returned as it is. */
export function explainSchemaIssues(text: string): string {
  const start = text.endsWith('\n]') ? text.indexOf(START) : -1;
  if (start === -1) {
    return text;
  }
  const issues = text.length - start > MAX_CHARS ? [] : readIssues(text.slice(start));
  if (issues === undefined) {
    return text;
  }
  const found = issues.slice(0, SHOWN).map(describeIssue);
  const more = issues.length > SHOWN ? ` and ${issues.length - SHOWN} more` : '';
  const what = found.length === 0 ? 'it does not have the expected form' : `${found.join(', ')}${more}`;
  return `${text.slice(0, start)}${what}`;
}

function readIssues(json: string): JsonObject[] | undefined {
  try {
    const issues: unknown = JSON.parse(json);
    const isList = Array.isArray(issues) && issues.every((issue) => isObject(issue) && Array.isArray(issue['path']));
    return isList ? issues : undefined;
  } catch {
    // It only looks like a list of issues.
    return undefined;
  }
}

function describeIssue({ path, code, expected, message }: JsonObject): string {
  const place = renderPath(path as PropertyKey[]);
  const said = String(message);
  const subject = place === '' ? 'it' : place;
  if (code === 'invalid_type' && said.startsWith('Invalid input')) {
    const wanted = EXPECTED[String(expected)] ?? String(expected);
    return said.endsWith('undefined') ? `${subject} is missing` : `${subject} must be ${wanted}`;
  }
  return code === 'invalid_union' ? `${subject} has none of the allowed forms` : `${subject}: ${said}`;
}
