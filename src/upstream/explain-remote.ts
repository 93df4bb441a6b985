/** What to say of a remote server that fails: which code, and the next step. Pure. */
import type { ErrorCode } from '../base/errors.ts';
import type { RemoteDefinition } from '../base/server-definition.ts';
import { type RemoteFailure, refusesHostName } from './http/remote-failure.ts';

interface RemoteExplanation {
  readonly code: ErrorCode;
  readonly hint: string;
}

/** Errors of a connection that was never made: nothing can have had an effect. */
const NEVER_SENT = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|no connection within|certificate/i;
/** As `describeProxy` names one. */
const PROXY = /the proxy \S+ \((\w+)\)/;

/** `isCall`: a tool was called, and may have done something. */
export function explainRemote(
  definition: RemoteDefinition,
  failure: RemoteFailure,
  { isCall, env }: { readonly isCall: boolean; readonly env: Readonly<Record<string, string | undefined>> },
): RemoteExplanation {
  const place = `'${definition.name}' in ${definition.file}`;
  switch (failure.kind) {
    case 'login':
      return { code: 'LOGIN_REQUIRED', hint: `Correct "headers" of ${place}: the server wants other credentials.` };
    case 'protocol':
      if (refusesHostName(failure.status, failure.message)) {
        return {
          code: 'SERVER_PROTOCOL',
          hint: `The server answers under another name: correct the host in "url" of ${place} (localhost and 127.0.0.1 are two names).`,
        };
      }
      return {
        code: 'SERVER_PROTOCOL',
        hint: `Check that "url" of ${place} is the address of its MCP endpoint; it is often at /mcp or /sse.`,
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
      ? `Check that it is running and that "url" of '${name}' in ${file} is right.`
      : 'The server itself reports a fault; try again later.',
  ];
  const [, variable] = (failure.status === undefined && PROXY.exec(failure.message)) || [];
  if (variable !== undefined) {
    return `Check the value of ${variable} that this bridge was started with, and that the proxy allows the connection. NO_PROXY lists the hosts that are reached without a proxy.`;
  }
  const unused = ['all_proxy', 'ALL_PROXY'].find((candidate) => (env[candidate] ?? '') !== '');
  if (failure.status === undefined && unused !== undefined) {
    steps.push(`${unused} is not used; HTTPS_PROXY and HTTP_PROXY are.`);
  }
  if (isCall && !NEVER_SENT.test(failure.message)) {
    steps.push('The call may have had an effect.');
  }
  return steps.join(' ');
}
