/** Where the result of a call says how the next page is asked for. The kernel reads it (`proxies.py`). */
import type { JsonObject } from '../../../core/base/is-object.ts';

/** The key in `_meta` of a result. Its value is a `NextPage`. */
export const NEXT_PAGE_META = 'bridge/next-page';

export type NextPage =
  | {
      /** Those of the call that returns the next page. */
      readonly arguments: JsonObject;
      /** Whether nothing in the answer says that there is more: an empty page, or the same one again, is then none. */
      readonly isGuess?: true;
    }
  /** There is more, and no argument asks for it. */
  | { readonly isOutOfReach: true };
