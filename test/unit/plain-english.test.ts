/**
 * Turns of phrase that no native engineer would write stay out of code, comments, messages, tests and documents. The list grows when a
 * review finds another one.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/bridge-client.ts';

/** Each phrase, and what to write instead. */
const PHRASES: readonly [RegExp, string][] = [
  [/\btold of\b/i, 'learns about, is notified of'],
  [/\btells? of\b/i, 'reports'],
  [/\b(?:is|are|was|were) told (?:once|so)\b/i, 'is reported once'],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
  [/\bfits? not\b/i, 'does not fit, is invalid'],
  [/\b(?:and|which|what) else (?:is|are|was|were|would|not)\b/i, 'otherwise'],
  [/\ball the same\b/i, 'anyway'],
  [/\bby what\b/i, 'name the thing or the reason'],
  [/\bin what\b/i, 'name the thing'],
  [/\bfrom where\b/i, 'where … from'],
  [/\bwhence\b/i, 'where … from'],
  [/\bone too many\b/i, 'extra'],
  [/\bhowever often\b/i, 'every time'],
  [/\bin vain\b/i, 'without success'],
  [/\banew\b/i, 'again'],
  [/\bfor ever\b/i, 'forever'],
  [/\bof itself\b/i, 'by itself'],
  [/\bin (?:its|their) own words\b/i, 'as it describes itself'],
  [/\bnobody (?:asked|can|could|else|has|is|knows|may|reads|waits|was)\b/i, 'no one …'],
  [/\bperson to be asked\b/i, 'asks for approval'],
  [/\b(?:is|are|was|were) to be (?!\w+ed by date)/i, 'should be, will be, must be'],
  [/\b(?:is|are|was|were) wanted\b/i, 'is needed'],
  [/\b(?:is|are|was|were) meant\b(?! (?:for|to))/i, 'say what it refers to'],
  [/\bwhere (?:nobody|no one|neither|none|there is no(?:ne|thing)?|nothing)\b/i, 'if …'],
  [/\bso that no\b/i, 'so you never …'],
  [/\bnews (?:about|of)\b/i, 'notifications, changes'],
  [/\bstands? in (?:a|its|one|that|the|this)\b/i, 'is in'],
];
/** Text that is not ours, and this list. */
const OTHERS =
  /^(?:LICENSE|package-lock\.json|sandbox-runtime\/bridge_kernel\/cloudpickle\.py$|sandbox-runtime\/wasm\/(?:artifacts|licenses|patches)\/|test\/unit\/plain-english\.test\.ts$)/;
const TEXT = /(?:\.(?:ts|mjs|py|md|sh|yml|json|c|toml)|^[^.]+|^\.ci\/run)$/;

const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => TEXT.test(file) && !OTHERS.test(file));

describe('plain English', () => {
  it.each(PHRASES)('has no %s (write: %s)', (phrase, _instead) => {
    const found = files.flatMap((file) =>
      readFileSync(join(ROOT, file), 'utf8')
        .split('\n')
        .flatMap((line, index) => (phrase.test(line) ? [`${file}:${index + 1}: ${line.trim().slice(0, 160)}`] : [])),
    );
    expect(found).toEqual([]);
  });
});
