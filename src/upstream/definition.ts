/** What the upstream part needs to know of a configured server. */
export interface UpstreamDefinition {
  /** Name in the configuration; the only name by which the server is known here. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Variables of the entry; their values are masked in every message. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  /** Values of it that are secret whatever they are named; masked in everything the server says. */
  readonly secrets?: readonly string[] | undefined;
  /** Longest time of one call; undefined leaves it to the caller. */
  readonly timeoutMs: number | undefined;
  /** Two definitions with the same hash start the same process. */
  readonly definitionHash: string;
  /** The file it stands in, for hints. */
  readonly file: string;
}

/** A JSON object as it came off the wire: nothing about its members is known. */
export type JsonObject = Record<string, unknown>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
