/** What `doctor` finds, one line each. The bridge logs the same lines when it cannot start sessions. */

import { type ConfigIssue, renderIssue } from '../../core/base/config-issue.ts';
import type { BridgeError, ErrorCode } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import type { ConfiguredServers } from '../configured/configured-servers.ts';
import type { Settings } from '../settings/settings.ts';

export const LEVELS = ['ok', 'warning', 'problem'] as const;

export interface Finding {
  /** The heading it is listed under. */
  readonly section: 'settings' | 'machine' | 'engines' | 'servers' | 'clients';
  readonly level: (typeof LEVELS)[number];
  /** One clause: the state, and the reason if it is not ok. */
  readonly text: string;
  /** One next step: a command to run, or a file to look at. */
  readonly hint?: string | undefined;
  /** The error that cells or commands fail with for this reason; see `help CODE`. */
  readonly code?: ErrorCode | undefined;
}

/** A failure as a finding. */
export function problemOf(section: Finding['section'], { code, hint, message }: BridgeError): Finding {
  return { section, level: 'problem', text: message, hint, code };
}

/** The reason why no session can start. */
export function noCellRuns(error: BridgeError): Finding {
  const finding = problemOf('engines', error);
  return { ...finding, text: `no cell can run: ${finding.text}` };
}

/** One finding for each invalid setting; any other error is a single finding. */
export function problemsOfSettings(error: BridgeError): Finding[] {
  const sentences = error.data['sentences'];
  const finding = problemOf('settings', error);
  return Array.isArray(sentences) ? sentences.map((text: string) => ({ ...finding, text })) : [finding];
}

/** What `doctor` examines. */
export interface Examined {
  readonly env: NodeJS.ProcessEnv;
  readonly settings: Settings;
  /** Already refreshed, with cached tools and failures loaded. */
  readonly servers: ConfiguredServers;
}

/** A check that a feature adds to `doctor`. Never rejects. */
export type Examination = (examined: Examined) => Promise<Finding[]>;

const LEVEL_OF_ISSUE = { error: 'problem', warning: 'warning', debug: 'ok' } as const;

/** A problem in a server file. */
export function findingOfIssue(issue: ConfigIssue): Finding {
  const level = LEVEL_OF_ISSUE[issue.level];
  const next = issue.hint ?? `Correct the file. For its format, run: ${COMMAND} help servers server-files`;
  const hint = level === 'ok' ? undefined : next;
  return { section: 'servers', level, text: renderIssue(issue), hint };
}

/** The finding as one log line, `TEXT → HINT`; the log adds the level. */
export function renderLine({ hint, text }: Finding): string {
  return `${text}${hint === undefined ? '' : ` → ${hint}`}`;
}
