/**
 * What a task needs without saying so: "summarize it in /docs/summary.md" writes a file, and "the weather tomorrow" needs the
 * date. Words alone do not find such tools, because the query has none of theirs.
 */
import { MAX_QUERY_CHARS } from './search-query.ts';

/** What shows a need, and a query for it. Chosen on 67 tasks over 2,700 real tools (docs/internals/decisions/015-tool-search.md). */
const IMPLIED_NEEDS: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\s)[`'"]?\.{0,2}\/\S*\.(?:css|html?|jsx?|json|md|py|tsx?|txt|ya?ml)\b/i, 'write file'],
  [/\.csv\b/i, 'read document'],
  [/\.pdf\b/i, 'read pdf'],
  [/\byoutu\.?be\b/i, 'get youtube transcript'],
  [/\bhttps?:\/\/(?!\S*\byoutu)/i, 'fetch html'],
  [
    /\b(?:today|tonight|tomorrow|next (?:week|month|year|\w+day)|last (?:few days|week|month|quarter)|near future)\b/i,
    'get current time',
  ],
  [/\b(?:papers?|article)\b/i, 'search papers'],
  [/\b(?:trip|tour|nearby|hotel|route|restaurants?|meeting point|radius|distance|neighborhood)\b/i, 'geocode address'],
  [/\b(?:trip|tour|nearby|restaurants?|distance)\b/i, 'find nearby places'],
  [/\b(?:trip|route|driving|how to get)\b/i, 'get route directions'],
];

/** Queries for what the task needs besides what it names, in a fixed order. */
export function impliedNeedsOf(query: string): string[] {
  const start = query.slice(0, MAX_QUERY_CHARS);
  return IMPLIED_NEEDS.filter(([sign]) => sign.test(start)).map(([, need]) => need);
}
