/** How runs have ended since an answer last said it, for the next answer to a client of the user. */
import { COMMAND } from '../../core/base/package.ts';
import { counted } from '../../core/base/units.ts';
import { newsLine } from './report.ts';
import { type Entry, ScheduleStore } from './store.ts';

/** Older ones are only counted. Chosen. */
const MAX_LINES = 3;

/** Never rejects. Empty if there is nothing new. */
export async function takeNews(stateDir: string): Promise<readonly string[]> {
  const store = new ScheduleStore(stateDir);
  try {
    const news = (await store.names()).map(async (name) => {
      const entry = await store.read(name).catch(() => undefined);
      const runs = entry === undefined ? [] : await store.takeNews(name);
      return runs.map(({ id, run }) => ({ id, line: newsLine({ name, entry: entry as Entry, run }) }));
    });
    const all = (await Promise.all(news)).flat().toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const earlier = all.length - MAX_LINES;
    return [
      ...(earlier > 0 ? [`${counted(earlier, 'earlier scheduled run')} ended as well: ${COMMAND} schedule list`] : []),
      ...all.slice(-MAX_LINES).map(({ line }) => line),
    ];
  } catch {
    return [];
  }
}
