/** What a stored secret may be called, and how long it may be. */

/** As in `${secret:NAME}`. */
export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;
/** A service account in JSON has 2.5 kB; a secret larger than this is a mistake. */
export const MAX_SECRET_BYTES = 64 * 1024;
