import { expect, it } from 'vitest';
import { Policies } from '../../../../src/policy/rules/policies.ts';
import { readPolicy } from '../../../../src/policy/rules/read-policy.ts';
import { explain } from '../../../../src/policy/rules/trace.ts';

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

it('without a policy all is allowed', () => {
  expect(explain(undefined, SERVER, READ, {})).toMatchObject({ effects: ['allow'], rules: [], isHidden: false });
});

it('every rule says what became of it', () => {
  const { rules, effects, reason, limits } = explained(POLICY, { path: '/data/x' });
  expect({ effects, reason, limits }).toEqual({
    effects: ['allow'],
    reason: 'rules[3] of /p.json allows it',
    limits: ['limits[0] of /p.json'],
  });
  expect(rules.map(({ outcome, why }) => (why === null ? outcome : `${outcome}: ${why}`))).toEqual([
    'passed over: it is about other servers',
    'passed over: it is about other tools',
    'passed over: what the server says of the tool does not fit',
    'decides',
    'not reached',
    'not reached',
  ]);
});

it('in doubt it says what cannot be told', () => {
  const { rules, effects } = explained(POLICY, { path: '..' });
  expect(effects).toEqual(['deny']);
  expect(rules[3]).toMatchObject({ outcome: 'may decide', why: `it cannot be told: the argument 'path' holds ".."` });
});

it('without arguments it says what may happen', () => {
  const { rules, effects, reason, isHidden } = explained(POLICY);
  expect({ effects, reason, isHidden }).toEqual({
    effects: ['allow', 'deny'],
    reason: 'it depends on the arguments',
    isHidden: false,
  });
  expect(rules[3]?.why).toBe("it depends on 'path'");
});

it('a tool of which no call can be made is hidden, whatever its arguments', () => {
  const denied = { rules: [{ effect: 'deny', arguments: { path: { under: '/' } } }], default: 'deny' };
  expect(explained(denied)).toMatchObject({ effects: ['deny'], isHidden: true });
});

it('shows what stands in a policy', () => {
  expect(new Policies(readPolicy(POLICY, '/p.json'), new Map()).describe()).toEqual([
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
    },
  ]);
});
