// @ts-check
/**
 * A large catalog that is the same in every run: tools with everyday names and descriptions. As a program
 * (`node tool-catalog.mjs SERVER COUNT`) it is an MCP server that lists them.
 */
import { fileURLToPath } from 'node:url';
import { serve } from '../../test/fixtures/servers/json-rpc-server.mjs';

const VERBS =
  'create list get update delete search find move copy send open close merge export import share archive restore watch count'.split(
    ' ',
  );
const NOUNS =
  'issue file folder message channel user team branch commit page table row query report invoice order customer event calendar task board card note contact campaign email alert metric log dashboard image video document database index bucket container cluster secret'.split(
    ' ',
  );
const QUALIFIERS =
  'by_name by_id by_date for_project for_team in_bulk with_labels with_attachments as_markdown as_json since_date recently_changed assigned_to_me without_owner in_archive of_account per_month from_template to_workspace across_regions'.split(
    ' ',
  );

/** @param {readonly string[]} words @param {number} number */
const pick = (words, number) => words[number % words.length] ?? '';

/**
 * @param {string} server
 * @param {number} count
 * @returns {{ name: string, description: string, inputSchema: { type: 'object', properties: Record<string, object> } }[]}
 */
export function makeTools(server, count) {
  return Array.from({ length: count }, (_, number) => {
    const [verb, noun, qualifier] = [
      pick(VERBS, number),
      pick(NOUNS, Math.floor(number / VERBS.length)),
      pick(QUALIFIERS, Math.floor(number / VERBS.length / NOUNS.length) + number),
    ];
    const phrase = qualifier.replaceAll('_', ' ');
    const description =
      `${verb} one ${noun} ${phrase} on ${server}. Answers with the ${noun} and, if asked to, with each ` +
      `${pick(NOUNS, number * 7)} and ${pick(NOUNS, number * 13)} that belongs to it. To ${pick(VERBS, number * 3)} many, see the tool of that name.`;
    const properties = { [`${noun}_id`]: { type: 'string' }, [pick(NOUNS, number * 5)]: { type: 'string' } };
    return { name: `${verb}_${noun}_${qualifier}_${number}`, description, inputSchema: { type: 'object', properties } };
  });
}

/** @param {number} count @returns {string[]} Queries as a model would write them. */
export function makeQueries(count) {
  return Array.from({ length: count }, (_, number) => {
    const words = [pick(VERBS, number * 3), pick(NOUNS, number * 7), pick(QUALIFIERS, number).replaceAll('_', ' ')];
    return `${words[0]} the ${words[1]} ${words[2]}`;
  });
}

const [program, server = '', count = '0'] = process.argv.slice(1);
if (program === fileURLToPath(import.meta.url)) {
  const tools = makeTools(server, Number(count));
  serve({}, { list: () => tools });
}
