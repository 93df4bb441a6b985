/** The tables of `test/faults/README.md`, from the suite's cases and gates. */
import { ALL_CASES, CASES_ELSEWHERE } from '../../test/faults/cases/all.ts';
import type { FaultCase } from '../../test/support/faults/fault-case.ts';
import { GATES } from '../../test/support/faults/gates.ts';
import { renderTable } from './tables.ts';

export function renderGates(): string {
  return renderTable(['Gate', 'Holds when'], Object.entries(GATES));
}

export function renderFaultCases(): string {
  const rows = ALL_CASES.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((fault) => [
    fault.id,
    fault.title,
    fault.expected,
    notesOf(fault),
  ]);
  return renderTable(['Case', 'What is done', 'What must happen', 'Notes'], rows);
}

export function renderCasesElsewhere(): string {
  return renderTable(
    ['Case', 'What is done', 'Where'],
    CASES_ELSEWHERE.map(({ id, title, where }) => [id, title, where]),
  );
}

/** How a case differs from the others; its source has the reasons. */
function notesOf({ quick, without = {}, growth }: FaultCase): string {
  const left = Object.keys(without);
  return [
    ...(quick === true ? ['all engines'] : []),
    ...(left.length > 0 ? [`without ${left.join(', ')}`] : []),
    ...(growth === undefined ? [] : [`G2: ${growth.mib} MiB${keptOf(growth)}`]),
  ].join('; ');
}

function keptOf({ keptMib }: NonNullable<FaultCase['growth']>): string {
  return keptMib === undefined ? '' : `, ${keptMib} kept`;
}
