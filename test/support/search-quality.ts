/** How good a search is: what it finds for queries whose answers are known. */

/** A query and what answers it: of each group one tool (`server/tool`) must be found. */
export interface JudgedQuery {
  readonly query: string;
  readonly kind: string;
  readonly groups: readonly (readonly string[])[];
}

/** Means over the queries of one kind, each 0 to 1. */
export interface Quality {
  readonly kind: string;
  readonly queries: number;
  /** Share of the groups found by the first hit, and by the first five; of a query with many groups, as many as fit. */
  readonly recallAt1: number;
  readonly recallAt5: number;
  /** Mean of 1 / place of the first hit that answers, of the first ten. */
  readonly reciprocalRank: number;
}

const DEPTH = 10;

/** One line for each kind, in the order of the queries, and one for all together. */
export function measureQuality(
  queries: readonly JudgedQuery[],
  search: (query: string, limit: number) => readonly string[],
): Quality[] {
  const judged = queries.map(({ query, kind, groups }) => ({ kind, ...judge(groups, search(query, DEPTH)) }));
  const kinds = [...new Set(queries.map((query) => query.kind))];
  const lines = kinds.map((kind) =>
    summarize(
      kind,
      judged.filter((one) => one.kind === kind),
    ),
  );
  return kinds.length > 1 ? [...lines, summarize('all', judged)] : lines;
}

type Judgement = Pick<Quality, 'recallAt1' | 'recallAt5' | 'reciprocalRank'>;

function judge(groups: readonly (readonly string[])[], hits: readonly string[]): Judgement {
  const recallAt = (depth: number): number => {
    const top = new Set(hits.slice(0, depth));
    return groups.filter((group) => group.some((tool) => top.has(tool))).length / Math.min(depth, groups.length);
  };
  const right = new Set(groups.flat());
  const place = hits.findIndex((hit) => right.has(hit));
  return { recallAt1: recallAt(1), recallAt5: recallAt(5), reciprocalRank: place === -1 ? 0 : 1 / (place + 1) };
}

function summarize(kind: string, judged: readonly Judgement[]): Quality {
  const mean = (key: keyof Judgement): number => judged.reduce((sum, one) => sum + one[key], 0) / judged.length;
  return {
    kind,
    queries: judged.length,
    recallAt1: mean('recallAt1'),
    recallAt5: mean('recallAt5'),
    reciprocalRank: mean('reciprocalRank'),
  };
}
