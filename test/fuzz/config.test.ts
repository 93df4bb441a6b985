/**
 * Arbitrary content in files and variables: server files, files of other clients, settings. Errors name the location and never
 * the value, because values may be secrets. Valid content is accepted unchanged. Only `CONFIG_INVALID` is thrown.
 */
import * as fc from 'fast-check';
import { describe, expect } from 'vitest';
import { BridgeError } from '../../src/core/base/errors.ts';
import { type FileFormat, FileSyntaxError } from '../../src/edges/clients/file-format.ts';
import { loadFormat } from '../../src/edges/clients/format.ts';
import { expandVariables } from '../../src/edges/servers/expand.ts';
import { parseForeignFile } from '../../src/edges/servers/foreign-file.ts';
import { parseServerFile, type ServerFile } from '../../src/edges/servers/server-file.ts';
import type { ClientSource } from '../../src/edges/servers/sources.ts';
import { loadSettings, SETTINGS_TABLE } from '../../src/edges/settings/settings.ts';
import { anyJson, anyText, isPrototypeClean, itHolds } from '../support/fuzzing.ts';

const FILE = '/state/servers.json';
/** Occurs only in values, so it must not occur in any message. */
const SECRET = 'bait-5d1f';
const context = { home: '/home/user', env: { TOKEN: `${SECRET}-variable`, EMPTY: '' } };
/** Room for the longest name, quoted and escaped, in a path and a sentence. */
const MAX_MESSAGE_CHARS = 4_000;

const secretText = fc
  .oneof(anyText, fc.constantFrom('${TOKEN}', '${NONE:-x}', '${NONE}', '~/x', '${', '}', '$', '~'))
  .map((text) => SECRET + text);
const scalar = fc.oneof(secretText, fc.integer(), fc.boolean());
const serverName = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/);
const variable = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,8}$/);

const goodEntry = fc
  .record(
    {
      command: fc.stringMatching(/^[a-z]{1,8}$/),
      args: fc.array(scalar, { maxLength: 4 }),
      env: fc.dictionary(variable, scalar, { maxKeys: 3, noNullPrototype: true }),
      cwd: fc.stringMatching(/^\/[a-z]{1,8}$/),
      description: anyText,
      disabled: fc.boolean(),
      timeout: fc.oneof(fc.integer({ min: 1, max: 600 }), fc.constantFrom('30s', '2m', '500ms')),
    },
    { requiredKeys: ['command'], noNullPrototype: true },
  )
  .filter(({ args = [], env = {} }) => ![...args, ...Object.values(env)].some((text) => String(text).includes('\0')));

/** An entry with any value for any member. */
const badEntry = fc
  .tuple(
    goodEntry,
    fc.constantFrom('command', 'args', 'env', 'cwd', 'timeout', 'url', 'type', '__proto__'),
    fc.oneof(anyJson, secretText),
  )
  .map(([entry, key, value]) => Object.fromEntries([...Object.entries(entry), [key, value]]));
const serverFile = (entry: fc.Arbitrary<unknown>) =>
  fc
    .array(fc.tuple(fc.oneof(serverName, anyText), entry), { maxLength: 4 })
    .map((members) => ({ mcpServers: Object.fromEntries(members) }));

/** JSON with one change. */
const brokenText = fc
  .tuple(serverFile(badEntry), fc.nat(2_000), anyText, fc.nat(20))
  .map(([root, at, inserted, removed]) => {
    const text = JSON.stringify(root);
    const place = at % (text.length + 1);
    return text.slice(0, place) + inserted + text.slice(place + removed);
  });
const anyFile = fc.oneof(
  brokenText,
  anyText,
  anyJson.map((value) => JSON.stringify(value)),
  anyJson.map((value) => JSON.stringify({ mcpServers: value })),
  fc.dictionary(anyText, secretText).map((value) => JSON.stringify(value)),
  serverFile(badEntry).map((root) => JSON.stringify(root)),
  serverFile(anyJson).map((root) => JSON.stringify(root)),
);

