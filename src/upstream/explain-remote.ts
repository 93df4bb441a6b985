/** What to say of a remote server that fails: which code, and the next step. Pure. */
import type { ErrorCode } from '../errors.ts';
import type { RemoteDefinition } from './definition.ts';
import { type RemoteFailure, refusesHostName } from './http/remote-failure.ts';

interface RemoteExplanation {
  readonly code: ErrorCode;
  readonly hint: string;
}

/** Errors of a connection that was never made: nothing can have had an effect. */
const NEVER_SENT = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|no connection within|certificate/i;
const PROXY_VARIABLES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];

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
        hint: `Look whether "url" of ${place} is the address of its MCP endpoint; servers often have it at /mcp or /sse.`,
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
      ? `Look whether it runs, and whether "url" of '${name}' in ${file} is right.`
      : 'The server itself reports a fault; try again later.',
  ];
  const proxy = PROXY_VARIABLES.find((variable) => (env[variable] ?? '') !== '');
  if (failure.status === undefined && proxy !== undefined) {
    steps.push(`The bridge connects directly and does not use ${proxy}.`);
  }
  if (isCall && !NEVER_SENT.test(failure.message)) {
    steps.push('The call may have had an effect.');
  }
  return steps.join(' ');
}
