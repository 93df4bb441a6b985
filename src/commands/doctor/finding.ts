/** What `doctor` finds, one line each, and how it is shown. */
import { styleText } from 'node:util';

export const LEVELS = ['ok', 'warning', 'problem'] as const;

export interface Finding {
  /** Heading under which it is shown. */
  readonly section: 'machine' | 'engines' | 'servers' | 'clients';
  readonly level: (typeof LEVELS)[number];
  /** One clause: what, and the reason when it is not well. */
  readonly text: string;
  /** The command to run or the place to look, when there is one. */
  readonly hint?: string | undefined;
}

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
const LEVEL_CHARS = Math.max(...LEVELS.map((level) => level.length));

/** The findings under their headings, in the order in which the sections first come. */
export function renderFindings(findings: readonly Finding[], hasColours: boolean): string {
  const sections = [...new Set(findings.map(({ section }) => section))];
  return sections
    .map((section) => {
      const lines = findings
        .filter((finding) => finding.section === section)
        .map((one) => renderFinding(one, hasColours));
      return `${section[0]?.toUpperCase()}${section.slice(1)}\n${lines.join('')}`;
    })
    .join('\n');
}

function renderFinding({ hint, level, text }: Finding, hasColours: boolean): string {
  const word = level.padEnd(LEVEL_CHARS);
  const shown = hasColours ? styleText(COLOURS[level], word) : word;
  const indent = ' '.repeat(LEVEL_CHARS + 4);
  return `  ${shown}  ${text}\n${hint === undefined ? '' : `${indent}→ ${hint}\n`}`;
}
