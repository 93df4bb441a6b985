/** Where the actions of `servers` write. */

import type { Progress } from './progress.ts';

/** Prints `json` as JSON where that is wanted, else the text. */
export type Print = (json: unknown, text: () => string) => void;

export interface Output {
  readonly print: Print;
  readonly writeError: (text: string) => void;
  /** For what takes long; it is taken away before anything is printed. */
  readonly startProgress: () => Promise<Progress>;
  /** What is said when there is no server. */
  readonly nothing: string;
}
