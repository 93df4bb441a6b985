import { describe, expect, it } from 'vitest';
import { Policies } from '../../../../src/features/policy/rules/policies.ts';
import type { PolicyTool } from '../../../../src/features/policy/rules/policy-call.ts';
import { readPolicy } from '../../../../src/features/policy/rules/schema.ts';

const FILE = '/home/u/MCPs/policy.json';
const SERVER = { name: 'File Store', alias: 'file_store' };
const tool = (name: string, annotations = {}): PolicyTool => ({
  name,
  alias: name.replaceAll('-', '_'),
  inputSchema: {},
  annotations,
});

/** Decides calls to tools of `File Store` with a policy.json and a policy in the server's entry. */
function decideBy(policy: unknown, entry?: unknown) {
  const file = policy === undefined ? undefined : readPolicy(policy, FILE);
  const keys = ['mcpServers', 'File Store', 'policy'];
  const entries = new Map(entry === undefined ? [] : [['File Store', readPolicy(entry, '/home/u/MCPs/a.json', keys)]]);
  const policies = new Policies(file, entries);
  return (name: string, given = {}, annotations = {}) =>
    policies.decide({ server: SERVER, tool: tool(name, annotations), arguments: given });
}

/** The same without the reason. */
const effectBy = (policy: unknown, entry?: unknown) => {
  const decide = decideBy(policy, entry);
  return (name: string, given = {}, annotations = {}) => decide(name, given, annotations).effect;
};

describe('rules', () => {
  it('the first that matches decides, and the reason says where it is', () => {
    const decide = decideBy({
      rules: [
        { effect: 'allow', tool: 'read_*' },
        { effect: 'deny', tool: ['*_file', 'rm'], reason: 'no changes here' },
        { effect: 'ask' },
      ],
    });
    expect(decide('read_file').effect).toBe('allow');
    expect(decide('write_file')).toEqual({
      effect: 'deny',
      reason: `rules[1] of ${FILE} denies it (no changes here)`,
    });
    expect(decide('stat')).toEqual({ effect: 'ask', reason: `rules[2] of ${FILE} asks for approval` });
  });

  it('a dry run is for tools that may change something; others are called', () => {
    const decide = decideBy({ rules: [{ effect: 'dry-run', reason: 'trying it out' }] });
    expect(decide('write')).toEqual({
      effect: 'dry-run',
      reason: `rules[0] of ${FILE} makes it a dry run (trying it out)`,
    });
    expect(decide('read', {}, { readOnlyHint: true })).toEqual({
      effect: 'allow',
      reason: `rules[0] of ${FILE} allows it (trying it out), because its server marks it as read-only`,
    });
    expect(effectBy({ default: 'dry-run' })('read', {}, { readOnlyHint: true })).toBe('allow');
  });

  it('a dry run in an entry makes nothing of policy.json more permissive', () => {
    const entry = { default: 'dry-run' };
    const reads = { readOnlyHint: true };
    expect(effectBy({ default: 'ask' }, entry)('read', {}, reads)).toBe('ask');
    expect(effectBy({ default: 'deny' }, entry)('read', {}, reads)).toBe('deny');
    expect(effectBy({ default: 'ask' }, entry)('write')).toBe('dry-run');
    expect(effectBy({ default: 'deny' }, entry)('write')).toBe('deny');
  });

  it('a dry run by `server.tool` does not allow a tool that has this as its name', () => {
    const policy = { default: 'deny', rules: [{ effect: 'dry-run', tool: 'mail.*' }] };
    expect(effectBy(policy)('mail.read', {}, { readOnlyHint: true })).toBe('deny');
  });

  it('without a matching rule, `default` decides, or the call is allowed', () => {
    expect(effectBy({})('x')).toBe('allow');
    expect(effectBy({ default: 'deny' })('x')).toBe('deny');
    expect(decideBy({ default: 'ask' })('x').reason).toBe(`"default" of ${FILE} asks for approval`);
  });

  it.each(['File Store', 'file store', 'file_store', 'FILE_*', '*', 'f??e store'])(
    'the server is found as %s',
    (server) => {
      expect(effectBy({ rules: [{ effect: 'deny', server }] })('x')).toBe('deny');
    },
  );

  it.each(['get-user', 'get_user', 'GET-USER', 'get?user'])('the tool get-user is found as %s', (name) => {
    expect(effectBy({ rules: [{ effect: 'deny', tool: name }] })('get-user')).toBe('deny');
  });

  it('other servers and tools do not match', () => {
    const decide = effectBy({
      rules: [
        { effect: 'deny', server: 'files' },
        { effect: 'deny', tool: 'get' },
      ],
    });
    expect(decide('get-user')).toBe('allow');
  });
});

