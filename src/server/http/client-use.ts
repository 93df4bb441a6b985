/** What a principal uses at the moment, in all its profiles together: its limits are not higher because it uses several. */
import { RequestRate } from './request-rate.ts';

export class ClientUse {
  readonly rate: RequestRate;
  /** Requests and streams that are open. */
  openRequests = 0;
  /** Cells and programs that run or wait. */
  cells = 0;

  constructor(maxRequestsPerSecond: number) {
    this.rate = new RequestRate(maxRequestsPerSecond);
  }
}
