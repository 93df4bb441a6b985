/**
 * Sentences that were said in the last day, so that bridges do not repeat at each start what is true of the machine. `.cache/said.json`
 * in a state directory has a hash of each and when it was said. If the file cannot be used, everything is said each time.
 */
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { hashText } from './file-consents.ts';
import { withFileLock } from './file-lock.ts';
import { ensureDirectory, readBounded, writeAtomically } from './state-files.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** The oldest are forgotten, and so said again. Chosen: a machine has about five. */
const MAX_SAID = 200;
const MAX_FILE_BYTES = 64 * 1024;
/** A lock that a dead process left, or a slow disk, must not delay an answer. Chosen. */
const LIMIT_MS = 1000;

const SaidSchema = z.array(z.object({ sha256: z.string(), at: z.number() }));
type Said = z.infer<typeof SaidSchema>;

/**
 * Whether the sentence was not said in the last day; then no other bridge that asks for the same directory says it today. Never rejects.
 * `stateDir` may be that of a principal.
 */
export async function isDueToday(stateDir: string, sentence: string): Promise<boolean> {
  const file = join(stateDir, '.cache', 'said.json');
  const sha256 = hashText(sentence);
  if (includes(await read(file), sha256)) {
    return false;
  }
  const noted = note(file, sha256).catch(() => true);
  return Promise.race([noted, sleep(LIMIT_MS, true, { ref: false })]);
}

/** Resolves with false if another bridge has said it meanwhile. */
async function note(file: string, sha256: string): Promise<boolean> {
  await ensureDirectory(dirname(file));
  return withFileLock(`${file}.lock`, async () => {
    const said = await read(file);
    if (includes(said, sha256)) {
      return false;
    }
    const now = [...said, { sha256, at: Date.now() }].slice(-MAX_SAID);
    await writeAtomically(file, [JSON.stringify(now)], { isDurable: false });
    return true;
  });
}

function includes(said: Said, sha256: string): boolean {
  return said.some((one) => one.sha256 === sha256);
}

/** What was said in the last day. Whatever else the file has counts as nothing, and so does a time to come. */
async function read(file: string): Promise<Said> {
  try {
    const said = SaidSchema.parse(JSON.parse((await readBounded(file, MAX_FILE_BYTES)).toString('utf8')));
    const now = Date.now();
    return said.filter(({ at }) => at <= now && now - at < DAY_MS);
  } catch {
    return [];
  }
}
