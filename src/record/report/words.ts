/** Numbers, times and names as the report shows them. */

/** Names come from code and servers, which may choose any length. */
const MAX_NAME_CHARS = 80;

export function shownCount(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function shownPercent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

export function shownDuration(ms: number | null): string {
  if (ms === null) {
    return '–';
  }
  return ms < 10_000 ? `${Number(ms.toPrecision(3))} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** To the second. */
export function shownTime(at: string): string {
  return at.slice(0, 'YYYY-MM-DDThh:mm:ss'.length).replace('T', ' ');
}

export function shortName(text: string): string {
  return text.length <= MAX_NAME_CHARS ? text : `${text.slice(0, MAX_NAME_CHARS).toWellFormed()}…`;
}
