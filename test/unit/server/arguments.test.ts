import { describe, expect, test } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { MAX_CODE_BYTES } from '../../../src/core/base/limits.ts';
import { assignServerAliases, resolveName } from '../../../src/core/catalog/names.ts';
import type { ServerNames } from '../../../src/core/session/lazy-bridge.ts';
import { checkRunArguments } from '../../../src/front/server/arguments.ts';

const rules = {
  defaultTimeoutSeconds: 30,
  maxTimeoutSeconds: 120,
  ...configured({}),
};

function configured(servers: Partial<ServerNames>) {
  const names = servers.names ?? ['github', 'filesystem'];
  const aliases = assignServerAliases(names);
  const candidates = names.map((name, index) => ({ name, alias: aliases[index] ?? name }));
  const all = {
    names,
    fileProblems: [],
    resolve: (wanted: string) => resolveName(candidates, wanted)?.name,
    whyDisabled: () => undefined,
    ...servers,
  };
  return { listServers: async (): Promise<ServerNames> => all };
}

/** The message of the refusal; each must have a hint. */
async function refusal(given: unknown, names?: readonly string[]): Promise<string> {
  const { message, hint } = await refused(given, names);
  expect(hint).toMatch(/^[A-Z].{10}/);
  return message;
}

async function refused(given: unknown, names?: readonly string[]): Promise<BridgeError> {
  const thrown = await checkRunArguments(given, { ...rules, ...(names && configured({ names })) }).then(
    () => new Error('was accepted'),
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(BridgeError);
  expect(thrown).toMatchObject({ code: 'ARGUMENT_INVALID' });
  return thrown as BridgeError;
}

test('a first line that asks for too much is refused', async () => {
  expect(await refusal({ code: '# timeout: 2h\nx' })).toContain(
    '`timeout` is 7200; it must be a whole number of seconds from 1 to 120',
  );
});

describe('accepted arguments', () => {
  test('get defaults', async () => {
    const checked = { code: 'x', servers: [], timeoutSeconds: 30, session: 'default', isBackground: false };
    expect(await checkRunArguments({ code: 'x' }, rules)).toEqual(checked);
  });

  test.each([
    ['# timeout: 90\nx', undefined, 90, false],
    ['\n  # timeout: 2m\nx', 10, 120, false],
    ['# background\nx', undefined, 120, true],
    ['# background, timeout: 1m', undefined, 60, true],
    ['# timeout: 1m, background\nx', undefined, 60, true],
    // Comments that only look like it.
    ['# timeout: see below\nx', undefined, 30, false],
    ['# background of this\nx', undefined, 30, false],
    ['x\n# timeout: 90', undefined, 30, false],
  ])('may have settings in the first line of %j', async (code, timeout, timeoutSeconds, isBackground) => {
    expect(await checkRunArguments({ code, timeout }, rules)).toMatchObject({ timeoutSeconds, isBackground });
  });

  test('may be null if they are optional', async () => {
    const given = { code: 'x', servers: null, timeout: null, session: null };
    expect(await checkRunArguments(given, rules)).toEqual(await checkRunArguments({ code: 'x' }, rules));
  });

  test('keep the order of servers, each once', async () => {
    const given = { code: 'x', servers: ['filesystem', 'github', 'filesystem'] };
    expect((await checkRunArguments(given, rules)).servers).toEqual(['filesystem', 'github']);
  });

  test('reach the limits', async () => {
    const code = '#'.repeat(MAX_CODE_BYTES);
    expect((await checkRunArguments({ code, timeout: 120, session: 'A.b-c_9' }, rules)).timeoutSeconds).toBe(120);
    expect((await checkRunArguments({ code, timeout: 1, session: 'a'.repeat(64) }, rules)).timeoutSeconds).toBe(1);
  });

  test.each([
    ['5', 5],
    [' 120\n', 120],
    ['5.0', 5],
    ['007', 7],
  ])('may give the timeout as the string %j', async (timeout, seconds) => {
    expect((await checkRunArguments({ code: 'x', timeout }, rules)).timeoutSeconds).toBe(seconds);
  });

  test.each([
    ['filesystem', ['filesystem']],
    ['["filesystem", "github", "filesystem"]', ['filesystem', 'github']],
    [' ["github"]\n', ['github']],
    ['[]', []],
    ['', []],
    [' ', []],
    ["['github', 'filesystem']", ['github', 'filesystem']],
    ['github, filesystem', ['github', 'filesystem']],
    ['GitHub', ['github']],
  ])('may give the servers as the string %j', async (servers, names) => {
    expect((await checkRunArguments({ code: 'x', servers }, rules)).servers).toEqual(names);
  });

  test.each([
    ['GITHUB', 'github'],
    ['MCP_github', 'github'],
    ['mcp__github', 'github'],
    ['mcp_GitHub', 'github'],
    ['my_server', 'My-Server'],
    ['mcp_my_server', 'My-Server'],
    ['mcp_tools', 'mcp_tools'],
    ['tools', 'tools'],
  ])('may name a server as in Python or in another case: %j', async (given, name) => {
    const names = ['github', 'My-Server', 'mcp_tools', 'tools'];
    const checked = await checkRunArguments(
      { code: 'x', servers: [given, name] },
      { ...rules, ...configured({ names }) },
    );
    expect(checked.servers).toEqual([name]);
  });

  // A server name may have any character except control characters.
  test.each(['a, b', '["github"]', ' github '])('name exactly the server %j', async (name) => {
    const names = ['a', 'b', 'github', name];
    const given = { code: 'x', servers: name };
    expect((await checkRunArguments(given, { ...rules, ...configured({ names }) })).servers).toEqual([name]);
  });

  test.each([
    [5, '5'],
    [0, '0'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ])('may give the session as the number %d', async (session, name) => {
    expect((await checkRunArguments({ code: 'x', session }, rules)).session).toBe(name);
  });

  test('do not need the configured servers if none is named', async () => {
    const listServers = () => Promise.reject(new Error('must not be called'));
    await expect(checkRunArguments({ code: 'x', servers: [] }, { ...rules, listServers })).resolves.toBeDefined();
  });

  test.each([['github'], [['github', 'filesystem']]])('read the configured servers once for %j', async (servers) => {
    let count = 0;
    const listServers = () => {
      count += 1;
      return rules.listServers();
    };
    await checkRunArguments({ code: 'x', servers }, { ...rules, listServers });
    expect(count).toBe(1);
  });
});

describe('refused arguments', () => {
  test.each([
    [{ code: 'x', time_out: 3 }, "Did you mean 'timeout'?"],
    [{ code: 'x', zzz: 3 }, 'Leave it out.'],
    [{ code: 'x', timeout: 500 }, /^Use 120, and do the rest in the next cell/],
    [{ code: 'x', timeout: '5s' }, 'Write only the number of seconds, without a unit or fraction.'],
    [{ code: 'x', servers: ['githb'] }, "Did you mean 'github'? Configured: 'github', 'filesystem'."],
    [{ code: 'x', servers: ['__proto__'] }, "Configured: 'github', 'filesystem'."],
    [{ code: 'x', servers: 5 }, "Write a list such as ['github'], or leave the argument out."],
    [{}, 'Send the Python source as the string `code`.'],
  ])('%j say what to do', async (given, hint) => {
    expect((await refused(given)).hint).toMatch(hint);
  });

  test('two servers that differ only in case', async () => {
    expect(await refusal({ code: 'x', servers: ['GIT'] }, ['Git', 'git'])).toContain("'GIT', which is not configured");
  });

  test.each([
    [undefined, 'The arguments are undefined; an object with `code` is needed.'],
    ['print(1)', "The arguments are 'print(1)'; an object with `code` is needed."],
    [['print(1)'], "The arguments are ['print(1)']; an object with `code` is needed."],
    [{}, '`code` is missing; it is the Python source to run, a string.'],
    [{ code: null }, '`code` is null; it must be a string of Python source.'],
    [{ code: 7 }, '`code` is 7; it must be a string of Python source.'],
    [{ code: ' \n\t' }, '`code` is blank; it must hold Python source.'],
    [{ code: 'x', timeout: 0 }, '`timeout` is 0; it must be a whole number of seconds from 1 to 120.'],
    [{ code: 'x', timeout: -1 }, '`timeout` is -1; it must be a whole number of seconds from 1 to 120.'],
    [{ code: 'x', timeout: 121 }, '`timeout` is 121; it must be a whole number of seconds from 1 to 120.'],
    [{ code: 'x', timeout: 1.5 }, '`timeout` is 1.5; it must be a whole number of seconds from 1 to 120.'],
    [{ code: 'x', timeout: 1e12 }, '`timeout` is 1000000000000; it must be a whole number of seconds from 1 to 120.'],
    [{ code: 'x', timeout: '0' }, "`timeout` is '0'; it must be a whole number of seconds from 1 to 120."],
    [{ code: 'x', timeout: '1.5' }, "`timeout` is '1.5'; it must be a whole number of seconds from 1 to 120."],
    [{ code: 'x', timeout: true }, '`timeout` is true; it must be a whole number of seconds from 1 to 120.'],
    [{ code: 'x', timeout: ['5'] }, "`timeout` is ['5']; it must be a whole number of seconds from 1 to 120."],
    [{ code: ['x', 'y'] }, "`code` is ['x','y']; it must be a string of Python source."],
    [
      { code: 'x', session: '../x' },
      "`session` is '../x'; it must be a string of 1 to 64 letters, digits, '_', '.' or '-' that begins with a letter or digit.",
    ],
    [{ code: 'x', servers: '["github"' }, '`servers` is \'["github"\'; it must be a list of server names.'],
    [{ code: 'x', servers: "['a\n" }, "`servers` is '['a\\n'; it must be a list of server names."],
    [{ code: 'x', servers: 5 }, '`servers` is 5; it must be a list of server names.'],
    [{ code: 'x', servers: { github: {} } }, "`servers` is {'github':{}}; it must be a list of server names."],
    [{ code: 'x', servers: 'github, slack' }, "`servers` names 'slack', which is not configured."],
    [{ code: 'x', servers: '["github", 3]' }, '`servers[1]` is 3; it must be the name of a server, a string.'],
    [{ code: 'x', servers: 'githb' }, "`servers` names 'githb', which is not configured."],
    [{ code: 'x', servers: ['github', 3] }, '`servers[1]` is 3; it must be the name of a server, a string.'],
    [{ code: 'x', servers: ['githb'] }, "`servers` names 'githb', which is not configured."],
    [{ code: 'x', servers: ['__proto__'] }, "`servers` names '__proto__', which is not configured."],
    [
      { code: 'x', time_out: 3 },
      "There is no argument 'time_out'; allowed are 'code', 'servers', 'timeout', 'session'.",
    ],
  ])('%j', async (given, sentence) => {
    expect(await refusal(given)).toBe(sentence);
  });

  test.each([
    '',
    ' ',
    '5s',
    '1e1',
    '0x10',
    '+5',
    '-5',
    '1_0',
    '5,0',
    '.5',
    '5.',
    'NaN',
    'Infinity',
    '５',
    '5 5',
    'five',
  ])('the string %j as a timeout', async (timeout) => {
    expect(await refusal({ code: 'x', timeout })).toContain('it must be a whole number of seconds from 1 to 120.');
  });

  test.each([-1, 1.5, 1e21, 2 ** 53, '', ' a', true, ['a']])('%j as a session', async (session) => {
    const shown = JSON.stringify(session).replaceAll('"', "'");
    expect(await refusal({ code: 'x', session })).toContain(`\`session\` is ${shown}; it must be`);
  });

  test('code that is too long, counted in bytes', async () => {
    const code = 'ä'.repeat(MAX_CODE_BYTES / 2 + 1);
    expect(await refusal({ code })).toBe('`code` has 1,048,578 bytes; at most 1,048,576 are allowed.');
  });

  test('a session name of 65 characters', async () => {
    expect(await refusal({ code: 'x', session: 'a'.repeat(65) })).toContain('1 to 64 letters');
  });

  test('a server if none is configured', async () => {
    const sentence = "`servers` names 'github', but no server is configured.";
    expect(await refusal({ code: 'x', servers: ['github'] }, [])).toBe(sentence);
    const given = { code: 'x', servers: ['github'] };
    await expect(checkRunArguments(given, { ...rules, ...configured({ names: [] }) })).rejects.toMatchObject({
      hint: expect.stringContaining('install CLIENT --import'),
    });
  });

  test('a server in a file with problems: those that name it come first', async () => {
    const fileProblems = ['/1.json: bad', '/2.json: bad', '/3.json: bad', '/4.json: mcpServers.slack: bad'];
    const asked = checkRunArguments({ code: 'x', servers: ['slack'] }, { ...rules, ...configured({ fileProblems }) });
    await expect(asked).rejects.toMatchObject({
      hint:
        "Configured: 'github', 'filesystem'. The user must fix these problems in server files: " +
        '/4.json: mcpServers.slack: bad; /1.json: bad; /2.json: bad.',
    });
  });

  test('a disabled server, with its reason, even if no other is configured', async () => {
    const reason = new BridgeError('SERVER_NOT_AVAILABLE', 'it is disabled');
    const whyDisabled = (name: string) => (name === 'off' ? reason : undefined);
    const withOff = { ...rules, ...configured({ whyDisabled }) };
    await expect(checkRunArguments({ code: 'x', servers: ['github', 'off'] }, withOff)).rejects.toBe(reason);
    const alone = { ...rules, ...configured({ whyDisabled, names: [] }) };
    await expect(checkRunArguments({ code: 'x', servers: ['off'] }, alone)).rejects.toBe(reason);
    const other = checkRunArguments({ code: 'x', servers: ['githb'] }, withOff);
    await expect(other).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
  });

  test('long values, cut, but never inside a character', async () => {
    const sentence = await refusal({ code: 'x', servers: [`${'n'.repeat(59)}😀${'n'.repeat(10_000)}`] });
    expect(sentence.length).toBeLessThan(200);
    expect(sentence.isWellFormed()).toBe(true);
  });

  test('a server, with a long list of configured servers cut', async () => {
    const many = Array.from({ length: 500 }, (_, index) => `server-${index}`);
    expect((await refused({ code: 'x', servers: ['zzzz'] }, many)).hint).toContain('and 460 more');
  });
});