/** The same with all keys in reverse order, which has the same meaning. */
function reversed(value: unknown): unknown {
  return value === null || typeof value !== 'object' || Array.isArray(value)
    ? value
    : Object.fromEntries(
        Object.entries(value)
          .toReversed()
          .map(([key, member]) => [key, reversed(member)]),
      );
}

/** What holds for every file, however broken. */
function expectBounded({ servers, issues }: ServerFile): void {
  expect(isPrototypeClean()).toBe(true);
  for (const { file, message, path } of issues) {
    expect(file).toBe(FILE);
    expect(message).not.toBe('');
    expect(message.length + path.length).toBeLessThan(MAX_MESSAGE_CHARS);
    expect(message).not.toContain(SECRET);
  }
  for (const { args = [], command, cwd = '', definitionHash, env = {}, headers = {}, name, url } of servers) {
    const given = [command ?? url, ...args, ...Object.values(env), ...Object.values(headers)];
    expect([name, cwd, ...given].every((text) => typeof text === 'string')).toBe(true);
    expect(given.some((text) => text?.includes('\0'))).toBe(false);
    expect(definitionHash).toMatch(/^[0-9a-f]{64}$/);
  }
  expect(new Set(servers.map(({ name }) => name)).size).toBe(servers.length);
}

describe('server files', () => {
  itHolds('any text gives servers and issues without secrets', 2_000, anyFile, (text) => {
    expectBounded(parseServerFile(FILE, text, context));
  });

  const good = fc.dictionary(
    serverName.filter((name) => name !== '__proto__'),
    goodEntry,
    { maxKeys: 4, noNullPrototype: true },
  );

  itHolds('valid entries are accepted unchanged', 1_500, good, (entries) => {
    const { issues, servers } = parseServerFile(FILE, JSON.stringify({ mcpServers: entries }), context);
    expect(issues.filter(({ level }) => level === 'error')).toEqual([]);
    expect(servers.map(({ name }) => name)).toEqual(Object.keys(entries));
    for (const { args = [], command, env = {}, name } of servers) {
      const entry = entries[name];
      expect(command).toBe(entry?.command);
      expect(Object.keys(env)).toEqual(Object.keys(entry?.env ?? {}));
      (entry?.args ?? []).forEach((argument, index) => {
        expect(args[index]).toBe(expandVariables(String(argument), context, () => undefined));
      });
    }
    const again = parseServerFile(FILE, JSON.stringify({ mcpServers: reversed(entries) }), context);
    const hashes = (all: typeof servers) => new Map(all.map(({ definitionHash, name }) => [name, definitionHash]));
    expect(hashes(again.servers)).toEqual(hashes(servers));
  });

  const repeated = fc.tuple(
    fc.constantFrom('${A:-', '${A', '${', '}', '${TOKEN}', '~', '\\', '"'),
    fc.integer({ min: 1, max: 200_000 }),
  );

  itHolds('long values are quick to read', 100, repeated, ([piece, times]) => {
    const long = piece.repeat(times);
    for (const more of [
      { args: [long] },
      { env: { A: long } },
      { cwd: `/${long}` },
      { timeout: `1${' '.repeat(times)}x` },
    ]) {
      parseServerFile(FILE, JSON.stringify({ mcpServers: { a: { command: 'x', ...more } } }), context);
    }
    parseServerFile(FILE, long, context);
  });
});

