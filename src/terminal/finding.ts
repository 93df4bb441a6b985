/** What `doctor` finds, one line each. The bridge says the same lines in its log when it cannot do its work. */

import { type ConfigIssue, renderIssue } from '../base/config-issue.ts';
import type { BridgeError, ErrorCode } from '../base/errors.ts';
import { COMMAND } from '../base/package.ts';
import type { ConfiguredServers } from '../directory/configured-servers.ts';
import type { Settings } from '../settings/settings.ts';

export const LEVELS = ['ok', 'warning', 'problem'] as const;

export interface Finding {
  /** Heading under which it is shown. */
  readonly section: 'settings' | 'machine' | 'engines' | 'servers' | 'clients';
  readonly level: (typeof LEVELS)[number];
  /** One clause: what, and the reason when it is not well. */
  readonly text: string;
  /** The command to run or the place to look, when there is one. */
  readonly hint?: string | undefined;
  /** The error that a cell or a command ends with for this reason; `help CODE` tells more. */
  readonly code?: ErrorCode | undefined;
}

/** A failure as a finding. */
export function problemOf(section: Finding['section'], { code, hint, message }: BridgeError): Finding {
  return { section, level: 'problem', text: message, hint, code };
}

/** Why no session can start. */
export function noCellRuns(error: BridgeError): Finding {
  const finding = problemOf('engines', error);
  return { ...finding, text: `no cell can run: ${finding.text}` };
}

/** Each refused setting, or the one failure that this is. */
export function problemsOfSettings(error: BridgeError): Finding[] {
  const sentences = error.data['sentences'];
  const finding = problemOf('settings', error);
  return Array.isArray(sentences) ? sentences.map((text: string) => ({ ...finding, text })) : [finding];
}

/** What `doctor` examines. */
export interface Examined {
  readonly env: NodeJS.ProcessEnv;
  readonly settings: Settings;
  /** Refreshed, and what was kept about them is read. */
  readonly servers: ConfiguredServers;
}

/** A part of `doctor` that a feature adds. Never rejects. */
export type Examination = (examined: Examined) => Promise<Finding[]>;

const LEVEL_OF_ISSUE = { error: 'problem', warning: 'warning', debug: 'ok' } as const;

/** Something about a file of servers. */
export function findingOfIssue(issue: ConfigIssue): Finding {
  const level = LEVEL_OF_ISSUE[issue.level];
  const next =
    issue.hint ?? `Fix ${issue.file}. For the format of a server file, run: ${COMMAND} help servers server-files`;
  const hint = level === 'ok' ? undefined : next;
  return { section: 'servers', level, text: renderIssue(issue), hint };
}

/** A finding on one line, for a log: `problem: TEXT → HINT`. */
export function renderLine({ hint, level, text }: Finding): string {
  return `${level}: ${text}${hint === undefined ? '' : ` → ${hint}`}`;
}
