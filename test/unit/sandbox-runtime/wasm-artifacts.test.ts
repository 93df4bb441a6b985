import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

const FOLDER = join(import.meta.dirname, '../../../sandbox-runtime/wasm');
const MAX_TOGETHER_BYTES = 16 * 1024 * 1024;
/** Software in the interpreter and the library; each must come with its license. */
const SOFTWARE = [
  'bzip2',
  'cpython',
  'cpython-incorporated-software',
  'expat',
  'liblzma',
  'libmpdec',
  'llvm-compiler-rt',
  'sqlite',
  'tzdata',
  'wasi-libc',
  'zlib',
];

const sums = new Map(
  readFileSync(join(FOLDER, 'artifacts.sha256'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('  ').toReversed() as [string, string]),
);
const compressed = readdirSync(join(FOLDER, 'artifacts'));

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function unpack(name: string): Buffer {
  return brotliDecompressSync(readFileSync(join(FOLDER, 'artifacts', `${name}.br`)));
}

/** The type declarations lack `exports`, which only this test needs. */
function exportNames(module: WebAssembly.Module): string[] {
  const { exports } = WebAssembly.Module as unknown as { exports(of: WebAssembly.Module): { name: string }[] };
  return exports(module).map(({ name }) => name);
}

describe('the committed build of CPython', () => {
  it('contains only the interpreter and the library', () => {
    expect(compressed.toSorted()).toEqual(['python.wasm.br', 'stdlib.pack.br']);
  });

  it.each(['python.wasm', 'stdlib.pack'])('has the %s with the recorded checksum', (name) => {
    expect(sha256(unpack(name))).toBe(sums.get(name));
  });

  it('is at most 16 MiB', () => {
    const bytes = compressed.map((name) => statSync(join(FOLDER, 'artifacts', name)).size);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MAX_TOGETHER_BYTES);
  });

  it.each(SOFTWARE)('has the license of %s, unchanged', (name) => {
    const path = `licenses/${name}.txt`;
    expect(sha256(readFileSync(join(FOLDER, path)))).toBe(sums.get(path));
  });

  it('has no license without software and no checksum without file', () => {
    expect([...sums.keys()].toSorted()).toEqual(
      ['python.wasm', 'stdlib.pack', ...SOFTWARE.map((name) => `licenses/${name}.txt`)].toSorted(),
    );
  });

  it('imports WASI, one function of the bridge and the memory, and exports four functions', () => {
    const module = new WebAssembly.Module(unpack('python.wasm'));
    const imports = WebAssembly.Module.imports(module).map((one) => `${one.module}.${one.name}`);
    expect(imports.filter((name) => !name.startsWith('wasi_snapshot_preview1.'))).toEqual([
      'env.memory',
      'bridge.interrupt',
    ]);
    expect(exportNames(module).toSorted()).toEqual(['_initialize', 'py_alloc', 'py_free', 'py_init', 'py_run']);
  });

  it('has every file of the library within its bounds, below usr', () => {
    const pack = unpack('stdlib.pack');
    const indexBytes = pack.readUInt32LE(0);
    const index = JSON.parse(pack.toString('utf8', 4, 4 + indexBytes)) as Record<string, [number, number]>;
    const dataBytes = pack.length - 4 - indexBytes;
    const wrong = Object.entries(index).filter(
      ([path, [offset, length]]) => !/^usr(\/[\w+.-]+)+$/.test(path) || offset + length > dataBytes,
    );
    expect(wrong).toEqual([]);
    expect(Object.keys(index)).toContain('usr/local/lib/python3.14/os.py');
    expect(Object.keys(index)).toContain('usr/share/zoneinfo/Europe/Berlin');
  });
});
