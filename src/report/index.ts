/** What agents did in some time, from the audit log: as text, JSON or a page. */
export { reportCommand } from './command.ts';
