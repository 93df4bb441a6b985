/** `help CODE`: what docs/reference/errors.md says about one error. */

import type { ErrorCode } from '../../base/errors.ts';
import { errorFacts } from './error-texts.ts';

/** The page of a code, as Markdown. */
export function renderErrorPage(code: ErrorCode): string {
  const facts = errorFacts(code).map(([name, text]) => `- **${name}**: ${text}\n`);
  return `# ${code}\n\n${facts.join('')}`;
}
