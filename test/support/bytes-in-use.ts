/** How much memory a bridge needs, without garbage. Its resident memory depends on the last garbage collection. */
import { EventEmitter, once } from 'node:events';

const REPORT = /^bytes in use: (\d+)$/m;

/** Start the bridge with `nodeArguments`, and pass on what it logs. */
export class BytesInUse {
  readonly nodeArguments = ['--import', new URL('../fixtures/collect-garbage.mjs', import.meta.url).href];
  readonly #reports = new EventEmitter();

  /** Notes what the bridge logs; returns it without the reports. */
  takeLog(text: string): string {
    const bytes = REPORT.exec(text)?.[1];
    if (bytes !== undefined) {
      this.#reports.emit('report', Number(bytes));
    }
    return text.replace(REPORT, '').trimStart();
  }

  /** Collects garbage in the bridge and resolves with the bytes that are left. */
  async measure(pid: number): Promise<number> {
    const report = once(this.#reports, 'report');
    process.kill(pid, 'SIGUSR2');
    const [bytes] = (await report) as [number];
    return bytes;
  }
}
