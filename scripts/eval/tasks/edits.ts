/** Tasks that change many files and leave others as they are. */
import { createRandom } from '../../../test/soak/random.ts';
import type { Tree } from '../workspace.ts';
import { compareTrees, type EvalTask, sameJson } from './task.ts';

const SERVICES = 30;

function services(goldTimeout?: number): Tree {
  const random = createRandom(3);
  return Object.fromEntries(
    Array.from({ length: SERVICES }, (_, index) => {
      const tier = random.pick(['gold', 'silver', 'bronze']);
      const timeout = random.pick([10, 20, 30]);
      const config = {
        name: `service-${String(index).padStart(2, '0')}`,
        tier,
        timeout_seconds: tier === 'gold' ? (goldTimeout ?? timeout) : timeout,
        retries: random.below(5),
        note: random.pick(['was gold until May', 'has no owner', 'gold partners use it']),
      };
      return [`${config.name}/config.json`, `${JSON.stringify(config, undefined, 2)}\n`];
    }),
  );
}

const GOLD_TIMEOUT = 45;

const RAISE_TIMEOUTS: EvalTask = {
  id: 'raise-timeouts',
  title: `change a setting in some of ${SERVICES} files`,
  build: (workspace) => workspace.writeTree('services', services()),
  prompt: () =>
    `In every services/*/config.json whose "tier" is "gold", set "timeout_seconds" to ${GOLD_TIMEOUT}. Change nothing else.`,
  check: ({ tree }) => compareTrees(tree('services'), services(GOLD_TIMEOUT), sameJson),
};

const PAGES = ['start', 'servers', 'policy', 'faq', 'limits', 'images', 'remote', 'audit', 'clients', 'errors'];

/** A manual whose page `setup.md` may already have its new name. Its history keeps the old one. */
function manual(name: 'install' | 'setup'): Tree {
  const pages = PAGES.map((page, index) => {
    const other = PAGES[(index + 3) % PAGES.length] ?? page;
    const link = index % 3 === 0 ? `[set it up](${name}.md)` : `[set it up](${name}.md#step-${index})`;
    return [`${page}.md`, `# ${page}\n\nFirst ${link}. See also [${other}](${other}.md).\n`] as const;
  });
  const deep = ['linux', 'macos', 'windows'].map(
    (page) => [`platforms/${page}.md`, `# ${page}\n\nBack to [the steps](../${name}.md#${page}).\n`] as const,
  );
  return {
    ...Object.fromEntries([...pages, ...deep]),
    [`${name}.md`]: '# Set up\n\n## Linux\n\n## macOS\n\n## Windows\n\nThen read [the limits](limits.md).\n',
    'history.md': '# History\n\n- 2025: the page setup.md was added, and [policy](policy.md).\n',
  };
}

const RENAME_PAGE: EvalTask = {
  id: 'rename-page',
  title: 'rename a page and correct the links to it',
  build: (workspace) => workspace.writeTree('manual', manual('setup')),
  prompt: () =>
    'Rename manual/setup.md to manual/install.md, and correct all Markdown links to it in manual/, including those with an anchor and those in subfolders. Leave all other text as it is, including history.md.',
  check: ({ tree }) => compareTrees(tree('manual'), manual('install')),
};

const HEADER = '# Copyright 2026 The Library Authors\n';
const MODULES = 20;

/** Some modules have the header, some start with a line for the shell. */
function library(isComplete: boolean): Tree {
  const random = createRandom(11);
  const modules = Array.from({ length: MODULES }, (_, index) => {
    const shell = random.below(3) === 0 ? '#!/usr/bin/env python3\n' : '';
    const header = random.below(3) === 0 || isComplete ? HEADER : '';
    const body = `"""Module ${index}."""\n\n\ndef value_${index}():\n    return ${random.below(100)}\n`;
    return [`part_${index % 4}/module_${String(index).padStart(2, '0')}.py`, shell + header + body];
  });
  return { ...Object.fromEntries(modules), 'README.md': '# Library\n\nEvery module has a header.\n' };
}

const ADD_HEADERS: EvalTask = {
  id: 'add-headers',
  title: `add a missing header to some of ${MODULES} files`,
  build: (workspace) => workspace.writeTree('library', library(false)),
  prompt: () =>
    `Every .py file in library/ and its subfolders must have the line "${HEADER.trimEnd()}" as its first line, or as its second one if the first starts with "#!". Add it where it is missing. Change nothing else.`,
  check: ({ tree }) => compareTrees(tree('library'), library(true)),
};

export const EDIT_TASKS: readonly EvalTask[] = [RAISE_TIMEOUTS, RENAME_PAGE, ADD_HEADERS];
