/**
 * Each test file says where CI runs it, and the scripts of CI list no files: a new file cannot be forgotten. A file without a part runs
 * on the fresh machine only if someone has chosen that.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/bridge-client.ts';
import { filesWithTags, PARTS, TAGS, testFiles, whyWrongTags } from '../tools/tags.mjs';

const LAYERS = ['unit', 'contract', 'fuzz', 'integration', 'e2e', 'faults', 'attacks'];
const SCRIPTS = readdirSync(join(ROOT, '.ci')).map((name) => readFileSync(join(ROOT, '.ci', name), 'utf8'));

describe('tags of test files', () => {
  it.each(LAYERS)('are right in the layer %s', (layer) => {
    const files = testFiles(layer);
    expect(files.length).toBeGreaterThan(0);
    const wrong = files.map((file) => whyWrongTags(file, readFileSync(join(ROOT, file), 'utf8')));
    expect(wrong.filter((problem) => problem !== undefined)).toEqual([]);
  });

  it.each([
    ['test/unit/a.test.ts', 'test();', undefined],
    ['test/e2e/a.test.ts', '// Tags: full, anywhere\ntest();', undefined],
    ['test/e2e/a.test.ts', '// Tags: full, docker, user\ntest();', undefined],
    ['test/e2e/a.test.ts', 'test();', 'does not say where CI runs it'],
    ['test/attacks/a.test.ts', '// Tags: full\ntest();', 'does not say where CI runs it'],
    ['test/unit/a.test.ts', '// Tags: dokcer\ntest();', 'has the unknown tag dokcer'],
    ['test/e2e/a.test.ts', '/** A file. */\n// Tags: docker\n', 'must be in the first line'],
    ['test/e2e/a.test.ts', '// Tags: anywhere, docker\n', 'docker would run it a second time'],
  ])('%s: %j is right or says why not', (file, text, problem) => {
    const found = whyWrongTags(file, text);
    expect(found).toEqual(problem === undefined ? undefined : expect.stringContaining(problem));
  });

  it.each(LAYERS)('of the layer %s are all run by a script of CI', (layer) => {
    const RUN = new RegExp(
      `(?:\\bpart ([a-z-]+) \\S+|\\bas_part ([a-z-]+)|TEST_TAGS=([a-z-]+) (?:named \\S+ )?npm test --) ${layer}\\b`,
      'g',
    );
    const run = SCRIPTS.flatMap((script) => [...script.matchAll(RUN)].map(([, ...found]) => found.find(Boolean)));
    const used = Object.keys(PARTS).filter((part) => part !== 'fresh' && filesWithTags(layer, part).length > 0);
    expect(new Set(run)).toEqual(new Set([...used, ...run.filter((tag) => tag === 'anywhere')]));
  });

  it('are all that the scripts of CI name', () => {
    const named = SCRIPTS.flatMap((script) =>
      [...script.matchAll(/TEST_TAGS='?!?([a-z-]+)/g)].map(([, tag = '']) => tag),
    );
    expect(named.filter((tag) => !Object.hasOwn(TAGS, tag))).toEqual([]);
    const files = SCRIPTS.flatMap(
      (script) => script.match(/\btest\/(?:unit|contract|fuzz|integration|e2e|faults|attacks)\b/g) ?? [],
    );
    expect(files).toEqual([]);
  });

  // The fresh machine has no Python and runs these layers whole.
  it.each(['unit', 'contract', 'fuzz'])('of the layer %s look for a Python before they start one', (layer) => {
    const files = testFiles(layer).filter((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      return (
        /\b(?:spawn|spawnSync|execFile|execFileSync|execa)\(\s*'python3'/.test(text) &&
        !/LocalPython|findPython/.test(text)
      );
    });
    expect(files).toEqual([]);
  });

  it('are refused if they are unknown', () => {
    expect(() => filesWithTags('e2e', 'dokcer')).toThrow('unknown tag dokcer; use anywhere, full');
  });
});