// The product itself writes `server.tool`, but a rule with that name matched nothing, and nothing said so.
describe('a pattern with a dot', () => {
  it.each(['File Store.read', 'file_store.*', 'FILE*.re?d', '*.read', 'file store.*'])('%s names a tool', (name) => {
    expect(effectBy({ rules: [{ effect: 'deny', tool: name }] })('read')).toBe('deny');
    expect(effectBy({ default: 'deny', rules: [{ effect: 'allow', tool: name }] })('read')).toBe('allow');
  });

  it.each(['files.read', 'file_store.write', 'store.read', 'file_store*read'])('%s does not', (name) => {
    expect(effectBy({ rules: [{ effect: 'deny', tool: name }] })('read')).toBe('allow');
  });

  it('counts for limits, and in the policy of an entry', () => {
    const limits = [{ tool: 'file_store.read', callsPerCell: 1 }];
    const policies = new Policies(readPolicy({ limits }, FILE), new Map());
    expect(policies.of(SERVER, tool('read')).limits).toHaveLength(1);
    expect(policies.of(SERVER, tool('write')).limits).toHaveLength(0);
    expect(effectBy(undefined, { rules: [{ effect: 'deny', tool: 'file_store.read' }] })('read')).toBe('deny');
  });

  it('also denies a tool whose own name has that dot, but allows it only with `server`', () => {
    const rule = { tool: 'github.read' };
    expect(effectBy({ rules: [{ effect: 'deny', ...rule }] })('github.read')).toBe('deny');
    expect(effectBy({ default: 'deny', rules: [{ effect: 'allow', ...rule }] })('github.read')).toBe('deny');
    expect(
      effectBy({ default: 'deny', rules: [{ effect: 'allow', server: 'file_store', ...rule }] })('github.read'),
    ).toBe('allow');
    expect(effectBy(undefined, { default: 'deny', rules: [{ effect: 'allow', ...rule }] })('github.read')).toBe(
      'allow',
    );
  });

  it('names methods only after the dot, and never a tool with the name of a method', () => {
    const method = { ...tool('resources/read'), isMethod: true };
    const decide = (pattern: string, called: PolicyTool) =>
      new Policies(readPolicy({ rules: [{ effect: 'deny', tool: pattern }] }, FILE), new Map()).decide({
        server: SERVER,
        tool: called,
        arguments: {},
      }).effect;
    expect(decide('file_store.resources/*', method)).toBe('deny');
    expect(decide('file_store.*', method)).toBe('allow');
    expect(decide('file_store.resources/*', tool('resources/read'))).toBe('allow');
  });
});

describe('annotations', () => {
  const decide = effectBy({
    rules: [
      { effect: 'allow', annotations: { readOnlyHint: true } },
      { effect: 'ask', annotations: { destructiveHint: false, openWorldHint: false } },
      { effect: 'deny', annotations: { destructiveHint: true } },
      { effect: 'ask' },
    ],
  });

  it.each([
    [{ readOnlyHint: true }, 'allow'],
    [{ destructiveHint: false, openWorldHint: false }, 'ask'],
    [{}, 'deny'],
    [{ readOnlyHint: 'yes' }, 'deny'],
    [{ readOnlyHint: true, destructiveHint: true }, 'deny'],
    [{ destructiveHint: 0 }, 'deny'],
  ])('%j: %s', (annotations, effect) => {
    expect(decide('x', {}, annotations)).toBe(effect);
  });
});

