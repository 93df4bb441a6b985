/** What programs find in QuickJS, and what they cannot do with it. The child process around it has integration tests. */
import { describe, expect, it } from 'vitest';
import { type ProgramOptions, runJavaScript } from '../../../../support/javascript-job.ts';

/** The output of a program that must succeed. */
async function stdoutOf(code: string, options?: ProgramOptions): Promise<string> {
  const { exitCode, stderr, stdout } = await runJavaScript(code, options);
  expect([stderr, exitCode]).toEqual(['', 0]);
  return stdout;
}

describe('scripts as agents write them', () => {
  it.each([
    [
      'transform JSON',
      `const rows = JSON.parse('[{"n":"a","v":1},{"n":"b","v":2}]');
       console.log(JSON.stringify(Object.fromEntries(rows.map(({ n, v }) => [n, v * 2]))));`,
      '{"a":2,"b":4}\n',
    ],
    [
      'group',
      'console.log(Object.groupBy([1, 2, 3], (n) => (n % 2 ? "odd" : "even")));',
      '[Object: null prototype] { odd: [ 1, 3 ], even: [ 2 ] }\n',
    ],
    [
      'match',
      'console.log([..."a1 b22".matchAll(/(?<l>[a-z])(\\d+)/g)].map((m) => m.groups.l + m[2].length));',
      "[ 'a1', 'b2' ]\n",
    ],
    [
      'replace',
      'console.log("2026-01-02".replace(/(\\d+)-(\\d+)-(\\d+)/, "$3.$2.$1"), "x-y".replaceAll("-", "+"));',
      '02.01.2026 x+y\n',
    ],
    [
      'match letters',
      'console.log("Grüße, 東京".match(/\\p{L}+/gu), "é".normalize("NFD").length);',
      "[ 'Grüße', '東京' ] 2\n",
    ],
    [
      'compute dates',
      'const d = new Date("2026-02-28T12:00:00Z"); d.setUTCDate(d.getUTCDate() + 1); console.log(d);',
      '2026-03-01T12:00:00.000Z\n',
    ],
    [
      'count',
      'const m = new Map(); for (const w of "a b a".split(" ")) m.set(w, (m.get(w) ?? 0) + 1); console.log(m);',
      "Map(2) { 'a' => 2, 'b' => 1 }\n",
    ],
    [
      'remove duplicates',
      'console.log(new Set([1, 1, 2]), [...new Set([3, 3])], new Set([1]).union(new Set([2])));',
      'Set(2) { 1, 2 } [ 3 ] Set(2) { 1, 2 }\n',
    ],
    [
      'define classes',
      `class Animal { #name; static count = 0; constructor(name) { this.#name = name; Animal.count += 1; } get name() { return this.#name; } }
       class Dog extends Animal { speak() { return \`\${this.name} barks\`; } }
       console.log(new Dog("Rex").speak(), Animal.count, new Dog("x"), Dog);`,
      'Rex barks 1 Dog {} [class Dog extends Animal]\n',
    ],
    [
      'generate',
      'function* f() { let [a, b] = [0, 1]; for (;;) { yield a; [a, b] = [b, a + b]; } } console.log(f().take(8).toArray().join());',
      '0,1,1,2,3,5,8,13\n',
    ],
    [
      'iterate asynchronously',
      'async function* f() { for (let i = 0; i < 3; i += 1) { await null; yield i; } } for await (const i of f()) console.log(i);',
      '0\n1\n2\n',
    ],
    [
      'sort',
      'console.log([3, 1, 2].toSorted(), [{ a: 2 }, { a: 1 }].sort((x, y) => x.a - y.a), ["b", "a"].toReversed());',
      "[ 1, 2, 3 ] [ { a: 1 }, { a: 2 } ] [ 'a', 'b' ]\n",
    ],
    [
      'round',
      'console.log((1234.5678).toFixed(2), Math.max(...[1, 5, 3]), 0.1 + 0.2, 2n ** 64n, 7 % 3);',
      '1234.57 5 0.30000000000000004 18446744073709551616n 1\n',
    ],
    [
      'wait',
      'const { setTimeout: sleep } = await import("node:timers/promises"); console.log(await sleep(1, "slept"));',
      'slept\n',
    ],
    [
      'race',
      'const late = new Promise((r) => setTimeout(r, 30, "late")); console.log(await Promise.race([late, Promise.any([Promise.reject(1), Promise.resolve("first")])]));',
      'first\n',
    ],
    [
      'settle',
      'console.log((await Promise.allSettled([Promise.resolve(1), Promise.reject(new Error("no"))])).map((r) => r.status));',
      "[ 'fulfilled', 'rejected' ]\n",
    ],
    [
      'read a table',
      `import fs from 'fs'; import path from 'path';
       const [head, ...rows] = fs.readFileSync(path.join('data', 'x.csv'), 'utf8').trim().split('\\n').map((line) => line.split(','));
       console.log(rows.map((row) => Object.fromEntries(row.map((cell, at) => [head[at], cell]))));`,
      "[ { a: '1', b: '2' }, { a: '3', b: '4' } ]\n",
    ],
    [
      'read stdin',
      'let all = ""; process.stdin.setEncoding("utf8"); for await (const chunk of process.stdin) all += chunk; console.log(all.toUpperCase());',
      'INPUT\n',
    ],
    [
      'use CommonJS',
      'const { readFileSync } = require("fs"); const lib = require("./lib"); console.log(lib.add(1, 2), require("./n.json").n, readFileSync("n.json", "utf8"));',
      '3 1 {"n":1}\n',
    ],
    [
      'take addresses apart',
      'const u = new URL("../b?q=x%20y#h", "https://u@ex.com:8443/a/c/"); u.searchParams.append("z", "1&2"); console.log(u.href, u.host, u.searchParams.get("q"));',
      'https://u@ex.com:8443/a/b?q=x+y&z=1%262#h ex.com:8443 x y\n',
    ],
    [
      'encode',
      'console.log(btoa("hi"), atob("aGk="), Buffer.from("é").toString("hex"), Buffer.from("w6k", "base64").toString(), new TextDecoder().decode(new TextEncoder().encode("€")));',
      'aGk= hi c3a9 é €\n',
    ],
    [
      'copy',
      'const a = { d: new Date(0), m: new Map([[1, { x: 1 }]]) }; a.self = a; const b = structuredClone(a); console.log(b.self === b, b.m !== a.m, b.d);',
      'true true 1970-01-01T00:00:00.000Z\n',
    ],
  ])('%s', async (_what, code, expected) => {
    const files = { 'data/x.csv': 'a,b\n1,2\n3,4\n', 'lib.js': 'exports.add = (a, b) => a + b;', 'n.json': '{"n":1}' };
    expect(await stdoutOf(code, { files, stdin: 'input' })).toBe(expected);
  });

  it('are not told that a promise waits, which they cannot know', async () => {
    expect(await stdoutOf('console.log(Promise.resolve(1), [new Promise(() => undefined)]);')).toBe(
      'Promise {} [ Promise {} ]\n',
    );
  });

  // People format numbers and dates with it: they get the error that Node would give for an unknown name.
  it('have no Intl', async () => {
    expect(await stdoutOf('console.log(typeof Intl, (1234.5).toLocaleString());')).toBe('undefined 1234.5\n');
  });
});

