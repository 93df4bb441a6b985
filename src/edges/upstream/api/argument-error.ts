/** How a call with unusable arguments is rejected, before anything is sent. */
import { RequestError } from '../../../core/protocol/server-requests.ts';

const INVALID_PARAMS = -32_602;
const SHOWN_CHARS = 80;

/** `fault` is a predicate whose subject is the argument. */
export function argumentError(argument: string, fault: string): RequestError {
  return invalidArguments(`the argument '${argument.slice(0, SHOWN_CHARS)}' ${fault}`);
}

export function invalidArguments(message: string): RequestError {
  return new RequestError('rpc', message, { code: INVALID_PARAMS });
}