describe('presets', () => {
  it('read-only allows tools that claim to be read-only and tools that a rule allows, and denies the rest', () => {
    const decide = decideBy({ preset: 'read-only', rules: [{ effect: 'allow', tool: 'append' }] });
    expect(decide('read', {}, { readOnlyHint: true }).effect).toBe('allow');
    expect(decide('append').effect).toBe('allow');
    expect(decide('write')).toEqual({ effect: 'deny', reason: `preset "read-only" of ${FILE} denies it` });
  });

  it('ask-destructive asks about destructive tools, which includes tools without annotations', () => {
    const decide = effectBy({ preset: 'ask-destructive' });
    expect(decide('write')).toBe('ask');
    expect(decide('write', {}, { destructiveHint: false })).toBe('allow');
    expect(decide('read', {}, { readOnlyHint: true })).toBe('allow');
  });
});

describe('conditions', () => {
  const inside = { arguments: { path: { under: '/data' } } };

  it('a rule that allows applies only if they certainly hold', () => {
    const decide = effectBy({ default: 'deny', rules: [{ effect: 'allow', ...inside }] });
    expect(decide('read', { path: '/data/x' })).toBe('allow');
    expect(decide('read', { path: '/etc/x' })).toBe('deny');
    expect(decide('read', { path: '/data/../etc/x' })).toBe('deny');
    expect(decide('read', { path: ['/data/x', '/etc/x'] })).toBe('deny');
    expect(decide('read', {})).toBe('deny');
  });

  it('a rule that denies applies unless they certainly fail', () => {
    const decide = decideBy({ rules: [{ effect: 'deny', ...inside }] });
    expect(decide('read', { path: '/etc/x' }).effect).toBe('allow');
    expect(decide('read', { path: '/etc/../data/x' })).toEqual({
      effect: 'deny',
      reason: `rules[0] of ${FILE} denies it, because its conditions cannot be checked: the argument 'path' contains ".."`,
    });
    expect(decide('read', { path: ['/data/x', '/etc/x'] }).effect).toBe('deny');
    expect(decide('read', {}).effect).toBe('deny');
  });

  it('a rule that asks never makes the result more permissive when in doubt', () => {
    const asks = { effect: 'ask', ...inside };
    expect(effectBy({ default: 'deny', rules: [asks] })('read', { path: '/data/..' })).toBe('deny');
    expect(effectBy({ default: 'allow', rules: [asks] })('read', { path: '/data/..' })).toBe('ask');
    expect(effectBy({ rules: [asks, { effect: 'deny' }] })('read', { path: '/data/x' })).toBe('ask');
  });
});

describe('the policy of an entry', () => {
  it('can forbid more, but never allows what policy.json does not', () => {
    const readOnly = { preset: 'read-only' };
    expect(effectBy({}, readOnly)('write')).toBe('deny');
    expect(effectBy({ default: 'deny' }, { default: 'allow' })('write')).toBe('deny');
    expect(effectBy({ default: 'ask' }, readOnly)('read', {}, { readOnlyHint: true })).toBe('ask');
    expect(decideBy(undefined, readOnly)('write').reason).toBe(
      'preset "read-only" of /home/u/MCPs/a.json (mcpServers.File Store.policy) denies it',
    );
  });
});

