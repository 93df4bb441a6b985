/** Measures the quality of a search by queries with known answers. */

/** A query and its answers: one tool (`server/tool`) of each group must be found. */
export interface JudgedQuery {
  readonly query: string;
  readonly kind: string;
  readonly groups: readonly (readonly string[])[];
}

/** Means over the queries of one kind, each from 0 to 1. */
export interface Quality {
  readonly kind: string;
  readonly queries: number;
  /**
   * Share of the groups found in the first hit and in the first five; for a query with more groups than hits, of as many groups
   * as there are hits.
   */
  readonly recallAt1: number;
  readonly recallAt5: number;
  /** Mean reciprocal rank of the first correct hit among the first ten. */
  readonly reciprocalRank: number;
}

const DEPTH = 10;

/** One line for each kind, in the order of the queries, and one for the total. */
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
