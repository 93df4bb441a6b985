/** The value of `MCP_BRIDGE_TOOLS`: which tools the client sees. */

export const FRONT_TOOLS = ['run_python', 'execute_code', 'executer', 'sessions'] as const;
export type FrontToolName = (typeof FRONT_TOOLS)[number];

/** Tools that have no name of their own in the setting. */
const PARTS: Readonly<Record<string, FrontToolName>> = {
  start_code_executer: 'executer',
  stop_code_executer: 'executer',
};
const MAX_SHOWN_NAME_CHARS = 40;
/** Share of letter pairs that a misspelled name must have in common with the right one. Chosen. */
const MIN_LIKENESS = 0.3;

/** The names in the order given, each once. Throws an `Error` that names the first unknown one, and what was probably meant. */
export function parseFrontTools(text: string): readonly FrontToolName[] {
  const given = text.split(',').map((part) => part.trim());
  const named = given.filter((name) => name !== '');
  if (named.length === 0) {
    throw new Error('it names no tool');
  }
  return [...new Set(named.map(toFrontTool))];
}

function toFrontTool(name: string): FrontToolName {
  const found = FRONT_TOOLS.find((known) => known === name);
  if (found !== undefined) {
    return found;
  }
  const whole = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
  const near = whole ?? nearestTo(name);
  const guess = near === undefined ? '' : `; did you mean ${near}?`;
  throw new Error(`there is no tool '${name.slice(0, MAX_SHOWN_NAME_CHARS)}'${guess}`);
}

function nearestTo(name: string): FrontToolName | undefined {
  return FRONT_TOOLS.map((known) => ({ known, likeness: likenessOf(name, known) }))
    .filter(({ likeness }) => likeness >= MIN_LIKENESS)
    .toSorted((a, b) => b.likeness - a.likeness)[0]?.known;
}

/** From 0 to 1 (Dice coefficient). Settings are read before anything else, so this must not load a library. */
function likenessOf(a: string, b: string): number {
  const [left, right] = [pairsOf(a), pairsOf(b)];
  const common = [...left].filter((pair) => right.has(pair)).length;
  return (2 * common) / Math.max(1, left.size + right.size);
}

/** The pairs of letters that follow each other. Case and separators do not count. */
function pairsOf(name: string): Set<string> {
  const letters = name
    .slice(0, MAX_SHOWN_NAME_CHARS)
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '');
  return new Set(Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2)));
}
