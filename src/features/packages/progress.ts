/** What a builder does, in words. */

import { sizeText } from '../../core/base/units.ts';
import type { ReportOf } from './report.ts';

/** A function that describes each report. It remembers what is being fetched. */
export function progressOf(): (report: ReportOf<'progress'>) => string {
  let fetched = 'packages';
  return ({ done, names, stage, total }) => {
    if (stage !== 'fetch') {
      return stage === 'tool' ? 'fetching pip' : 'choosing versions';
    }
    fetched = names?.join(', ') ?? fetched;
    const size = done === undefined ? '' : `: ${sizeText(done)}${total ? ` of ${sizeText(total)}` : ''}`;
    return `fetching ${fetched}${size}`;
  };
}
