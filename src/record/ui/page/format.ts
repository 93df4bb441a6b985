/** Numbers, times and sizes as the page shows them. Pure: the clock is passed in. */

const COUNTS = new Intl.NumberFormat('en-US');
const KIB = 1024;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export function formatCount(value: number): string {
  return COUNTS.format(Math.round(value));
}

/** `1 cell`, `2 cells`. */
export function formatNumberOf(value: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(value)} ${value === 1 ? noun : plural}`;
}

/** Short, for axes: `12k`, `3.4M`. */
export function formatShortCount(value: number): string {
  const [divisor, unit] = value >= 1e9 ? [1e9, 'B'] : value >= 1e6 ? [1e6, 'M'] : value >= 1e4 ? [1e3, 'k'] : [1, ''];
  return `${Number((value / divisor).toPrecision(3))}${unit}`;
}

export function formatShare(part: number, whole: number): string {
  if (whole === 0 || part === 0) {
    return '0 %';
  }
  const percent = (part / whole) * 100;
  return percent < 1 ? '<1 %' : `${Math.round(percent)} %`;
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [value, unit] = [bytes, 0];
  while (value >= KIB && unit < units.length - 1) {
    value /= KIB;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${units[unit] ?? ''}`;
}

/** How long something took. */
export function formatDuration(ms: number | undefined): string {
  if (ms === undefined) {
    return '–';
  }
  if (ms < SECOND_MS) {
    return ms < 10 ? `${Number(ms.toFixed(1))} ms` : `${Math.round(ms)} ms`;
  }
  return ms < MINUTE_MS ? `${(ms / SECOND_MS).toFixed(ms < 10 * SECOND_MS ? 2 : 1)} s` : formatAge(ms);
}

/** The two largest units: `2 d 3 h`, `4 min 5 s`. */
export function formatAge(ms: number): string {
  const left = Math.max(0, ms);
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(left / DAY_MS), 'd'],
    [Math.floor((left % DAY_MS) / HOUR_MS), 'h'],
    [Math.floor((left % HOUR_MS) / MINUTE_MS), 'min'],
    [Math.floor((left % MINUTE_MS) / SECOND_MS), 's'],
  ];
  const first = parts.findIndex(([value]) => value > 0);
  const shown = first === -1 ? parts.slice(-1) : parts.slice(first, first + 2).filter(([value]) => value > 0);
  return shown.map(([value, unit]) => `${value} ${unit}`).join(' ');
}

/** In the reader's time zone, to the second; without the day if it is today. */
export function formatWhen(at: string, now: number): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) {
    return at;
  }
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':');
  return day(time) === day(new Date(now)) ? clock : `${day(time)} ${clock}`;
}
