/** The reports of the child on stderr, in the form of the supervisor of the container engines. */
import type { SupervisorReport } from '../../../protocol/frames.ts';
import { writeWhole } from './host-output.ts';

const STDERR = 2;

export function report(words: SupervisorReport): void {
  writeWhole(STDERR, Buffer.from(`${JSON.stringify(words)}\n`));
}
