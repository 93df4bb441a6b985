/** The commands that show, change, test and call the configured servers. */
export { serversCommand } from './command.ts';
export { readExamples } from './examples.ts';
