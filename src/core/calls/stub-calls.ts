/** Stubs of tools, chosen by name or by words. They work for every configured server, loaded or not. */
import { z } from 'zod';
import type { CancelSignal } from '../base/cancel.ts';
import type { CatalogServer, CatalogTool } from '../catalog/known.ts';
import { resolveName } from '../catalog/names.ts';
import { pythonString } from '../catalog/python-literal.ts';
import { serverStub } from '../catalog/stubs.ts';
import { shownName } from '../directory/directory-errors.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import type { CallMethod } from '../protocol/frames.ts';
import { checked, type Method, nameParam, namesParam } from './method.ts';
import type { ObservedResults } from './observed-results.ts';

/** Names and texts in one request. Chosen: a cell names far fewer. */
const MAX_WANTED = 200;
/** What is compared with a text, so that many texts and many long descriptions cost little. Chosen. */
const MAX_WORDS = 10;
const MAX_SEARCHED_CHARS = 1_000;
/** Shorter words say nothing by themselves. */
const MIN_WORD_CHARS = 3;
/** Enough for 20 to 40 tools. Chosen, as is the largest limit, which is more than a model can read. */
const DEFAULT_TOKENS = 1_500;
const MIN_TOKENS = 100;
const MAX_TOKENS = 1_000_000;

const StubsParams = z.strictObject({
  server: nameParam,
  /** Names of tools, or texts whose words occur in a name or description. All tools by default. */
  tools: namesParam(MAX_WANTED).optional(),
  /** Unlimited if all tools are named, otherwise `DEFAULT_TOKENS`. */
  max_tokens: z.int().min(MIN_TOKENS).max(MAX_TOKENS).optional(),
});

/** `stubs`: the wanted tools in that order, or all, the most used first. Rejects with `TOOL_UNKNOWN` for a text that fits no tool. */
export function stubsMethod(directory: ServerDirectory, observed: ObservedResults): [CallMethod, Method] {
  const stubs = checked(
    StubsParams,
    async ({ server: wantedServer, tools: wanted, max_tokens }, { loaded, signal }) => {
      const server = await directory.find(wantedServer);
      const listed = await directory.tools(server, signal);
      const key = directory.definitionKey(server);
      await observed.ready;
      const { named, others, texts, sentences } = await chooseTools(directory, server, { listed, wanted, signal });
      const tools = [...named, ...others.toSorted((a, b) => observed.uses(key, b) - observed.uses(key, a))];
      const isNamed = wanted !== undefined && texts.length === 0;
      const how = [
        ...(texts.length === 0 ? [] : [`chosen by ${shown(texts)}`]),
        ...(sentences.length === 0 ? [] : [`named in ${shown(sentences)}`]),
      ];
      return serverStub(
        server,
        tools.map((tool) => ({ tool, observed: observed.schema(key, tool) })),
        {
          isLoaded: loaded.has(server.name),
          maxTokens: max_tokens ?? (isNamed ? undefined : DEFAULT_TOKENS),
          choice: how.length === 0 ? undefined : `${tools.length} of ${listed.length} tools, ${how.join(' or ')}`,
        },
      );
    },
  );
  return ['stubs', stubs];
}

interface Choice {
  readonly listed: readonly CatalogTool[];
  readonly wanted: readonly string[] | undefined;
  readonly signal: CancelSignal;
}

/** The tools that are named, the others, the texts that chose those, and the sentences of which only the names count. */
async function chooseTools(directory: ServerDirectory, server: CatalogServer, { listed, wanted, signal }: Choice) {
  const chosen = new Set<CatalogTool>();
  const others = new Set(wanted === undefined ? listed : []);
  const texts: string[] = [];
  const sentences: string[] = [];
  for (const given of wanted ?? []) {
    const { names, isSentence } = namesIn(given, listed);
    sentences.push(...(isSentence ? [given] : []));
    for (const text of names) {
      const named = resolveName(listed, text);
      const isHidden = named === undefined && directory.whyHidden(server, text) !== undefined;
      const matching = named === undefined && !isHidden ? toolsWith(text, listed) : [];
      texts.push(...(matching.length > 0 ? [text] : []));
      matching.forEach((tool) => others.add(tool));
      // A tool that is hidden or new: it is refused with the reason, or found by asking the running server.
      const found = named ?? (matching.length > 0 ? undefined : await directory.findTool(server, text, signal));
      if (found !== undefined) {
        chosen.add(found);
      }
    }
  }
  return { named: [...chosen], others: [...others].filter((tool) => !chosen.has(tool)), texts, sentences };
}

/** Not a word of any language: a name, even if there is no such tool. */
const LOOKS_LIKE_NAME = /[A-Za-z0-9][_-][A-Za-z0-9]|[a-z][A-Z]/;

/** The names of tools in a text, if it is a list of them or a sentence with some; otherwise the text itself. */
function namesIn(text: string, listed: readonly CatalogTool[]): { names: string[]; isSentence: boolean } {
  const words = text.split(/[\s,;]+/).filter((word) => word !== '');
  const isName = (word: string): boolean => resolveName(listed, word) !== undefined;
  if (words.length < 2 || words.length > MAX_WANTED || isName(text)) {
    return { names: [text], isSentence: false };
  }
  if (words.some(isName) && words.every((word) => isName(word) || LOOKS_LIKE_NAME.test(word))) {
    return { names: words, isSentence: false };
  }
  const names = words.filter((word) => LOOKS_LIKE_NAME.test(word) && isName(word));
  return names.length > 0 ? { names, isSentence: true } : { names: [text], isSentence: false };
}

function shown(texts: readonly string[]): string {
  return texts.map((text) => pythonString(shownName(text))).join(', ');
}

/** The tools whose name or description contains every word of the text; if none has all words of a list, those that have one. */
function toolsWith(text: string, tools: readonly CatalogTool[]): CatalogTool[] {
  const words = (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, MAX_WORDS);
  const found = tools.map((tool) => {
    const { name, alias, description } = tool;
    const searched = `${name} ${alias} ${description.slice(0, MAX_SEARCHED_CHARS)}`.toLowerCase();
    return { tool, contained: words.filter((word) => searched.includes(word)) };
  });
  const all = found.filter(({ contained }) => contained.length > 0 && contained.length === words.length);
  // A misspelled name has no spaces: its error names the nearest tool.
  const isList = /\s/.test(text.trim());
  const some = found.filter(({ contained }) => contained.some((word) => word.length >= MIN_WORD_CHARS));
  return (all.length > 0 || !isList ? all : some).map(({ tool }) => tool);
}
