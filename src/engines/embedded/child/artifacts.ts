/**
 * The files of the embedded engine and their manifest. A checksum finds damage, not malice: who can change these files
 * can change the program that checks them. CRC-32, because SHA-256 of 18 MB would add 30 ms to every start (measured);
 * the manifest has both.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

export const ARTIFACT = { MODULE: 'python.wasm', LIBRARY: 'stdlib.pack', SNAPSHOT: 'memory.snapshot' } as const;
type ArtifactName = (typeof ARTIFACT)[keyof typeof ARTIFACT];
const MANIFEST = 'manifest.json';
const PIECE_BYTES = 1024 * 1024;

interface ManifestEntry {
  readonly bytes: number;
  readonly crc32: number;
  readonly sha256: string;
}

export interface Manifest {
  readonly files: Readonly<Record<ArtifactName, ManifestEntry>>;
}

/** The manifest of a directory; throws when there is none. */
export function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, MANIFEST), 'utf8')) as Manifest;
}

/** A whole file, checked. */
export function readArtifact(directory: string, name: ArtifactName, manifest: Manifest): Buffer {
  const bytes = readFileSync(join(directory, name));
  check(name, manifest, bytes.length, crc32(bytes));
  return bytes;
}

/** Checks a file that is not read as a whole. */
export function checkArtifact(directory: string, name: ArtifactName, manifest: Manifest): void {
  const path = join(directory, name);
  const { size } = statSync(path);
  const fd = openSync(path, 'r');
  const piece = Buffer.alloc(PIECE_BYTES);
  let sum = 0;
  for (let count = readSync(fd, piece); count > 0; count = readSync(fd, piece)) {
    sum = crc32(piece.subarray(0, count), sum);
  }
  closeSync(fd);
  check(name, manifest, size, sum);
}

/** Writes the manifest of the three files, which are there. */
export function writeManifest(directory: string): void {
  const files = Object.fromEntries(
    Object.values(ARTIFACT).map((name) => {
      const bytes = readFileSync(join(directory, name));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return [name, { bytes: bytes.length, crc32: crc32(bytes), sha256 }];
    }),
  );
  writeFileSync(join(directory, MANIFEST), `${JSON.stringify({ files }, undefined, 2)}\n`);
}

function check(name: ArtifactName, manifest: Manifest, bytes: number, sum: number): void {
  const expected = manifest.files[name];
  if (bytes !== expected.bytes || sum !== expected.crc32) {
    throw new Error(`${name} is damaged: install the package again`);
  }
}
