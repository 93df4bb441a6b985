/** Settings that were refused, as one error. */
import { BridgeError } from '../base/errors.ts';

export interface RefusedSetting {
  readonly variable: string;
  /** What it is, and what is allowed. */
  readonly sentence: string;
}

/** The variables for which `loadSettings` threw `error`; none when it is another error. */
export function refusedVariables({ data }: BridgeError): readonly string[] {
  return (data['variables'] as readonly string[] | undefined) ?? [];
}

/** `CONFIG_INVALID` that names them all. */
export function refusal(refused: readonly RefusedSetting[]): BridgeError {
  const sentences = refused.map(({ sentence }) => sentence);
  const message =
    sentences.length === 1
      ? sentences.join()
      : `${sentences.length} settings were refused:\n  ${sentences.join('\n  ')}`;
  return new BridgeError('CONFIG_INVALID', message, {
    data: { sentences, variables: refused.map(({ variable }) => variable) },
    hint: 'Correct or remove it in the environment, usually the "env" of the entry that registers this server.',
  });
}
