/** One tool as a search shows it: enough to choose it and, for most tools, to call it, in few tokens. */

import { type Detail, describeTool, type ToolDocument } from './describe.ts';
import { firstSentence } from './first-sentence.ts';
import type { CatalogServer, CatalogTool } from './known.ts';
import { signatureLine } from './tool-spec.ts';

export interface ToolHit extends ToolDocument {
  /** How it is called, in one short line; with detail `full`, in full. */
  readonly signature: string;
  /** Higher is better; comparable within one answer. A whole number, because digits cost tokens. */
  readonly score: number;
}

/**
 * Characters of signature and sentence together, of which the sentence has a part in any case. So hits over 2,700 real
 * tools cost 76 tokens on average (o200k), 80 being the goal.
 */
const HIT_CHARS = 170;
const LEAST_SENTENCE_CHARS = 60;

/** Scores are mostly below 20; in tenths, close ones still differ. */
const SCORE_STEPS = 10;

export function describeHit(
  server: CatalogServer,
  tool: CatalogTool,
  options: { readonly detail: Detail; readonly isLoaded: boolean; readonly score: number },
): ToolHit {
  const document = describeTool(server, tool, options);
  const signature = document.signature ?? signatureLine(tool);
  const sentence = firstSentence(tool.description, Math.max(LEAST_SENTENCE_CHARS, HIT_CHARS - signature.length));
  const description = options.detail === 'full' ? document.description : sentence;
  return {
    ...document,
    signature,
    ...(description === undefined || description === '' ? {} : { description }),
    ...(options.isLoaded ? {} : { load: `servers=['${server.name}']` }),
    score: Math.round(options.score * SCORE_STEPS),
  };
}
