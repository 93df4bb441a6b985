/** The answer as the text a person would expect in a terminal; nothing is spent on what went well. */
import type { Payload } from './payload.ts';

/** Notices; for a failure `status:` and `exit:`; what was printed; the value; `stderr:` and its lines; the error. */
export function renderCompact(payload: Payload): string {
  const lines = [...(payload.notices ?? [])];
  if (payload.status !== 'success') {
    lines.push(`status: ${payload.status}`);
    if (payload.exitCode !== undefined) {
      lines.push(`exit: ${payload.exitCode}`);
    }
  }
  lines.push(...(payload.stdout ?? []));
  if (payload.result !== undefined) {
    lines.push(payload.result);
  }
  if (payload.stderr !== undefined) {
    lines.push('stderr:', ...payload.stderr);
  }
  if (payload.error !== undefined) {
    // A header is needed only where the error could be taken for more of stderr.
    lines.push(...(payload.stderr === undefined ? [] : ['error:']), payload.error);
  }
  const isSilent = payload.stdout === undefined && payload.stderr === undefined && payload.result === undefined;
  if (isSilent && payload.error === undefined) {
    lines.push(payload.summary);
  }
  return lines.join('\n');
}
