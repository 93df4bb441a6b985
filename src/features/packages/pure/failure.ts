import type { ReportOf } from '../report.ts';

/** Why packages cannot be fetched: one of the kinds that builders report, with a reason of at most two lines. */
export class FetchFailure extends Error {
  readonly kind: ReportOf<'failed'>['kind'];

  constructor(kind: ReportOf<'failed'>['kind'], reason: string) {
    super(reason);
    this.kind = kind;
  }
}
