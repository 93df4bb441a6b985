/** The answer as JSON, one line. */
import type { Payload } from './payload.ts';

/** The payload as JSON text, for programs. */
export function renderJson(payload: Payload): string {
  return JSON.stringify(payload);
}

/** The same in a fenced block, for a reader that expects Markdown. */
export function renderJsonBlock(payload: Payload): string {
  return `\`\`\`json\n${renderJson(payload)}\n\`\`\``;
}
