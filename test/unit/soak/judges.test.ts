/** The checks of the soak must detect faults: a silent loss, a mix-up, an extra call. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Ledger } from '../../soak/ledger.ts';
import { SessionModel } from '../../soak/session-model.ts';
import type { Answer } from '../../soak/world.ts';

describe('the model of a session', () => {
  const model = new SessionModel('s');
  const token = /TOKEN-\w+/.exec(model.wrap(''))?.[0] ?? '';
  const answer = (shownCount: number | undefined, notices = '', shown = token): Answer => {
    const lines = shownCount === undefined ? [] : [`[${shownCount} ${shown}]`];
    return { status: 'success', lines, result: '', error: '', notices, text: lines.join('\n') };
  };
  const LOST = 'State was lost: …';

  it('accepts cells in order, and a reported loss', () => {
    expect([answer(1), answer(2), answer(1, LOST), answer(2)].flatMap((each) => model.judge(each))).toEqual([]);
  });

  it('accepts the possible effects of an unanswered cell', () => {
    model.noteUnanswered();
    expect(model.judge(answer(4))).toEqual([]);
    model.noteUnanswered();
    expect(model.judge(answer(2, LOST))).toEqual([]);
  });

  it('detects an unreported loss, a cell that ran twice, and output of another session', () => {
    expect(model.judge(answer(1))).toEqual([expect.stringContaining('no loss of state was reported')]);
    expect(model.judge(answer(3))).toEqual([expect.stringContaining('cell 3 instead of 2')]);
    const foreign = answer(4, '', `TOKEN-${'0'.repeat(16)}`);
    expect(model.judge(foreign)).toEqual([expect.stringContaining('of another session')]);
  });
});

describe('the ledger', () => {
  function ledgerOf(...entries: readonly { key: string; event: 'begin' | 'end' }[]) {
    const folder = mkdtempSync(join(tmpdir(), 'soak-ledger-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'a');
    writeFileSync(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    return new Ledger([file, join(folder, 'never-started')]);
  }

  it('accepts an answered call, and one that may have happened', () => {
    const ledger = ledgerOf({ key: 'k1', event: 'begin' });
    ledger.settle([ledger.newKey()], 'once');
    ledger.newKey();
    expect(ledger.faults()).toEqual([]);
  });

  it('detects calls that arrived twice, never or unexpectedly, or continued after their cell', () => {
    const begin = (key: string) => ({ key, event: 'begin' }) as const;
    const ledger = ledgerOf(begin('k1'), begin('k1'), begin('k2'), begin('other'), { key: 'k2', event: 'end' });
    ledger.newKey();
    ledger.settle([ledger.newKey()], 'never');
    ledger.settle([ledger.newKey()], 'once');
    expect(ledger.faults()).toEqual([
      'call k2 continued after its cell had ended',
      'call k1 reached its server 2 times; allowed: at most once',
      'call k2 reached its server 1 times; allowed: never',
      'call other reached its server 1 times; allowed: never',
      'call k3 was answered but never reached its server',
    ]);
  });
});
