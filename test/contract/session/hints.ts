/** The next step of an error about something that is not in the session: a file of the user, a name of an earlier session. */
import { describe, expect, it } from 'vitest';
import type { HandleCall } from '../../../src/core/session/dispatch.ts';
import { createHarness, echoCalls, errorText } from '../../support/session-harness.ts';
import type { Subject } from './subject.ts';

const PATH = { name: 'path', alias: 'path', annotation: 'str', required: true };
const SPEC = { name: 'read_text_file', alias: 'read_text_file', parameters: [PATH], open: false };

const fileServer: HandleCall = async (call, context) => {
  switch (call.method) {
    case 'list_tools':
    case 'tool_specs':
      return [SPEC];
    default:
      return echoCalls(call, context);
  }
};

export function describeHints({ run, engine }: Subject): void {
  describe('hints', () => {
    it('for a file of the user have the line that reads it', async () => {
      const harness = await createHarness({ engine: engine(), handleCall: fileServer });
      try {
        const answer = await harness.run('print(1)\nopen("sales.csv")');
        expect(answer.error?.hint).toMatch(/^'sales\.csv' means \S+\/sales\.csv\. The sandbox does not see/);
        expect(errorText(answer)).toContain("Write: text = await mcp_fake.read_text_file(path='sales.csv')");
        await harness.run('open("sales_2026.csv", "w").close()');
        expect(errorText(await harness.run('open("sales_2025.csv")'))).toContain("Did you mean 'sales_2026.csv'?");
      } finally {
        await harness.close();
      }
    });

    it('for a name say that the session is new, or which names it has', async () => {
      const session = 'names';
      const first = await run('import json\nrows = 1\nprint(invoices.head())', { session });
      expect(errorText(first)).toMatch(
        /NameError: name 'invoices' is not defined\nHint: This session began with this call: nothing of an earlier one is here\.$/,
      );
      expect((await run('def f(): return total\n_hidden = 2\nf()', { session })).error?.hint).toBe(
        'This session has: rows, f.',
      );
    });

    it('for a name that is misspelled have the right one, once', async () => {
      const error = errorText(await run('sales = 1\nprint(sale)', { session: 'misspelled' }));
      expect(error.match(/did you mean/gi)).toHaveLength(1);
      expect(error).not.toContain('This session');
    });

    // A running session did not get it: a bare NameError, although search and `user_tools` had it.
    it('for a function that another session has saved meanwhile, have it', async () => {
      const handleCall: HandleCall = async (call, context) =>
        call.method === 'load_tool' && call.params['name'] === 'price'
          ? { name: 'price', source: 'def price(n):\n    return n * 2\n' }
          : echoCalls(call, context);
      const harness = await createHarness({ engine: engine(), handleCall });
      try {
        await harness.run('prize = 1');
        const missing = await harness.run('price(2)');
        expect(missing.error?.hint).toBe(
          "'price' is a function that was saved after this session began. It is defined now: run the cell again.",
        );
        expect((await harness.run('price(2)')).value).toBe('4');
        expect((await harness.run('pricing(2)')).error?.hint).not.toContain('saved');
      } finally {
        await harness.close();
      }
    });

    // A KeyError named only the key, and nothing said that another cell had given the variable another value.
    it('for a key have near ones, and say when the variable was last set', async () => {
      const session = 'keys';
      await run('row = {"name": 1, "size": 2}', { session });
      const hintOf = async (code: string) => (await run(code, { session })).error?.hint;
      expect(await hintOf('print(1)\nrow["nam"]')).toBe(
        "The keys are 'name', 'size'. Did you mean 'name'? 'row' was last set in cell 1.",
      );
      await run('row = {"other": {"deep": [{"a": 1}]}}', { session });
      expect(await hintOf('row["other"]["deep"][0]["b"]')).toBe(
        "The keys are 'a'. 'row' was last set in cell 3, before that in cell 1.",
      );
      expect(await hintOf('for each in [{"a": 1}]:\n    key = "b"\n    each[key]')).toBe("The keys are 'a'.");
      expect(await hintOf('def f(row):\n    return row["b"]\nf({"a": 1})')).toBe("The keys are 'a'.");
      expect(await hintOf('row.upper()')).toBe("'row' was last set in cell 3, before that in cell 1.");
      expect(await hintOf('row = "x"; row.uper()')).toBe("'row' was last set in this cell, before that in cell 3.");
      expect(await hintOf('{}["a"]')).toBeUndefined();
      expect(await hintOf('raise KeyError("own")')).toBeUndefined();
      expect(
        await hintOf('class Own(dict):\n    def __missing__(self, key): raise KeyError(key)\nOwn(a=1)["b"]'),
      ).toBeUndefined();
      expect(await hintOf('text = "x"\ntext.uper()')).toBeUndefined();
    });

    it('for a key of a text from a tool name what has its JSON', async () => {
      const code = 'from mcp.runtime import TextResult\ntext = TextResult("### Result\\n{\\"a\\": 1}")\ntext["a"]';
      expect((await run(code, { session: 'texts' })).error?.hint).toBe(
        'The result is text with JSON in it: result.json() is the value.',
      );
      expect((await run('TextResult("no").json; t = TextResult("no")\nt["a"]', { session: 'texts' })).error?.hint).toBe(
        'The result is text without JSON: use it as text, or its .lines().',
      );
      expect((await run('"plain"["a"]', { session: 'texts' })).error?.hint).toBeUndefined();
      // Code that took such a text for the rows got "string indices must be integers", which names neither.
      const rows = 'rows = TextResult("### Result\\n[{\\"a\\": 1}]")\n';
      const uses = ['rows[0]["a"]', 'rows[0].a', '[row["a"] for row in rows[:3]]', 'for row in rows:\n    row["a"]'];
      for (const use of uses) {
        const { error } = await run(rows + use, { session: 'texts' });
        expect({ use, hint: error?.hint }).toEqual({
          use,
          hint: expect.stringContaining('The result is text with JSON in it: result.json() is the value.'),
        });
      }
      expect((await run('rows[0].uper()', { session: 'texts' })).error?.hint).toContain('text with JSON');
      expect((await run('rows.strip().uper()', { session: 'texts' })).error?.hint ?? '').not.toContain('JSON');
    });

    it('for a name say nothing that is no news', async () => {
      const session = 'no hints';
      for (const code of ['json.dumps(1)', 'def f():\n    x += 1\nf()', 'raise NameError("own")']) {
        const answer = await run(code, { session });
        expect(answer.status).toBe('error');
        expect(answer.error?.hint).toBeUndefined();
      }
    });
  });
}
