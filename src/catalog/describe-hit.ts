/** One tool as a search shows it: enough to choose it and, for most tools, to call it, in few tokens. */
import type { CatalogServer, CatalogTool } from './catalog.ts';
import { type Detail, describeTool, type ToolDocument } from './describe.ts';
import { firstSentence } from './first-sentence.ts';

export interface ToolHit extends ToolDocument {
  /** Higher is better; comparable within one answer. A whole number, because digits cost tokens. */
  readonly score: number;
}

/** Scores are mostly below 20; in tenths, close ones still differ. */
const SCORE_STEPS = 10;

export function describeHit(
  server: CatalogServer,
  tool: CatalogTool,
  options: { readonly detail: Detail; readonly isLoaded: boolean; readonly score: number },
): ToolHit {
  const document = describeTool(server, tool, options);
  const description = options.detail === 'full' ? document.description : firstSentence(tool.description);
  return {
    ...document,
    ...(description === undefined || description === '' ? {} : { description }),
    ...(options.isLoaded ? {} : { load: `run_python(servers=['${server.name}'])` }),
    score: Math.round(options.score * SCORE_STEPS),
  };
}
