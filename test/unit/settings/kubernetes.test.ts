import { describe, expect, it } from 'vitest';
import { parseNames, parseOwner, parsePairs, parseTolerations } from '../../../src/edges/settings/kubernetes.ts';

describe('settings for Kubernetes', () => {
  it('are lists', () => {
    expect(parseNames('one, two')).toEqual(['one', 'two']);
    expect(parsePairs('pool=sandboxes, sidecar.istio.io/inject=false,a/b=c=d')).toEqual({
      pool: 'sandboxes',
      'sidecar.istio.io/inject': 'false',
      'a/b': 'c=d',
    });
    expect(parseTolerations('spot,sandboxes=only:NoSchedule')).toEqual([
      { key: 'spot', value: undefined, effect: undefined },
      { key: 'sandboxes', value: 'only', effect: 'NoSchedule' },
    ]);
  });

  it('name the Pod of the bridge', () => {
    expect(parseOwner('mcp-bridge/bridge-0/0a1b-2c')).toEqual({
      namespace: 'mcp-bridge',
      name: 'bridge-0',
      uid: '0a1b-2c',
    });
  });

  it.each([
    [parseOwner, 'bridge-0', '"" is not the name of a Pod'],
    [parseOwner, 'a/b/', '"" is not the UID of a Pod'],
    [parseOwner, 'a/b/c/d', 'has more than three parts'],
    [parseNames, 'UPPER', '"UPPER" is not a name'],
    [parsePairs, 'pool', '"pool" has no value'],
    [parsePairs, '-=x', '"-" is not a key'],
    [parseTolerations, 'a:Never', '"Never" is none of'],
  ])('are refused with a reason', (parse, text, reason) => {
    expect(() => parse(text)).toThrow(reason);
  });
});