describe('a program', () => {
  it('leaves the files that are new or changed', async () => {
    const code = `
      import fs from 'node:fs'; import { writeFile } from 'node:fs/promises';
      fs.writeFileSync('same.txt', 'same'); fs.appendFileSync('log.txt', '+'); fs.mkdirSync('a/b', { recursive: true });
      await writeFile('a/b/new.txt', 'é'); fs.writeFileSync('/tmp/no.txt', 'x'); fs.rmSync('gone.txt');`;
    const files = { 'same.txt': 'same', 'log.txt': 'a', 'gone.txt': 'x' };
    expect((await runJavaScript(code, { files, wantsFiles: true })).files).toEqual({
      'log.txt': 'a+',
      'a/b/new.txt': 'é',
    });
    expect((await runJavaScript(code, { files })).files).toEqual({});
  });

  it.each([
    ["fs.readFileSync('no.txt')", "ENOENT: no such file or directory, open 'no.txt'"],
    ["fs.writeFileSync('no/x', '')", "ENOENT: no such file or directory, open 'no/x'"],
    ["fs.writeFileSync('/etc/x', '')", "ENOENT: no such file or directory, open '/etc/x'"],
    ["fs.writeFileSync('/x', '')", "EROFS: read-only file system, open '/x'"],
    ["fs.mkdirSync('/workspace')", "EEXIST: file already exists, mkdir '/workspace'"],
    ["fs.rmdirSync('..')", "ENOTEMPTY: directory not empty, rmdir '..'"],
    ["fs.readdirSync('main.mjs')", "ENOTDIR: not a directory, scandir 'main.mjs'"],
    ["fs.writeFileSync('big', 'x'.repeat(1100000))", "ENOSPC: no space left on device, write '/workspace/big'"],
  ])('gets an error from %s', async (statement, message) => {
    const code = `import fs from 'node:fs'; try { ${statement}; } catch (error) { console.log(error.message); }`;
    const said = (await stdoutOf(code)).trimEnd();
    expect(said).toBe(message);
  });

  it.each([
    [
      'throw new TypeError("boo")',
      1,
      /^file:\/\/\/workspace\/main\.mjs:2\n {2}throw new TypeError\("boo"\)\n +\^\n\nTypeError: boo\n {4}at f \(file:\/\/\/workspace\/main\.mjs:2:\d+\)\n {4}at file:\/\/\/workspace\/main\.mjs:4:\d+\n$/,
    ],
    ['let x = ;', 1, /^file:\/\/\/workspace\/main\.mjs:2\n {2}let x = ;\n +\^\n\nSyntaxError: /],
    ['throw "text"', 1, "Uncaught 'text'\n"],
    ['Promise.reject(new RangeError("lost"))', 1, /\n\nRangeError: lost\n {4}at /],
    ['Promise.reject(7)', 1, '[UnhandledPromiseRejection: the promise was rejected with the reason 7]\n'],
    ['setTimeout(() => { throw new Error("late"); }, 1)', 1, /\n\nError: late\n {4}at /],
    ['queueMicrotask(() => { throw new Error("soon"); })', 1, /\n\nError: soon\n {4}at /],
    ['process.on("exit", () => { throw new Error("at the end"); })', 1, /\n\nError: at the end\n {4}at /],
    [
      'throw new Error("outer", { cause: new Error("inner") })',
      1,
      /Error: outer\n {4}at [^]*\[cause\]: Error: inner\n/,
    ],
    ['process.exit(300)', 44, ''],
    ['process.exitCode = 3', 3, ''],
    [
      'process.on("uncaughtException", (error) => console.error("caught", error.message)); throw new Error("x")',
      0,
      'caught x\n',
    ],
    ['process.on("unhandledRejection", (reason) => console.error("seen", reason)); Promise.reject(1)', 0, 'seen 1\n'],
    ['const late = Promise.reject(1); await null; late.catch(() => undefined)', 0, ''],
  ])('that runs %s has this end', async (statement, exitCode, stderr) => {
    const output = await runJavaScript(
      `function f() {\n  ${statement}\n}\nf();`.replace(/^function f.*\n(.*await.*)\n[^]*$/, '$1'),
    );
    expect(output).toMatchObject({
      exitCode,
      stderr: typeof stderr === 'string' ? stderr : expect.stringMatching(stderr),
    });
  });

  it('that waits for nothing ends with code 13', async () => {
    expect(await runJavaScript('await new Promise(() => undefined);')).toMatchObject({
      exitCode: 13,
      stderr: 'Warning: Detected unsettled top-level await at file:///workspace/main.mjs\n',
    });
  });

  it.each([
    [
      'import http from "node:http"',
      'The module node:http is not available in JavaScript on the embedded engine (QuickJS in WebAssembly). With a container engine (podman or docker) on the machine of the bridge, programs run in Node, which has it.',
    ],
    [
      'require("child_process")',
      'The module child_process is not available in JavaScript on the embedded engine (QuickJS in WebAssembly). With a container engine (podman or docker) on the machine of the bridge, programs run in Node, which has it.',
    ],
    [
      'new Worker("x")',
      'Worker is not available in JavaScript on the embedded engine (QuickJS in WebAssembly). With a container engine (podman or docker) on the machine of the bridge, programs run in Node, which has it.',
    ],
    [
      'import _ from "lodash"',
      'The package lodash is not available: a program has its own files and modules of Node, but no packages. Put the code into a file beside the program.',
    ],
    [
      'await fetch("https://example.com")',
      'fetch is not available: a sandbox has no network. Use the tools of a server instead: await mcp.SERVER.TOOL({…}).',
    ],
    ['import "./no.mjs"', "Cannot find module '/workspace/no.mjs'"],
  ])('learns why %s does not work', async (statement, message) => {
    const { exitCode, stderr } = await runJavaScript(statement);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`Error: ${message}\n`)]);
  });
});

