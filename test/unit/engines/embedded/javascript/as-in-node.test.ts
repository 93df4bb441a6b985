/** What programs find in QuickJS, compared with the Node that runs the tests. */
import { createRequire } from 'node:module';
import { format } from 'node:util';
import { compileFunction } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { runJavaScript } from '../../../../support/javascript-job.ts';

const require = createRequire(import.meta.url);

describe.each([
  [
    'console.log',
    [
      '({ a: { b: { c: { d: 1 } } }, "x-y": 1, f() {}, g: class A extends Map {} })',
      '[[1, 2, [3, [4, [5]]]], new Array(3), [1, , 3], Object.assign([1], { key: 1 })]',
      'Array.from({ length: 120 }, (_, index) => index)',
      'Array.from({ length: 30 }, (_, index) => "item " + index)',
      '["it\'s", "say \\"x\\"", "a\\nb", "\\u0007", "`\'\\""]',
      '({ get a() { return 1; }, set b(value) {}, get c() { return 1; }, set c(value) {} })',
      '[Object(1), Object("text"), Object(true), Object(1n), Object(Symbol("s"))]',
      '[-0, 0.1, NaN, 1n, null, undefined, Symbol("s"), /a/g, new Date(0), new Date(NaN)]',
      '[new Map([[{ a: 1 }, new Set([1])]]), new WeakMap(), new WeakSet()]',
      '(() => { const a = { name: "a" }; a.self = a; a.list = [a]; return a; })()',
      'Object.create(null, { a: { value: 1, enumerable: true } })',
      'Object.create({ a: 1 })',
      'new (class Point { x = 1; get [Symbol.toStringTag]() { return "Tagged"; } })()',
      'new (class extends Array {})(3)',
      '[new Uint8Array([1, 2]), new Float64Array(2)]',
      '[() => 1, function named() {}, async () => 1, function* generate() {}, async function* both() {}, class {}, Math.max]',
      '[new Promise(() => undefined) instanceof Promise, Math, JSON, globalThis.Intl === 1]',
      '({ text: "word ".repeat(60), lines: ["first\\nsecond"] })',
      '({ a: 1, b: "two", c: [1, 2, 3], d: { e: { f: {} } }, g: undefined, h: null, i: true, j: "a longer text here" })',
      '({ [require("util").inspect.custom]: () => "as it likes" })',
      '(function () { return arguments; })(1, 2)',
      'Object.assign(() => 1, { a: 1 })',
    ],
  ],
  [
    'util.format and util.inspect',
    [
      'require("util").format("%s %d %i %f %j %o %O %c %% %x", "a", 1.5, 2.7, "3.5", { a: 1 }, [1], { b: {} }, "css", "rest", {})',
      'require("util").format("%s %s %s %s", { a: 1 }, -0, 12n, Symbol("s"))',
      'require("util").format("%d %i", 12n, "x")',
      'require("util").inspect({ a: { b: { c: {} } } }, { depth: 0 })',
      'require("util").inspect({ b: 2, a: 1 }, { sorted: true, compact: false })',
      'require("util").inspect("x".repeat(20), { maxStringLength: 4 })',
      'require("util").inspect([1, 2, 3], { maxArrayLength: 1 })',
      'require("util").inspect({ a: 1, b: [true] }, { colors: true })',
      'require("util").stripVTControlCharacters("\\u001b[31mred\\u001b[0m")',
    ],
  ],
  [
    'Buffer',
    [
      '[Buffer.from("é€"), Buffer.alloc(3, "ab"), Buffer.from([1, 300]), Buffer.from(new Uint16Array([1, 2]).buffer, 1, 2)]',
      '["utf8", "utf-8", "UTF8", "hex", "base64", "base64url", "latin1", "binary", "ascii", "utf16le", "ucs2"].map((name) => Buffer.from("4é+/8==", name).toString("hex"))',
      '["utf8", "hex", "base64", "base64url", "latin1", "binary", "ascii", "utf16le"].map((name) => Buffer.from([251, 239, 65, 190]).toString(name))',
      'Buffer.from("0a0bzz0c", "hex")',
      '(() => { const b = Buffer.alloc(8); b.writeUInt32BE(0xdeadbeef); b.writeInt16LE(-2, 4); return [b, b.readUInt32LE(), b.readInt16LE(4), b.readUIntBE(0, 3)]; })()',
      '(() => { const b = Buffer.alloc(12); b.writeDoubleLE(1.5); b.writeFloatBE(-2, 8); return [b, b.readDoubleLE(0), b.readFloatBE(8)]; })()',
      '[Buffer.from("abcabc").indexOf("ca"), Buffer.from("abc").includes("d"), Buffer.from("abcabc").lastIndexOf("b")]',
      '(() => { const b = Buffer.from("abcdef"); b.slice(1, 3)[0] = 88; return [b.toString(), b.subarray(-2).toString(), b.toString("utf8", 1, 3)]; })()',
      '[Buffer.compare(Buffer.from("a"), Buffer.from("b")), Buffer.from("a").equals(Buffer.from("a")), Buffer.isBuffer(new Uint8Array(1))]',
      'Buffer.concat([Buffer.from("a"), new Uint8Array([98, 99])], 2)',
      '[Buffer.byteLength("é"), Buffer.byteLength("aGk=", "base64"), Buffer.from("é").write("x"), JSON.stringify(Buffer.from("a"))]',
      '[...Buffer.from("ab").entries()]',
      'Buffer.from("abcd").swap16()',
      '(() => { try { Buffer.from("a", "no such"); } catch (error) { return [error.name, error.message]; } })()',
      '(() => { try { Buffer.from("a").readUInt16LE(); } catch (error) { return error.name; } })()',
    ],
  ],
  [
    'URL',
    [
      'new URL("https://u:p@EXAMPLE.com:8443/a/../b c?x=1&y=%20#h")',
      '[new URL("http://0x7f.1/"), new URL("http://[::1]:80/"), new URL("https://münchen.de/ü?ü#ü")].map(String)',
      '["http://a b/", "http://[1::2::3]/", "https://x:99999/", "//x", "", "http://%41%zz/", "http://a^b/"].map((text) => URL.canParse(text))',
      '["../x", "?q", "#h", "", "//y/z", "\\\\y\\z", "/a/./b/%2e%2e/c", "mailto:a@b"].map((text) => new URL(text, "https://a.b/c/d?e#f").href)',
      '(() => { const u = new URL("https://a.b/c?d=1#e"); u.search = "q=é"; u.port = "8080"; u.pathname = "/ü x"; u.hash = ""; u.host = "z.com:9"; u.protocol = "http"; return [u.href, u.origin, u.searchParams.get("q")]; })()',
      '(() => { const u = new URL("https://a.b/c?d=1"); const { searchParams } = u; u.href = "https://x.y/?k=v"; searchParams.append("z", "1 2"); return [u.href, searchParams === u.searchParams]; })()',
      '(() => { const u = new URL("https://a.b/c"); u.port = "x"; u.protocol = "nope:"; u.host = ""; return u.href; })()',
      '(() => { try { new URL("x"); } catch (error) { return [error.name, error.message, error.code, error.input]; } })()',
      '["data:text/plain,hi", "blob:https://a.com/x", "file:///a/b%20c", "mailto:a@b.c", "x:/a/../b"].map((text) => { const u = new URL(text); return [u.origin, u.pathname, u.href]; })',
      '[new URL("http://x/").toString(), JSON.stringify(new URL("http://x")), Object.prototype.toString.call(new URL("http://x")), URL.name]',
      '[require("url").pathToFileURL("/a b/c#d?e%").href, require("url").fileURLToPath("file:///a%20b")]',
    ],
  ],
  [
    'URLSearchParams',
    [
      '[new URLSearchParams("a=1&b=x+y"), new URLSearchParams()]',
      '[{ a: 1, b: "x y" }, [["a", "1"], ["a", "2"]], new Map([["a", "1"]]), "?a=%zz%20&b=%F0%9F%98%80%ff", undefined].map((init) => new URLSearchParams(init).toString())',
      '[new URLSearchParams("a=1&a=2").has("a", "2"), new URLSearchParams("a=1").has("a", "2"), new URLSearchParams("a=1&a=2").size]',
      '(() => { const p = new URLSearchParams("a=1&a=2&b=3"); p.delete("a", "1"); p.set("b", 4); p.append(5, true); p.sort(); return [p.toString(), [...p.keys()], p.get("none")]; })()',
      '(() => { const seen = []; new URLSearchParams("a=1").forEach((value, name, params) => seen.push(value, name, params instanceof URLSearchParams)); return seen; })()',
      '(() => { try { new URLSearchParams([["a"]]); } catch (error) { return [error.name, error.code]; } })()',
      'new URLSearchParams({ text: "a!\'()~*-._ é\ud800" }).toString()',
    ],
  ],
  [
    'node:path',
    [
      'require("path").parse("/home/u/file.tar.gz")',
      'require("path").parse("/")',
      'require("path").parse("../x/")',
      '["..", ".", "a.", ".b", "a.b.", "/x/.y.z"].map((name) => require("path").extname(name))',
      '["/a/b/", "/", "", "a", "//a", "a//b//"].map((name) => [require("path").dirname(name), require("path").basename(name)])',
      '["a/../..", "/../a", "./", "a/./b/", ""].map((name) => require("path").normalize(name))',
      'require("path").relative("/a/b/c", "/a/d")',
      'require("path").relative("/a", "/a")',
      'require("path").resolve("/a", "..", "b/", "./c")',
      'require("path").format({ dir: "/", base: "a.txt" })',
      'require("path").join("a", "", "..", "b")',
      'require("path").basename("a.txt", ".txt")',
      'require("path").posix === require("path")',
      '(() => { try { require("path").join(1); } catch (error) { return error.name; } })()',
    ],
  ],
])('%s', (_what, expressions) => {
  it.each(expressions)('shows %s', async (expression) => {
    const expected = format(compileFunction(`return (${expression});`, ['require'])(require));
    expect(await runJavaScript(`console.log(${expression});`, { entry: 'main.cjs' })).toMatchObject({
      stderr: '',
      stdout: `${expected}\n`,
    });
  });
});
