/** `help CODE`: what docs/errors.md says about one error. */
import { errorFacts } from '../../error-pages.ts';
import type { ErrorCode } from '../../errors.ts';

/** The page of a code, as Markdown. */
export function renderErrorPage(code: ErrorCode): string {
  const facts = errorFacts(code).map(([name, text]) => `- **${name}**: ${text}\n`);
  return `# ${code}\n\n${facts.join('')}`;
}
