/**
 * The files of the embedded engine and their manifest. The checksum finds damage, not malice: whoever can change these files can
 * also change the program that checks them. The child uses CRC-32, because SHA-256 over 18 MB would add 30 ms to every start
 * (measured). The manifest has both.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

export const BUILT_FILE = { MODULE: 'python.wasm', LIBRARY: 'stdlib.pack', SNAPSHOT: 'memory.snapshot' } as const;
type BuiltFileName = (typeof BUILT_FILE)[keyof typeof BUILT_FILE];
export const MANIFEST = 'manifest.json';
const CHUNK_BYTES = 1024 * 1024;

interface ManifestEntry {
  readonly bytes: number;
  readonly sha256: string;
  readonly crc32: number;
}

/** What the build made. The child's own program, which only the host checks, has no `crc32`. */
export interface Manifest {
  readonly files: Readonly<Record<BuiltFileName, ManifestEntry>>;
}

/** The manifest of a folder. Throws if it is missing or damaged. */
export function readManifest(directory: string): Manifest {
  let text: string;
  try {
    text = readFileSync(join(directory, MANIFEST), 'utf8');
  } catch (error) {
    throw new Error(`${MANIFEST} is missing`, { cause: error });
  }
  const manifest = parse(text);
  if (Object.keys(manifest?.files ?? {}).length === 0) {
    throw new Error(`${MANIFEST} is damaged`);
  }
  return manifest as Manifest;
}

function parse(text: string): Partial<Manifest> | null {
  try {
    return JSON.parse(text) as Partial<Manifest> | null;
  } catch {
    // The caller treats it like a manifest without files, which is reported as damaged.
    return null;
  }
}

/** Reads a whole file and checks it. */
export function readBuiltFile(directory: string, name: BuiltFileName, manifest: Manifest): Buffer {
  const bytes = readFileSync(join(directory, name));
  check(name, manifest, bytes.length, crc32(bytes));
  return bytes;
}

/** Checks a file without keeping it in memory. */
export function checkBuiltFile(directory: string, name: BuiltFileName, manifest: Manifest): void {
  const path = join(directory, name);
  const { size } = statSync(path);
  const fd = openSync(path, 'r');
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let sum = 0;
  for (let count = readSync(fd, chunk); count > 0; count = readSync(fd, chunk)) {
    sum = crc32(chunk.subarray(0, count), sum);
  }
  closeSync(fd);
  check(name, manifest, size, sum);
}

/** Writes the manifest of the three files, which must exist. */
export function writeManifest(directory: string): void {
  const files = Object.fromEntries(
    Object.values(BUILT_FILE).map((name) => {
      const bytes = readFileSync(join(directory, name));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return [name, { bytes: bytes.length, crc32: crc32(bytes), sha256 }];
    }),
  );
  writeFileSync(join(directory, MANIFEST), `${JSON.stringify({ files }, undefined, 2)}\n`);
}

function check(name: BuiltFileName, manifest: Manifest, bytes: number, sum: number): void {
  const expected = manifest.files[name];
  if (bytes !== expected.bytes || sum !== expected.crc32) {
    throw new Error(`${name} is damaged: install the package again`);
  }
}
