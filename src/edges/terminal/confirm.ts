/** Asks the person at the terminal before something is done. */
import { BridgeError } from '../../core/base/errors.ts';
import type { CommandHost } from './command.ts';

/**
 * Resolves if the person agrees, or if `isSure`. Rejects with `APPROVAL_DENIED` if not, and with `USAGE_INVALID` if there is no
 * terminal to ask at.
 */
export async function confirm(
  question: string,
  isSure: boolean,
  { findPerson }: Pick<CommandHost, 'findPerson'>,
): Promise<void> {
  if (isSure) {
    return;
  }
  const person = await findPerson();
  if (person === undefined) {
    throw new BridgeError('USAGE_INVALID', 'there is no terminal to ask at', {
      hint: 'Read the source, then add --yes.',
    });
  }
  const properties = { yes: { type: 'boolean', title: question, default: false } };
  const form = { mode: 'form' as const, message: '', requestedSchema: { type: 'object', properties, required: [] } };
  const reply = await person.ask(form, new AbortController().signal);
  if (reply.action !== 'accept' || reply.content?.['yes'] !== true) {
    throw new BridgeError('APPROVAL_DENIED', 'nothing was changed');
  }
}
