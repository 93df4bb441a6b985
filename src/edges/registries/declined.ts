/** Servers that the person has declined, by name and version, so that code does not propose them again: `.declined-servers.json`. */
import { join } from 'node:path';
import { z } from 'zod';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { changeJsonFile } from '../../core/state/change-file.ts';
import { readBounded } from '../../core/state/state-files.ts';

/** Beyond this, the oldest are forgotten, and may be proposed again. Chosen. */
const MAX_DECLINED = 500;
const MAX_FILE_BYTES = 1024 * 1024;

const DeclinedSchema = z.object({
  version: z.literal(1),
  declined: z.array(z.object({ name: z.string(), version: z.string(), at: z.string() })),
});
type Declined = z.infer<typeof DeclinedSchema>['declined'];

export class DeclinedServers {
  readonly #file: string;

  constructor(stateDir: string) {
    // The dot keeps it apart from server files, which may have any other name.
    this.#file = join(stateDir, '.declined-servers.json');
  }

  /** When it was declined; undefined if it was not. */
  async since(name: string, version: string): Promise<string | undefined> {
    return (await this.#read()).find((one) => one.name === name && one.version === version)?.at;
  }

  /** Rejects with `STATE_WRITE_FAILED`. */
  async add(name: string, version: string): Promise<void> {
    await changeJsonFile(this.#file, async () => {
      const others = (await this.#read()).filter((one) => one.name !== name || one.version !== version);
      return {
        version: 1,
        declined: [...others, { name, version, at: new Date().toISOString() }].slice(-MAX_DECLINED),
      };
    });
  }

  /** Resolves with how many versions were forgotten. Rejects with `STATE_WRITE_FAILED`. */
  async forget(name: string): Promise<number> {
    const before = await this.#read();
    const kept = before.filter((one) => one.name !== name);
    if (kept.length < before.length) {
      await changeJsonFile(this.#file, async () => ({ version: 1, declined: kept }));
    }
    return before.length - kept.length;
  }

  async #read(): Promise<Declined> {
    const read = readUntrusted(await readBounded(this.#file, MAX_FILE_BYTES).catch(() => ''), JSON_BOUNDS.request);
    const parsed = DeclinedSchema.safeParse(read.ok ? read.value : undefined);
    return parsed.success ? parsed.data.declined : [];
  }
}
