/** Where the result of a call says how the next page is asked for. */

/** The key in `_meta` of a result. Its value has `arguments`: those of the call that returns the next page. */
export const NEXT_PAGE_META = 'bridge/next-page';
