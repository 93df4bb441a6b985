/** What code can ask about servers that are not configured: finding them, and proposing one to the user. */
export { type NewServersOptions, newServerMethods } from './methods.ts';
