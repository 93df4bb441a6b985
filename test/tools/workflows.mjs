// @ts-check
/**
 * Checks `.github/workflows` with the parser of GitHub's own language server: unknown keys, wrong types, and unknown names in
 * expressions. Further rules of this project are in `test/unit/workflows.test.ts`.
 */
import { readdir, readFile } from 'node:fs/promises';
import { register } from 'node:module';

// The package imports JSON as bundlers allow, without the attribute that Node requires.
const hook = `export const load = (url, context, next) =>
  next(url, url.endsWith('.json') ? { ...context, importAttributes: { type: 'json' } } : context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await import('@actions/workflow-parser');

const folder = new URL('../../.github/workflows/', import.meta.url);
const names = (await readdir(folder)).filter((name) => name.endsWith('.yml'));
const problems = [];
for (const name of names) {
  const content = await readFile(new URL(name, folder), 'utf8');
  const { context, value } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  if (value !== undefined) {
    await convertWorkflowTemplate(context, value);
  }
  problems.push(...context.errors.getErrors().map(({ message }) => message));
}
// Both steps above report the same problem.
const distinct = new Set(problems);
for (const problem of distinct) {
  console.error(problem);
}
console.log(`${names.length} workflows, ${distinct.size} problems`);
process.exitCode = names.length > 0 && problems.length === 0 ? 0 : 1;