describe('what is decided without the arguments', () => {
  const settle = (policy: unknown) => new Policies(readPolicy(policy, FILE), new Map());

  it('a tool is denied if every path through the rules denies it', () => {
    const denied = { effect: 'deny', arguments: { path: { under: '/etc' } } };
    expect(settle({ rules: [denied] }).of(SERVER, tool('read')).denied).toBeUndefined();
    expect(settle({ rules: [denied], default: 'deny' }).of(SERVER, tool('read')).denied).toBeDefined();
    expect(
      settle({ rules: [{ ...denied, effect: 'ask' }], default: 'deny' }).of(SERVER, tool('r')).denied,
    ).toBeUndefined();
  });

  it('a server is denied if no earlier rule allows any of its tools', () => {
    const denial = (policy: unknown) => settle(policy).denial(SERVER);
    expect(denial({ rules: [{ effect: 'deny', server: 'file_*' }] })).toBe(`rules[0] of ${FILE} denies it`);
    expect(denial({ rules: [{ effect: 'deny', tool: 'x' }], default: 'deny' })).toBe(`"default" of ${FILE} denies it`);
    expect(denial({ rules: [{ effect: 'allow', tool: 'x' }], default: 'deny' })).toBeUndefined();
    expect(denial({ preset: 'read-only' })).toBeUndefined();
    expect(denial({ rules: [{ effect: 'deny', tool: '*' }] })).toBeUndefined();
  });

  it('resources and prompts are read-only, and only their method names match them', () => {
    const method = { ...tool('resources/read', { readOnlyHint: true }), isMethod: true };
    const effect = (policy: unknown) =>
      settle(policy).decide({ server: SERVER, tool: method, arguments: { uri: 'file:///x' } }).effect;
    expect(effect({ preset: 'read-only' })).toBe('allow');
    expect(effect({ rules: [{ effect: 'deny', tool: '*' }] })).toBe('allow');
    expect(effect({ rules: [{ effect: 'deny', tool: 'resources/*' }] })).toBe('deny');
    expect(effect({ rules: [{ effect: 'deny', server: 'file_store' }] })).toBe('deny');
    const uri = { uri: { matches: 'file:*' } };
    expect(effect({ rules: [{ effect: 'ask', tool: 'resources/read', arguments: uri }] })).toBe('ask');
    // A tool of the same name does not match the pattern for methods.
    const allowing = { default: 'deny', rules: [{ effect: 'allow', tool: 'resources/*' }] };
    expect(effectBy(allowing)('resources/read')).toBe('deny');
  });
});

