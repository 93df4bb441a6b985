import { describe, expect, it } from 'vitest';
import { renderError } from '../../../src/base/errors.ts';
import { howToLoad } from '../../../src/catalog/describe.ts';
import { serverNotLoaded } from '../../../src/directory/directory-errors.ts';
import { hintsForShell } from '../../../src/terminal/shell-hints.ts';

describe('hints of a failed cell at a shell', () => {
  it('name the options of exec', () => {
    const error = renderError(serverNotLoaded('notes', { name: 'my notes', alias: 'my_notes' } as never));
    expect(error).toContain(`Hint: C${howToLoad('my notes').slice(1)}`);
    expect(hintsForShell(error)).toMatch(/\nHint: Add --server 'my notes'\.$/);
    const late =
      'CELL_DEADLINE: late\nHint: Do less in one cell, or ask for more time with the argument timeout.\nTrace';
    expect(hintsForShell(late)).toBe(
      'CELL_DEADLINE: late\nHint: Do less in one cell, or ask for more time with --timeout SECONDS.\nTrace',
    );
  });

  it('are changed where a check indents them', () => {
    const error =
      "CHECK_FAILED: 1 mistake.\n    Hint: Call run_python again with servers=['notes'].\nHint: Correct it.";
    expect(hintsForShell(error)).toBe('CHECK_FAILED: 1 mistake.\n    Hint: Add --server notes.\nHint: Correct it.');
  });

  it('leave what the code itself says alone', () => {
    const error = "ValueError: call run_python again with servers=['notes']";
    expect(hintsForShell(error)).toBe(error);
  });
});
