import { expect, it } from 'vitest';
import { COMMON_PACKAGES } from '../../../src/features/packages/common.ts';
import { distributionOf, meantRequirement } from '../../../src/features/packages/import-names.ts';
import { normalizeName } from '../../../src/features/packages/requirement.ts';

it.each([
  ['sklearn', 'scikit-learn'],
  // The distribution with that name is an old one without wheels.
  ['fpdf', 'fpdf2'],
  ['PIL', 'pillow'],
  ['cv2', 'opencv-python-headless'],
  ['yaml', 'pyyaml'],
  ['bs4', 'beautifulsoup4'],
  ['docx', 'python-docx'],
  ['dateutil', 'python-dateutil'],
  ['pandas', 'pandas'],
  ['some_module', 'some-module'],
  ['_private', undefined],
  ['naïve', undefined],
])('%s belongs to %s', (module, distribution) => {
  expect(distributionOf(module)).toBe(distribution);
});

it('takes the name of a module for its distribution, unless a version is stated', () => {
  expect(['sklearn', ' cv2', 'pandas', 'sklearn==0.0', 'docx2txt'].map(meantRequirement)).toEqual([
    'scikit-learn',
    'opencv-python-headless',
    'pandas',
    'sklearn==0.0',
    'docx2txt',
  ]);
});

it('lists common packages as indexes write their names', () => {
  const names = [...COMMON_PACKAGES];
  expect(names.filter((name) => normalizeName(name) !== name)).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
});
