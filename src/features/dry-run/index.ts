/** Answers calls that could change something with a stand-in, and lists them. */
export { DryRun, markDryRun } from './dry-run.ts';