describe('files of other clients', async () => {
  const formats = await Promise.all(
    (['json', 'toml', 'yaml'] as const).map(async (name) => [name, await loadFormat(name)] as const),
  );
  const keys = [['mcpServers'], ['mcp', 'servers'], ['servers']];
  const sourceOf = (format: FileFormat): ClientSource => ({
    files: [FILE],
    format,
    keys,
    timeoutUnit: 'ms',
    isRequired: true,
  });

  const starts = [
    '[mcpServers.a]',
    '[__proto__]',
    '"\\u005f_proto__".x = 1',
    'mcpServers:',
    '  a:',
    '    command: x',
    'command = "x"',
    '- &a',
    '<<: *a',
    '  __proto__:',
    '"""',
    '{',
    '}',
    '---',
  ];
  const line = fc
    .tuple(
      fc.constantFrom(...starts),
      fc.oneof(
        fc.constant(''),
        fc.tuple(fc.constantFrom('', ' ', ': ', ' = ', '# '), anyText).map((parts) => parts.join('')),
      ),
    )
    .map((parts) => parts.join(''));
  const lines = fc.array(line, { maxLength: 8 }).map((all) => all.join('\n'));

  for (const [name, format] of formats) {
    itHolds(`any text as ${name} gives servers and issues`, 800, fc.oneof(anyFile, lines), (text) => {
      expectBounded(parseForeignFile(FILE, text, context, sourceOf(format)));
    });
  }

  const names = fc.uniqueArray(fc.oneof(serverName, fc.constantFrom('__proto__', 'constructor')), { maxLength: 3 });

  // JSON is also YAML.
  const write = (name: string) => `[mcpServers.${JSON.stringify(name)}]\ncommand = "x"\n`;
  const writers: Readonly<Record<string, (names: readonly string[]) => string>> = {
    json: (all) => JSON.stringify({ mcpServers: Object.fromEntries(all.map((name) => [name, { command: 'x' }])) }),
    yaml: (all) => JSON.stringify({ mcpServers: Object.fromEntries(all.map((name) => [name, { command: 'x' }])) }),
    toml: (all) => all.map(write).join(''),
  };

  for (const [name, format] of formats) {
    itHolds(`entries of any name in ${name} are found or refused`, 300, names, (all) => {
      const { issues, servers } = parseForeignFile(FILE, writers[name]?.(all) ?? '', context, sourceOf(format));
      const isRefused = issues.some(({ message }) => message.includes('"__proto__", which is not allowed'));
      expect(servers.map((server) => server.name).toSorted()).toEqual(isRefused ? [] : all.toSorted());
      expect(isRefused).toBe(name === 'toml' && all.includes('__proto__'));
      expect(isPrototypeClean()).toBe(true);
    });
  }

  itHolds('a syntax error has a position', 300, fc.oneof(lines, line), (text) => {
    for (const [, format] of formats) {
      try {
        format.parse(text);
      } catch (error) {
        expect(error).toBeInstanceOf(FileSyntaxError);
      }
    }
  });
});

describe('settings', () => {
  const variables = SETTINGS_TABLE.map((setting) => setting.variable);
  const value = fc.oneof(
    anyText,
    fc.constantFrom(
      '0',
      '1',
      '30',
      '2m',
      '512m',
      '1e9',
      'podman',
      'auto',
      'mcps,claude',
      '/a:/data:ro',
      '~',
      '~/x',
      '65534:65534',
      'INFO',
    ),
    fc
      .tuple(fc.constantFrom('9', ' ', ':', ',', '/', '-', 'm', '1.', 'a:/b,'), fc.integer({ min: 1, max: 20_000 }))
      .map(([piece, times]) => piece.repeat(times)),
  );
  const environment = fc.dictionary(fc.constantFrom(...variables), value, { maxKeys: 6, noNullPrototype: true });

  itHolds('are within their limits, or refused in a few lines', 2_800, environment, (env) => {
    try {
      const settings = loadSettings(env);
      expect(settings.timeoutSeconds).toBeLessThanOrEqual(settings.maxTimeoutSeconds);
      expect(settings.memoryBytes).toBeGreaterThanOrEqual(32 * 1024 ** 2);
      expect(settings.pids).toBeGreaterThanOrEqual(8);
      expect(settings.image).not.toMatch(/^-|\s/);
      expect(settings.stateDir).toMatch(/^\//);
    } catch (error) {
      expect(error).toBeInstanceOf(BridgeError);
      expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
      expect((error as Error).message).not.toMatch(/[\0-\u0009\u000b-\u001f\u007f]/);
      expect((error as Error).message.length).toBeLessThan(MAX_MESSAGE_CHARS * Object.keys(env).length);
    }
    expect(isPrototypeClean()).toBe(true);
  });
});
