/** A page in the browser that shows what agents do, and its server. */
export { uiCommand } from './command.ts';
export type { UiParts } from './parts.ts';
