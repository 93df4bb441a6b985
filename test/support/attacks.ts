/** What the attacks in `test/attacks` share. */

/** `npm run attacks` runs every attack in full. `npm test` runs a short form: the same attacks, smaller or fewer times. */
export const isLongRun = process.env['MCP_BRIDGE_TEST_ATTACKS'] === 'long';

/** The number for this run: of a short one, or of a long one. */
export function amount(short: number, long: number): number {
  return isLongRun ? long : short;
}
