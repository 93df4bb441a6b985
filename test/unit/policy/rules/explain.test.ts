import { expect, it } from 'vitest';
import { explain } from '../../../../src/features/policy/rules/explain.ts';
import { Policies } from '../../../../src/features/policy/rules/policies.ts';
import { readPolicy } from '../../../../src/features/policy/rules/schema.ts';

const SERVER = { name: 'files', alias: 'files' };
const READ = { name: 'read', alias: 'read', inputSchema: {} };
const POLICY = {
  rules: [
    { effect: 'deny', server: 'other' },
    { effect: 'deny', tool: 'write' },
    { effect: 'ask', annotations: { readOnlyHint: true } },
    { effect: 'allow', arguments: { path: { under: '/data' } } },
    { effect: 'deny', reason: 'nothing else' },
  ],
  limits: [{ callsPerCell: 9 }, { tool: 'write', deadline: 1 }],
};
const explained = (policy: unknown, given?: Record<string, unknown>) =>
  explain(new Policies(readPolicy(policy, '/p.json'), new Map()), SERVER, READ, given);

it('without a policy, every call is allowed', () => {
  expect(explain(undefined, SERVER, READ, {})).toMatchObject({ effects: ['allow'], rules: [], isHidden: false });
});

it('gives the outcome of every rule', () => {
  const { rules, effects, reason, limits } = explained(POLICY, { path: '/data/x' });
  expect({ effects, reason, limits }).toEqual({
    effects: ['allow'],
    reason: 'rules[3] of /p.json allows it',
    limits: ['limits[0] of /p.json'],
  });
  expect(rules.map(({ outcome, why }) => (why === null ? outcome : `${outcome}: ${why}`))).toEqual([
    'passed over: it is for other servers',
    'passed over: it is for other tools',
    "passed over: the tool's annotations do not match",
    'decides',
    'not reached',
    'not reached',
  ]);
});

it('names the condition that cannot be checked', () => {
  const { rules, effects } = explained(POLICY, { path: '..' });
  expect(effects).toEqual(['deny']);
  expect(rules[3]).toMatchObject({ outcome: 'may decide', why: `the argument 'path' contains ".."` });
});

it('without arguments, lists the possible effects', () => {
  const { rules, effects, reason, isHidden } = explained(POLICY);
  expect({ effects, reason, isHidden }).toEqual({
    effects: ['allow', 'deny'],
    reason: 'it depends on the arguments',
    isHidden: false,
  });
  expect(rules[3]?.why).toBe("it depends on 'path'");
});

it('a tool whose calls are all denied is hidden', () => {
  const denied = { rules: [{ effect: 'deny', arguments: { path: { under: '/' } } }], default: 'deny' };
  expect(explained(denied)).toMatchObject({ effects: ['deny'], isHidden: true });
});

it('describes a policy', () => {
  expect(new Policies(readPolicy(POLICY, '/p.json'), new Map()).describe([{ server: SERVER, tools: [READ] }])).toEqual([
    {
      place: '/p.json',
      problem: null,
      about: 'all servers',
      rules: [
        { place: 'rules[0]', effect: 'deny', text: 'server other' },
        { place: 'rules[1]', effect: 'deny', text: 'tool write' },
        { place: 'rules[2]', effect: 'ask', text: 'readOnlyHint true' },
        { place: 'rules[3]', effect: 'allow', text: 'path {"under":["/data"]}' },
        { place: 'rules[4]', effect: 'deny', text: 'every call (nothing else)' },
        { place: 'end', effect: 'allow', text: 'every call' },
      ],
      limits: [
        { place: 'limits[0]', text: 'all calls together: callsPerCell 9' },
        { place: 'limits[1]', text: 'tool write: deadline 1 s' },
      ],
      packages: [],
      profiles: [],
      unmatched: [
        { place: 'rules[0]', text: "no configured server matches 'other'" },
        { place: 'rules[1]', text: "no known tool matches 'write'" },
        { place: 'limits[1]', text: "no known tool matches 'write'" },
      ],
    },
  ]);
});
