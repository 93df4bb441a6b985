/** The error code and the next step for a failing remote server. Pure. */
import type { ErrorCode } from '../../core/base/errors.ts';
import type { RemoteDefinition } from '../../core/base/server-definition.ts';
import { type RemoteFailure, refusesHostName } from './http/remote-failure.ts';

interface RemoteExplanation {
  readonly code: ErrorCode;
  readonly hint: string;
}

/** The connection was never made, so the call cannot have had an effect. */
const NEVER_SENT = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|no connection within|certificate/i;
/** The format of `describeProxy`. */
const PROXY = /the proxy \S+ \((\w+)\)/;

/** `isCall`: the failed request was a tool call, which may have had an effect. */
export function explainRemote(
  definition: RemoteDefinition,
  failure: RemoteFailure,
  { isCall, env }: { readonly isCall: boolean; readonly env: Readonly<Record<string, string | undefined>> },
): RemoteExplanation {
  const place = `'${definition.name}' in ${definition.file}`;
  switch (failure.kind) {
    case 'login':
      return { code: 'LOGIN_REQUIRED', hint: `Correct "headers" of ${place}: the server requires other credentials.` };
    case 'protocol':
      if (refusesHostName(failure.status, failure.message)) {
        return {
          code: 'SERVER_PROTOCOL',
          hint: `Correct the host in "url" of ${place}: the server accepts only certain host names (localhost and 127.0.0.1 count as different names).`,
        };
      }
      return {
        code: 'SERVER_PROTOCOL',
        hint:
          failure.hint ??
          `Check that "url" of ${place} is the address of the MCP endpoint, which is often at /mcp or /sse.`,
      };
    case 'session':
    case 'unreachable':
      return { code: 'SERVER_UNREACHABLE', hint: hintForUnreachable(definition, failure, isCall, env) };
  }
}

function hintForUnreachable(
  { name, file }: RemoteDefinition,
  failure: RemoteFailure,
  isCall: boolean,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const steps = [
    failure.status === undefined
      ? `Check that it is running and that "url" of '${name}' in ${file} is correct.`
      : 'The server itself reports an error; try again later.',
  ];
  const [, variable] = (failure.status === undefined && PROXY.exec(failure.message)) || [];
  if (variable !== undefined) {
    return `Check the value of ${variable} in the bridge's environment, and whether the proxy allows the connection. NO_PROXY lists the hosts that are reached without a proxy.`;
  }
  const unused = ['all_proxy', 'ALL_PROXY'].find((candidate) => (env[candidate] ?? '') !== '');
  if (failure.status === undefined && unused !== undefined) {
    steps.push(`${unused} is ignored; set HTTPS_PROXY or HTTP_PROXY.`);
  }
  if (isCall && !NEVER_SENT.test(failure.message)) {
    steps.push('The call may have had an effect.');
  }
  return steps.join(' ');
}
