/** Finds configured servers by name, description and tools. Starts none. */
import { z } from 'zod';
import { describeServer, howToLoad } from '../catalog/describe.ts';
import type { CatalogServer } from '../catalog/known.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import type { CallMethod } from '../protocol/frames.ts';
import { checked, type Method } from './method.ts';

const MAX_QUERY_CHARS = 2_000;
const MAX_LIMIT = 50;
const DEFAULT_LIMIT = 10;
/** Tools used for the ranking, and named with each server. Chosen. */
const RANKED_TOOLS = 100;
const SHOWN_TOOLS = 5;
/** A match in the name of a server counts more than its best tool; a match in its description about as much. */
const NAME_WEIGHT = 2;
const DESCRIPTION_WEIGHT = 1;

const FindServersParams = z.strictObject({
  query: z.string().max(MAX_QUERY_CHARS).default(''),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
});

/**
 * `find_servers`: the matching servers, best first; for an empty query all servers in their order. If none matches, those whose
 * tools are not known yet, because one of them may.
 */
export function findServersMethod(directory: ServerDirectory, autoload: boolean): [CallMethod, Method] {
  const findServers = checked(FindServersParams, async ({ query, limit }, { loaded }) => {
    await directory.ready();
    const tools = await toolsByServer(directory, query);
    const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    const ranked = directory
      .servers()
      .map((server) => ({ server, score: scoreOf(server, words, tools) }))
      .toSorted((left, right) => right.score - left.score);
    const matching = ranked.filter(({ score }) => score > 0 || words.length === 0);
    const found =
      matching.length > 0 ? matching : ranked.filter(({ server }) => directory.metadata(server) === undefined);
    return found.slice(0, limit).map(({ server }) => ({
      ...describeServer(server, loaded),
      tool_count: directory.metadata(server)?.tools.length ?? null,
      matching_tools: (tools.get(server.name) ?? []).slice(0, SHOWN_TOOLS).map(({ alias }) => alias),
      ...(loaded.has(server.name) ? {} : { load: autoload ? LOADS_ITSELF : howToLoad(server.name) }),
    }));
  });
  return ['find_servers', findServers];
}

const LOADS_ITSELF = 'call one of its tools; the first call loads it';

interface RankedTool {
  readonly alias: string;
  /** 0 for the best tool of all servers. */
  readonly rank: number;
}

async function toolsByServer(directory: ServerDirectory, query: string): Promise<Map<string, RankedTool[]>> {
  const tools = new Map<string, RankedTool[]>();
  const answer = query.trim() === '' ? undefined : await directory.search(query, RANKED_TOOLS);
  answer?.found.forEach(({ server, tool }, rank) => {
    tools.set(server.name, [...(tools.get(server.name) ?? []), { alias: tool.alias, rank }]);
  });
  return tools;
}

function scoreOf(server: CatalogServer, words: readonly string[], tools: ReadonlyMap<string, RankedTool[]>): number {
  const name = server.name.toLowerCase();
  const description = server.description.toLowerCase();
  const ofWords = words.map(
    (word) => (name.includes(word) ? NAME_WEIGHT : 0) + (description.includes(word) ? DESCRIPTION_WEIGHT : 0),
  );
  const best = tools.get(server.name)?.[0];
  return ofWords.reduce((sum, score) => sum + score, best === undefined ? 0 : 1 / (best.rank + 1));
}
