import { expect, test } from 'vitest';
import { counted, parseDurationMs, parseSizeBytes, sizeText } from '../../../src/core/base/units.ts';

test.each([
  ['30', 30_000],
  ['30s', 30_000],
  ['30 S', 30_000],
  ['2m', 120_000],
  ['1.5h', 5_400_000],
  ['500ms', 500],
  ['90d', 7_776_000_000],
  ['0', 0],
])('parses the duration %j', (text, ms) => {
  expect(parseDurationMs(text)).toBe(ms);
});

test.each(['', 's', '-1', '+1', '1w', '1e3', '1 000', '1s2', 'NaN', 'Infinity', '٣'])(
  'rejects the duration %j',
  (text) => {
    expect(parseDurationMs(text)).toBeNaN();
  },
);

test.each([
  ['536870912', 536_870_912],
  ['512b', 512],
  ['1k', 1024],
  ['512m', 536_870_912],
  ['512M', 536_870_912],
  ['512mb', 536_870_912],
  ['512MiB', 536_870_912],
  ['1.5g', 1_610_612_736],
  ['1t', 1_099_511_627_776],
])('parses the size %j', (text, bytes) => {
  expect(parseSizeBytes(text)).toBe(bytes);
});

test.each(['', 'm', '-1m', '512m --privileged', '512x', '1mm', '1ib', '1e9'])('rejects the size %j', (text) => {
  expect(parseSizeBytes(text)).toBeNaN();
});

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [2, '2 bytes'],
  [1_024, '1,024 bytes'],
])('counts %d', (count, text) => {
  expect(counted(count, 'byte')).toBe(text);
});

test.each([
  [0, '0 KiB'],
  [1, '1 KiB'],
  [1024 ** 2, '1 MiB'],
  [1.5 * 1024 ** 3, '1.5 GiB'],
])('writes %d bytes as %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});
