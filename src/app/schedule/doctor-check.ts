/** What `doctor` reports about schedules: those that cannot run now, and whether anything looks for what is due. */
import { toBridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { counted } from '../../core/base/units.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import { type Examination, type Finding, problemOf } from '../../edges/terminal/finding.ts';
import { examineSchedule } from './preflight.ts';
import { ScheduleStore } from './store.ts';
import { whyNotWoken } from './waking.ts';

const section = 'machine';

interface SavedFunctions {
  find(name: string, settings: Settings): ReturnType<CommandContext['findFunction']>;
  list(settings: Settings): ReturnType<CommandContext['listFunctions']>;
}

export function examineSchedules(functions: SavedFunctions): Examination {
  return async ({ servers, settings }) => {
    const store = new ScheduleStore(settings.stateDir);
    const names = await store.names().catch(() => []);
    if (names.length === 0) {
      return [];
    }
    const found = names.map(async (name): Promise<Finding[]> => {
      try {
        const entry = await store.read(name);
        const work = { name, entry, runs: await store.runs(name), now: new Date() };
        const context = {
          findFunction: (tool: string) => functions.find(tool, settings),
          listFunctions: () => functions.list(settings),
          openServers: async () => servers,
        };
        const { problems } = await examineSchedule(work, context, true);
        return problems.map((problem) => {
          const finding = problemOf(section, problem);
          return { ...finding, level: 'warning', text: `schedule ${name} cannot run: ${finding.text}` };
        });
      } catch (error) {
        return [problemOf(section, toBridgeError(error))];
      }
    });
    const why = await whyNotWoken(settings.stateDir);
    const hint = `Run: ${COMMAND} schedule system`;
    const state: Finding =
      why === undefined
        ? { section, level: 'ok', text: `${counted(names.length, 'schedule')}, looked at each minute` }
        : {
            section,
            level: 'warning',
            text: `${counted(names.length, 'schedule')}, and nothing looks for what is due`,
            hint,
          };
    return [state, ...(await Promise.all(found)).flat()];
  };
}
