/**
 * Advice on style for a change, printed by `npm run fix`: phrases that no native engineer would write, and exported names of `src`
 * that two modules own. Never fails: a reader decides. The list of phrases grows when a review finds another one.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

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
  /^(?:LICENSE|package-lock\.json|sandbox-runtime\/bridge_kernel\/cloudpickle\.py$|sandbox-runtime\/wasm\/(?:artifacts|licenses|patches)\/|scripts\/advice\.ts$)/;
const TEXT = /(?:\.(?:ts|mjs|py|md|sh|yml|json|c|toml)|^[^.]+|^\.ci\/run)$/;

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:class|const enum|const|enum|function\*?|interface|let|type(?! \{)|var) (\w+)/gm;
const LIST = /^export (?:type )?\{([^}]*)\}( from )?/gm;

/** What a module declares and exports. Overloads of a function are one name. */
function exportsOf(text: string): Set<string> {
  const declared = [...text.matchAll(DECLARATION)].map(([, name = '']) => name);
  const listed = [...text.matchAll(LIST)].flatMap(([, names = '', from]) =>
    from === undefined ? names.split(',').map((name) => name.trim().replace(/^(?:type )?(?:.* as )?/, '')) : [],
  );
  return new Set([...declared, ...listed].filter((name) => name !== ''));
}

/** The names that more than one module owns, each with these modules. */
function sharedNames(modules: ReadonlyMap<string, string>): string[] {
  const homes = new Map<string, string[]>();
  for (const [path, text] of modules) {
    for (const name of exportsOf(text)) {
      homes.set(name, [...(homes.get(name) ?? []), path]);
    }
  }
  return [...homes].filter(([, paths]) => paths.length > 1).map(([name, paths]) => `${name}: ${paths.join(', ')}`);
}

const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => TEXT.test(file) && !OTHERS.test(file))
  .map((file) => [file, readFileSync(`${ROOT}${file}`, 'utf8')] as const);

for (const [file, text] of files) {
  for (const [index, line] of text.split('\n').entries()) {
    for (const [phrase, instead] of PHRASES.filter(([one]) => one.test(line))) {
      console.log(`${file}:${index + 1}: ${phrase.source} (write: ${instead}): ${line.trim().slice(0, 120)}`);
    }
  }
}
for (const shared of sharedNames(new Map(files.filter(([file]) => /^src\/.*\.tsx?$/.test(file))))) {
  console.log(`exported twice: ${shared}`);
}