describe('calls', () => {
  it('carry arguments and results, by name, alias or quoted name', async () => {
    const code = `
      console.log(await mcp.github.createIssue({ title: 'x', n: [1] }), await mcp['my server'].plain(), Object.keys(mcp));
      mcp.github.later({ id: 7 }).then(({ id }) => console.log('later', id));`;
    const { calls, stdout } = await runJavaScript(code, { servers: ['github', 'my-server'] });
    expect(stdout).toBe("{ title: 'x', n: [ 1 ] } {} [ 'github', 'my_server' ]\nlater 7\n");
    expect(calls.map(({ server, tool }) => `${server}.${tool}`)).toEqual([
      'github.createIssue',
      'my server.plain',
      'github.later',
    ]);
  });

  it('reject with the code and the hint of the host', async () => {
    const error = { code: 'CALL_REFUSED', message: 'the user said no', hint: 'Ask.' };
    const code = `
      try { await mcp.a.b(); } catch (error) { console.log(error instanceof Error, error.name, error.code, error.hint, error.message); }
      await mcp.a.b();`;
    const { exitCode, stderr, stdout } = await runJavaScript(code, { answer: () => ({ ok: false, error }) });
    expect(stdout).toBe('true MCPError CALL_REFUSED Ask. the user said no\n');
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringMatching(
        /\n\nMCPError: the user said no\n {4}at file:\/\/\/workspace\/main\.mjs:3:\d+ \{\n {2}code: 'CALL_REFUSED',/,
      ),
    ]);
  });

  it('keep at most 1,024 without an answer at the host, and send the others later', async () => {
    const silent = 'for (let i = 0; i < 1500; i += 1) mcp.a.b(); setTimeout(() => process.exit(), 1);';
    expect((await runJavaScript(silent, { answer: () => undefined })).calls.length).toBe(1024);
    const code = 'console.log((await Promise.all(Array.from({ length: 1500 }, () => mcp.a.b()))).length);';
    expect((await runJavaScript(code)).stdout).toBe('1500\n');
  });

  it.each([
    ['a getter that throws', '{ get a() { throw new Error("mine"); } }', 'mine'],
    ['a circle', '(() => { const a = {}; a.a = a; return a; })()', 'circular reference'],
    ['a number', '7', 'mcp.a.b takes one object with the arguments, not 7'],
    ['a list', '[1]', 'mcp.a.b takes one object with the arguments, not [1]'],
    ['text from toJSON', '{ toJSON() { return "x"; } }', 'mcp.a.b takes one object with the arguments, not "x"'],
    ['too large an integer', '{ a: 1n }', 'BigInt'],
  ])('with %s are not sent', async (_what, value, message) => {
    const { calls, stdout } = await runJavaScript(
      `await mcp.a.b(${value}).catch((error) => console.log(error.message));`,
    );
    expect([calls, stdout]).toEqual([[], expect.stringContaining(message)]);
  });
});

