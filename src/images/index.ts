/** The images of sandboxes: list, pull, build, prune. */
export { imageCommand } from './command.ts';
