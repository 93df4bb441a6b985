/**
 * Who decides whether packages are fetched. A name can carry data out, so a name outside the list of common packages reaches no
 * index before the person has seen it.
 */
import { BridgeError, toBridgeError } from '../base/errors.ts';
import { COMMAND } from '../base/package.ts';
import { didYouMean } from '../base/suggest.ts';
import type { CallContext } from '../session/dispatch.ts';
import type { Settings } from '../settings/settings.ts';
import { COMMON_PACKAGES } from './common.ts';
import type { Requirement } from './requirement.ts';

export type PackagesMode = Settings['packages'];

/** Of a suggestion: short names have many neighbours. Chosen. */
const NEAR_SCORE = 0.7;

/** Who allowed an installation: the list of common packages, the setting `any`, or the user. */
export type AllowedBy = 'common' | 'setting' | 'user';

/**
 * Resolves with who allows it. Rejects with `CALL_REFUSED` if packages are off, `APPROVAL_UNAVAILABLE` if no one can be asked,
 * `APPROVAL_DENIED`, and the errors of `Asker.ask`.
 */
export async function askToInstall(
  requirements: readonly Requirement[],
  mode: PackagesMode,
  { asker, session, signal }: Pick<CallContext, 'asker' | 'session' | 'signal'>,
): Promise<AllowedBy> {
  refuseIfOff(mode, requirements);
  if (mode === 'any') {
    return 'setting';
  }
  const doubtful = mode === 'ask' ? requirements : requirements.filter(({ name }) => !COMMON_PACKAGES.has(name));
  if (doubtful.length === 0) {
    return 'common';
  }
  const names = doubtful.map(({ name }) => name).join(', ');
  const why = mode === 'ask' ? 'MCP_BRIDGE_PACKAGES is ask' : `not in the list of common packages: ${names}`;
  const what = `${requirements.map(({ text }) => text).join(', ')} was not installed: ${why}`;
  const hint = `Only the user can allow this, with MCP_BRIDGE_PACKAGES=any, or with an image that has it: ${COMMAND} image build --packages ${names.replaceAll(' ', '')}`;
  if (asker === undefined) {
    const near = COMMON_PACKAGES.has(doubtful[0]?.name ?? '') ? '' : await nearNames(doubtful);
    throw new BridgeError('APPROVAL_UNAVAILABLE', `${what}, and this client cannot ask the user`, {
      hint: `${hint}${near}`,
    });
  }
  const form = {
    mode: 'form' as const,
    message: [
      `Code in session '${session}' wants to install packages from the package index:`,
      // Requirements consist of harmless characters; indented, a client shows them as code.
      requirements.map(({ text }) => `    ${text}`).join('\n'),
      'What they need is installed with them. Code in the sandbox can then import them; they have no network and no other rights.',
    ].join('\n\n'),
    requestedSchema: {
      type: 'object',
      properties: { install: { type: 'boolean', title: 'Install these packages?', default: false } },
      required: [],
    },
  };
  const reply = await asker.ask(form, signal).catch((error: unknown) => {
    const { code, message } = toBridgeError(error);
    throw new BridgeError(code, `${what}: ${message}`, { hint, cause: error });
  });
  if (reply.action !== 'accept' || reply.content?.['install'] !== true) {
    throw new BridgeError('APPROVAL_DENIED', `${names} was not installed: the user was asked and did not allow it`, {
      hint: 'Continue without it, or ask the user what to do instead.',
    });
  }
  return 'user';
}

/** Most names that are not in the list are, with a typing error. */
async function nearNames([first]: readonly Requirement[]): Promise<string> {
  const near = first === undefined ? '' : await didYouMean(first.name, [...COMMON_PACKAGES], NEAR_SCORE);
  return near === '' ? '' : `.${near}`;
}

/** Throws `CALL_REFUSED` if nothing may be installed. */
export function refuseIfOff(mode: PackagesMode, requirements: readonly Requirement[]): void {
  if (mode === 'off') {
    const names = requirements.map(({ name }) => name).join(',');
    throw new BridgeError('CALL_REFUSED', 'packages cannot be installed, because MCP_BRIDGE_PACKAGES is off', {
      hint: `The user can set MCP_BRIDGE_PACKAGES=common, or use an image that has it: ${COMMAND} image build --packages ${names}`,
    });
  }
}
