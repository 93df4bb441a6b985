/** Questions of scheduled runs in words. */
import type { WaitingQuestion } from '../../core/base/waiting-question.ts';
import { oneLine } from '../../core/catalog/visible.ts';

const MINUTE_MS = 60_000;
const MAX_SUMMARY_CHARS = 100;

/** The local time, such as `07:00`, with the day unless that is today. */
export function whenAsked({ askedAt }: Pick<WaitingQuestion, 'askedAt'>, now = new Date()): string {
  const [asked, today] = [new Date(askedAt), now].map(localTime);
  return asked?.slice(0, 10) === today?.slice(0, 10) ? (asked?.slice(11) ?? '') : (asked ?? '');
}

/** The calls that it is about, or the beginning of what it says. */
export function summaryOf({ question }: WaitingQuestion): string {
  const calls = question.mode === 'form' ? (question.calls ?? []) : [];
  const tools = [...new Set(calls.map(({ server, tool }) => `${server}.${tool}`))].join(', ');
  return oneLine(tools === '' ? question.message : tools, MAX_SUMMARY_CHARS);
}

export function askerOf({ run, schedule }: WaitingQuestion): string {
  return `Schedule '${oneLine(schedule, MAX_SUMMARY_CHARS)}', run ${oneLine(run, MAX_SUMMARY_CHARS)}`;
}

/** As `2026-11-30 07:00`. */
function localTime(time: Date): string {
  const offsetMs = time.getTimezoneOffset() * MINUTE_MS;
  return new Date(time.getTime() - offsetMs).toISOString().slice(0, 16).replace('T', ' ');
}
