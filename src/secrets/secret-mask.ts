/** Masks the secrets of all configured servers at once, in what belongs to none of them. */
import { createChangingMask } from '../upstream/result-mask.ts';

/** A text, or any other JSON value, with what is secret in it replaced. */
export type MaskSecrets = <Value>(value: Value) => Value;

/** @param secrets those of now, asked for at each use; the same array as long as nothing changed. */
export function createSecretMask(secrets: () => readonly string[]): MaskSecrets {
  const mask = createChangingMask(secrets);
  return <Value>(value: Value) => mask.maskValue(value) as Value;
}