describe('a policy that cannot be read', () => {
  it('refuses every call, and names the file, the position and the reason', () => {
    const decide = decideBy({ rules: [{ effect: 'deny', tools: 'x' }] });
    expect(decide('anything')).toEqual({
      effect: 'deny',
      reason: `every call is refused until the policy can be read: ${FILE}: rules[0]: Unrecognized key: "tools"`,
    });
  });

  it('in an entry, refuses only the calls to that server', () => {
    const policies = new Policies(undefined, new Map([['a', readPolicy(7, '/a.json', ['mcpServers', 'a', 'policy'])]]));
    const effect = (name: string) =>
      policies.decide({ server: { name, alias: name }, tool: tool('x'), arguments: {} }).effect;
    expect(effect('a')).toBe('deny');
    expect(effect('b')).toBe('allow');
    expect(policies.problemOf('a')).toBe(
      "every call to 'a' is refused until the policy can be read: /a.json: mcpServers.a.policy: must be an object",
    );
  });

  it.each([
    [{ rules: {} }, 'rules: must be a list'],
    [{ rules: [{}] }, 'rules[0].effect: must be "allow", "ask", "dry-run" or "deny"'],
    [{ rules: [{ effect: 'block' }] }, 'rules[0].effect: must be "allow", "ask", "dry-run" or "deny"'],
    // JSON readers round this number, so the rule allowed its neighbour.
    [
      { rules: [{ effect: 'allow', arguments: { id: { equals: 2 ** 53 } } }] },
      'rules[0].arguments.id.equals: is too large to be compared exactly',
    ],
    [
      { rules: [{ effect: 'deny', tool: '' }] },
      'rules[0].tool: must be a name or a pattern with * and ?, or a list of them',
    ],
    [
      { rules: [{ effect: 'deny', tool: [] }] },
      'rules[0].tool: must be a name or a pattern with * and ?, or a list of them',
    ],
    [
      { rules: [{ effect: 'deny', tool: ['a', 'delete '] }] },
      'rules[0].tool[1]: cannot match a name, because it starts or ends with a space',
    ],
    [
      { rules: [{ effect: 'deny', tool: '^delete_' }] },
      "rules[0].tool: cannot match a name, because it contains '^', which has no meaning here: only * and ? do",
    ],
    [
      { rules: [{ effect: 'deny', tool: 'read|write' }] },
      "rules[0].tool: cannot match a name, because it contains '|'; write several names as a list",
    ],
    [
      { limits: [{ tool: 'read, write', callsPerCell: 1 }] },
      "limits[0].tool: cannot match a name, because it contains ','; write several names as a list",
    ],
    [
      { rules: [{ effect: 'deny', tool: '.*' }] },
      'rules[0].tool: cannot match a name, because there is nothing before its first dot or after its last',
    ],
    [
      { rules: [{ effect: 'deny', tool: 'github.' }] },
      'rules[0].tool: cannot match a name, because there is nothing before its first dot or after its last',
    ],
    [
      { rules: [{ effect: 'deny', server: ' github' }] },
      'rules[0].server: cannot match a name, because it starts or ends with a space',
    ],
    [{ rules: [{ effect: 'deny', arguments: {} }] }, 'rules[0].arguments: must name at least one argument'],
    [
      { rules: [{ effect: 'deny', arguments: { p: {} } }] },
      'rules[0].arguments.p: must have at least one of under, equals, oneOf, matches and missing',
    ],
    [
      { rules: [{ effect: 'deny', arguments: { p: { under: '/a/../b' } } }] },
      'rules[0].arguments.p.under: cannot be compared with paths, because it contains ".."',
    ],
    // Rules with these denied nothing.
    [
      { rules: [{ effect: 'deny', arguments: { p: { under: '/etc/*' } } }] },
      'rules[0].arguments.p.under: cannot be compared with paths, because it contains a pattern, and every path below a folder counts anyway',
    ],
    [
      { rules: [{ effect: 'deny', arguments: { p: { under: ['/home/$USER/x'] } } }] },
      'rules[0].arguments.p.under[0]: cannot be compared with paths, because it contains a variable, which is not replaced here',
    ],
    [
      { rules: [{ effect: 'deny', arguments: { p: { matches: '^/etc.*$' } } }] },
      'rules[0].arguments.p.matches: cannot match as meant, because it is a regular expression, which has no meaning here: only * and ? do',
    ],
    [
      { rules: [{ effect: 'deny', arguments: { '$.p': { missing: false } } }] },
      'rules[0].arguments["$.p"]: is a JSONPath; write a JSON pointer, such as /options/path',
    ],
    [
      { limits: [{ server: 'x' }] },
      'limits[0]: must have at least one of callsPerCell, callsPerMinute, callsInFlight, resultBytes and deadline',
    ],
    [{ limits: [{ callsPerCell: 0 }] }, 'limits[0].callsPerCell: must be at least 1'],
    [
      { limits: [{ deadline: '0s' }] },
      'limits[0].deadline: must be a number of seconds, or a duration such as "30s" or "2m"',
    ],
    [{ preset: 'safe' }, 'preset: must be "read-only" or "ask-destructive"'],
    [
      { preset: 'read-only', default: 'allow' },
      'default: cannot be combined with "preset", which already decides the calls that no rule matches',
    ],
    [[], 'must be an object'],
  ])('%j: %s', (policy, fault) => {
    expect(new Policies(readPolicy(policy, FILE), new Map()).problem).toBe(
      `every call is refused until the policy can be read: ${FILE}: ${fault}`,
    );
  });

  it('in an entry, a rule cannot name a server', () => {
    const read = readPolicy({ rules: [{ effect: 'deny', server: 'x' }] }, '/a.json', ['mcpServers', 'a', 'policy']);
    expect(read).toMatchObject({ problem: '/a.json: mcpServers.a.policy.rules[0]: Unrecognized key: "server"' });
  });
});
