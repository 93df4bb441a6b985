/** How `doctor` shows what it found on a terminal. */
import { styleText } from 'node:util';
import { type Finding, LEVELS } from '../terminal/finding.ts';

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
  const shown = hasColours ? styleText(COLOURS[level], word, { validateStream: false }) : word;
  const indent = ' '.repeat(LEVEL_CHARS + 4);
  return `  ${shown}  ${text}\n${hint === undefined ? '' : `${indent}→ ${hint}\n`}`;
}