describe('a hostile program', () => {
  it.each([
    [
      'pollutes every prototype',
      'for (const p of [Object, Array, String, Function, Promise, Map]) for (const k of ["toString", "then", "write", "exit", "call", "length", "toJSON", "constructor"]) try { p.prototype[k] = () => { throw 1; }; } catch {}',
    ],
    [
      'breaks its own globals',
      'for (const name of Object.getOwnPropertyNames(globalThis)) try { globalThis[name] = undefined; } catch {}',
    ],
    ['breaks Error', 'Error.prepareStackTrace = () => { for (;;) throw {}; }; null.x'],
    [
      'throws an object with a hostile stack',
      'throw Object.create(Error.prototype, { stack: { get() { throw new Error("again"); } } })',
    ],
    [
      'throws a proxy',
      'throw new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; }, ownKeys() { throw 3; } })',
    ],
    ['calls with a proxy', 'mcp.a.b(new Proxy({}, { ownKeys() { throw new Error("k"); } }))'],
    ['rejects 10,000 times', 'for (let i = 0; i < 10000; i += 1) Promise.reject(i)'],
    [
      'nests deeply in its output',
      'let a = {}; for (let i = 0; i < 1e5; i += 1) a = { a }; console.log(a); JSON.stringify(a)',
    ],
    ['exits again and again', 'process.on("exit", () => process.exit(5)); process.exit(1)'],
    [
      'fills its memory in a handler',
      'process.on("exit", () => { const a = []; for (;;) a.push(new Array(1e5).fill(a.length)); })',
    ],
    ['replaces JSON', 'JSON.parse = JSON.stringify = () => { throw 1; }; await mcp.a.b({})'],
    [
      'goes on after its end',
      'try { process.exit(0); } finally { for (;;) { try { console.log("more"); } catch {} } }',
    ],
  ])('that %s ends, and harms only itself', async (_what, code) => {
    const { exitCode, stdout } = await runJavaScript(code, { memoryBytes: 32 * 1024 * 1024 });
    expect(exitCode).toBeTypeOf('number');
    expect(stdout).not.toContain('more');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(await stdoutOf('console.log(1)')).toBe('1\n');
  });

  it('does not reach the functions of the host', async () => {
    const code = `
      const found = [];
      const seen = new Set();
      const walk = (value, path) => {
        if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value) || path.length > 6) return;
        seen.add(value);
        for (const key of Reflect.ownKeys(value)) {
          const property = Object.getOwnPropertyDescriptor(value, key);
          if (['leave', 'wake', 'writeBytes', 'settle', 'loadModule'].includes(key)) found.push([...path, key].join('.'));
          walk(property?.value, [...path, String(key)]);
        }
        walk(Object.getPrototypeOf(value), [...path, '__proto__']);
      };
      walk(globalThis, []);
      console.log(found, seen.size > 200);`;
    expect(await stdoutOf(code)).toBe('[] true\n');
  });

  it('learns nothing about this process from stacks', async () => {
    const code = `
      const stacks = [];
      for (const name of ['node:http', './no.mjs', 'lodash']) await import(name).catch((error) => stacks.push(error.stack));
      try { mcp.a.b; new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255])); } catch (error) { stacks.push(error.stack); }
      try { process.stdout.write(Symbol()); } catch (error) { stacks.push(error.stack); }
      console.log(stacks.join('\\n'));`;
    expect(await stdoutOf(code)).not.toMatch(/run-job|node_modules|node:internal|wasm-function|guest\.js/);
  });

  it('leaves no files beyond the size of its workspace', async () => {
    const code = `
      import fs from 'node:fs';
      Object.defineProperty(Uint8Array.prototype, 'length', { get: () => 0 });
      for (let i = 0; i < 40; i += 1) fs.writeFileSync('f' + i, 'x'.repeat(100000));`;
    const { files } = await runJavaScript(code, { wantsFiles: true });
    expect(Object.values(files).join('').length).toBeLessThanOrEqual(1024 * 1024);
  });
});
