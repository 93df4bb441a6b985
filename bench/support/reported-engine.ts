/** On which engine a bridge ran a cell, in its own words: what a row says it was measured on. */

/** The engine that the structured content of an answer names; only the first answer of a session does. */
export function reportedEngine(structured: unknown): string | undefined {
  const { engine } = Object(structured) as { engine?: { name?: unknown } };
  return typeof engine?.name === 'string' ? engine.name : undefined;
}

/** Throws when a bridge ran a cell on another engine than the one its figures are for. */
export function assertEngine(reported: string | undefined, wanted: string): void {
  if (reported !== undefined && reported !== wanted) {
    throw new Error(`the bridge ran it on ${reported}, not on ${wanted}`);
  }
}
