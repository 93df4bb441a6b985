/** Where the actions of `servers` write. */

/** Prints `json` as JSON where that is wanted, else the text. */
export type Print = (json: unknown, text: () => string) => void;

export interface Output {
  readonly print: Print;
  readonly writeError: (text: string) => void;
  /** What is said when there is no server. */
  readonly nothing: string;
}
