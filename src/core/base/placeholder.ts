/** The text that stands for a key in a sandbox. */
import { createHmac } from 'node:crypto';

const CHARS = 32;
/** Access key ids of AWS have 20 characters, in upper case. */
const AWS_ID = 'AKIA';
const AWS_ID_CHARS = 16;

/** The same as long as `seed` is, so that what a session has stored of it still holds after a restart. */
export function placeholderFor(
  seed: Buffer,
  {
    name,
    prefix = '',
    server,
  }: { readonly server: string; readonly name: string; readonly prefix?: string | undefined },
): string {
  const digits = createHmac('sha256', seed)
    .update(JSON.stringify([server, name]))
    .digest('hex');
  return prefix === AWS_ID
    ? `${AWS_ID}${digits.slice(0, AWS_ID_CHARS).toUpperCase()}`
    : `${prefix === '' ? 'bridge-key-' : prefix}${digits.slice(0, CHARS)}`;
}
