/** The answer as TOON (Token-Oriented Object Notation), which spends fewer tokens on lists of records than JSON. */
import { renderJsonBlock } from './json.ts';
import type { Payload } from './payload.ts';

/** The whole payload in one fenced block; a JSON block when the encoder fails. */
export async function renderToon(payload: Payload): Promise<string> {
  try {
    // Loaded on demand: it is the mode of few.
    const { encode } = await import('@toon-format/toon');
    return `\`\`\`toon\n${encode(payload)}\n\`\`\``;
  } catch {
    // The same facts in another notation; nothing is lost.
    return renderJsonBlock(payload);
  }
}
