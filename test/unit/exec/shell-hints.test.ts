import { describe, expect, it } from 'vitest';
import { hintsForShell } from '../../../src/app/exec/shell-hints.ts';
import { reportError } from '../../../src/core/base/errors.ts';
import { howToLoad } from '../../../src/core/catalog/describe.ts';
import { serverNotLoaded } from '../../../src/core/directory/directory-errors.ts';

describe('hints of a failed cell in a shell', () => {
  it('name the options of exec', () => {
    const error = reportError(serverNotLoaded({ name: 'my notes', alias: 'my_notes' } as never));
    expect(error.hint).toBe(`C${howToLoad('my notes').slice(1)}.`);
    expect(hintsForShell(error).hint).toBe("Add --server 'my notes'.");
    const late = {
      code: 'CELL_DEADLINE',
      message: 'late',
      hint: 'Do less in one cell, or ask for more time with the argument timeout.',
      traceback: 'Trace',
    } as const;
    const hint = 'Do less in one cell, or ask for more time with --timeout SECONDS.';
    expect(hintsForShell(late)).toEqual({ ...late, hint });
  });

  it('are rewritten where a check indents them, and at the end of a traceback', () => {
    const hint = "Hint: Call run_python again with servers=['notes'].";
    expect(
      hintsForShell({ code: 'CHECK_FAILED', message: `1 mistake.\n    ${hint}`, hint: 'Correct it.' }),
    ).toMatchObject({ message: '1 mistake.\n    Hint: Add --server notes.', hint: 'Correct it.' });
    expect(hintsForShell({ message: '', exception: 'MCPError', traceback: `no\n${hint}` })).toMatchObject({
      traceback: 'no\nHint: Add --server notes.',
    });
  });

  it('leave output of the code itself unchanged', () => {
    const text = "ValueError: call run_python again with servers=['notes']";
    const error = { message: text, exception: 'ValueError', traceback: text };
    expect(hintsForShell(error)).toEqual({ ...error, hint: undefined });
  });
});
