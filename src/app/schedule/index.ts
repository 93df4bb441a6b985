/** Code that runs at set times, without a person, within what a run in front of one has done. */
import type { Command } from '../../edges/terminal/command.ts';
import { SCHEDULE } from './command.ts';

export { examineSchedules } from './doctor-check.ts';
export { takeNews } from './news.ts';
export { wakeSchedules } from './wake.ts';

export const scheduleCommand: Command<typeof SCHEDULE> = {
  table: SCHEDULE,
  async run(line, host) {
    const context = await host.loadContext();
    if (line.action === 'tick') {
      // It runs each minute, so it loads little.
      const [{ ScheduleStore }, { tickUntilIdle }] = await Promise.all([
        import('./store.ts'),
        import('./tick-command.ts'),
      ]);
      const store = new ScheduleStore(context.settings.stateDir);
      return tickUntilIdle({ ...context, context, store });
    }
    const { schedule } = await import('./run.ts');
    return schedule(line, { ...host, ...context });
  },
};
