/**
 * Reads a sandbox's stderr: reports of the supervisor, mixed with other output, whose end is kept for error messages.
 */
import type { Readable } from 'node:stream';
import { KEPT_STDERR_BYTES } from '../base/limits.ts';
import { type SupervisorReport, SupervisorReportSchema } from '../protocol/frames.ts';
import { LineSplitter } from '../protocol/line-splitter.ts';
import { JSON_BOUNDS, readUntrusted } from '../protocol/untrusted-json.ts';

const REPORT_PREFIX = '{"report":';
/** A sandbox reports that it has started, and that it has ended. Chosen. */
const MAX_KEPT_REPORTS = 4;
/** The last report carries what two pipes of 1 MiB hold, in base64. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;

export type StartedReport = Extract<SupervisorReport, { report: 'started' }>;
export type EndedReport = Extract<SupervisorReport, { report: 'ended' }>;

export interface SupervisorWatch {
  /** The end of stderr without the reports, at most 4 KiB. */
  tail(): string;
  /** Calls `onReport` for each report, first for those that have arrived before. The next call replaces it. */
  follow(onReport: (report: SupervisorReport) => void): void;
}

/** Reads the reports on `stderr`, and keeps the rest. */
export function watchSupervisor(stderr: Readable): SupervisorWatch {
  let tail = '';
  /** There are two kinds; code in the sandbox may write more of them. */
  const reports: SupervisorReport[] = [];
  let follower: ((report: SupervisorReport) => void) | undefined;
  function keep(text: string): void {
    tail = `${tail}${text}\n`.slice(-KEPT_STDERR_BYTES);
  }
  const lines = new LineSplitter(
    MAX_LINE_BYTES,
    (line) => {
      const text = line.toString('utf8');
      const report = text.startsWith(REPORT_PREFIX) ? parseReport(text) : undefined;
      if (report === undefined) {
        keep(text);
      } else {
        if (reports.length < MAX_KEPT_REPORTS) {
          reports.push(report);
        }
        follower?.(report);
      }
    },
    (bytes) => keep(`[a line of ${bytes} bytes was left out]`),
  );
  stderr.on('data', (chunk: Buffer) => lines.push(chunk));
  return {
    tail: () => tail.trim(),
    follow(onReport) {
      follower = onReport;
      reports.forEach(onReport);
    },
  };
}

function parseReport(text: string): SupervisorReport | undefined {
  // What is no report is kept as other output.
  const read = readUntrusted(text, JSON_BOUNDS.frame);
  return read.ok ? SupervisorReportSchema.safeParse(read.value).data : undefined;
}

/** Why a worker ended, as one clause: `it ran out of memory (limit 512 MiB)`. */
export function describeSandboxEnd(report: EndedReport, memoryBytes: number, pids: number): string {
  switch (report.cause) {
    case 'memory':
      return `it ran out of memory (limit ${formatMebibytes(memoryBytes)})`;
    case 'pids':
      return `it started too many processes (limit ${pids})`;
    case 'signal':
      return `Python was ended by signal ${report.signal}${signalHint(report.signal)}`;
    case 'exit':
      return `Python ended itself with exit code ${report.exit_code}`;
    case 'failed':
      return `the sandbox could not be set up: ${report.detail ?? 'no reason was given'}`;
  }
}

/** What helps if the limit is too low, for whoever writes the code, and for the user. */
export function adviseOnMemory(memoryBytes: number): string {
  const more = Math.ceil((2 * memoryBytes) / 1024 / 1024);
  return `Hold less at once: read tables in parts (chunksize=) or fewer columns (usecols=), avoid copies, and del what you no longer need. The user can raise the limit: MCP_BRIDGE_MEMORY=${more}m.`;
}

function signalHint(signal: number | null): string {
  const names: Readonly<Record<number, string>> = {
    6: ' (SIGABRT)',
    7: ' (SIGBUS)',
    9: ' (SIGKILL)',
    11: ' (SIGSEGV)',
  };
  return signal === null ? '' : (names[signal] ?? '');
}

function formatMebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024).toLocaleString('en-US')} MiB`;
}
