/** What a principal uses at the moment, in all its profiles together: its limits are not higher because it uses several. */
import { AnswerRoom } from '../answer-room.ts';
import type { HttpLimits } from './limits.ts';
import { RequestRate } from './request-rate.ts';

export class ClientUse {
  readonly rate: RequestRate;
  readonly answers: AnswerRoom;
  /** Requests and streams that are open. */
  openRequests = 0;
  /** Cells and programs that run or wait. */
  cells = 0;
  /** What the bodies of requests take that are not answered. */
  bodyBytes = 0;

  constructor({ maxRequestsPerSecond, maxUnreadBytes }: Pick<HttpLimits, 'maxRequestsPerSecond' | 'maxUnreadBytes'>) {
    this.rate = new RequestRate(maxRequestsPerSecond);
    this.answers = new AnswerRoom(maxUnreadBytes);
  }
}
