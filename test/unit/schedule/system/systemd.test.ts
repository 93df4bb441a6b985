import { array, assert, asyncProperty, constantFrom, oneof, string } from 'fast-check';
import { expect, it } from 'vitest';
import { planSystemd } from '../../../../src/app/schedule/system/systemd.ts';

const none = Buffer.alloc(0);
const end = { endedBy: 'exit', exitCode: 0, signal: undefined, stderr: none, reason: '' } as const;

async function serviceOf(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const woken = { id: 'x', command, env, stateDir: '/s', home: '/h' };
  const plan = await planSystemd(woken, async () => ({ ...end, stdout: Buffer.from('running') }));
  return 'why' in plan ? plan.why : (plan.files[0]?.text ?? '');
}

const SHORT: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** The words of a value, as systemd.syntax(7), systemd.unit(5) and, for arguments, systemd.service(5) say. */
function read(value: string, isCommand: boolean): string[] {
  return [...value.matchAll(/"((?:\\.|[^"\\])*)"(?: |$)/g)].map(([, quoted = '']) => {
    const word = quoted.replace(/\\(?:u([0-9a-f]{4})|(.))/g, (_, code?: string, character = '') =>
      code === undefined ? (SHORT[character] ?? character) : String.fromCharCode(Number.parseInt(code, 16)),
    );
    expect(word.replaceAll('%%', '')).not.toContain('%');
    const plain = word.replaceAll('%%', '%');
    expect(isCommand ? plain.replaceAll('$$', '') : '').not.toContain('$');
    return isCommand ? plain.replaceAll('$$', '$') : plain;
  });
}

function valuesOf(service: string, key: string): string[] {
  return service.split('\n').flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));
}

const HOSTILE = ['/a b/"c"/d\'e', '%h', '$HOME', '${HOME}', '$$', '\\x41', 'a\nb\tc', '', ';', ' ', 'ü♥𝒳', '-x', '@y'];

it('gives the program its words as they are', async () => {
  const [line = ''] = valuesOf(await serviceOf(HOSTILE), 'ExecStart');
  expect(read(line, true)).toEqual(['/bin/sh', '-c', 'exec "$0" "$@"', ...HOSTILE]);
});

it('gives it its variables as they are', async () => {
  const env = Object.fromEntries(HOSTILE.map((value, index) => [`V${index}`, value]));
  const service = await serviceOf(['/node'], env);
  const variables = valuesOf(service, 'Environment').flatMap((line) => read(line, false));
  expect(variables).toEqual(HOSTILE.map((value, index) => `V${index}=${value}`));
});

it('keeps any words apart, on one line', async () => {
  const word = string({
    unit: oneof(constantFrom('\\', '"', '$', '%', '\n', ' ', 'u', '{'), string({ maxLength: 1 })),
  });
  await assert(
    asyncProperty(array(word, { minLength: 1 }), async (words) => {
      const lines = valuesOf(await serviceOf(words), 'ExecStart');
      expect(lines.map((line) => read(line, true).slice(3))).toEqual([words]);
    }),
    { numRuns: 200 },
  );
});
