/** Durations and sizes as people write them in settings and files, and counts as messages show them. */

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const UNIT_BYTES: Readonly<Record<string, number>> = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

/** The milliseconds in `30`, `30s`, `2m`, `1h`, `90d` or `500ms`; a plain number is in seconds. NaN for anything else. */
export function parseDurationMs(text: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/i.exec(text) ?? [];
  return Math.round(Number(amount) * (UNIT_MS[unit.toLowerCase()] ?? Number.NaN));
}

/** The bytes in `512m`, `1g`, `1.5GiB` or `536870912`; units are powers of 1024, as engines read them. NaN for anything else. */
export function parseSizeBytes(text: string): number {
  const [, amount, unit = 'b'] = /^(\d+(?:\.\d+)?)\s*(?:([bkmgt])|([kmgt])i?b)?$/i.exec(text)?.filter(Boolean) ?? [];
  return Math.floor(Number(amount) * (UNIT_BYTES[unit.toLowerCase()] ?? Number.NaN));
}

const KIBIBYTE = 1024;

/** `1 byte`, `1,024 bytes`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}

/** `0 KiB`, `12 MiB`, `1.5 GiB`. */
export function sizeText(bytes: number): string {
  const kibibytes = bytes / KIBIBYTE;
  if (kibibytes < KIBIBYTE) {
    return `${Math.ceil(kibibytes)} KiB`;
  }
  const mebibytes = kibibytes / KIBIBYTE;
  return mebibytes < KIBIBYTE ? `${Math.round(mebibytes)} MiB` : `${(mebibytes / KIBIBYTE).toFixed(1)} GiB`;
}
