/** Makes wheels in memory: a zip archive (stored, unless it says otherwise) with a package, its metadata and its RECORD. */
import { createHash } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';

export interface WheelOptions {
  readonly name: string;
  readonly version?: string;
  /** Path and content of each file; by default one module that says its name and version. */
  readonly files?: Readonly<Record<string, string>>;
  /** `Requires-Dist` lines. */
  readonly requires?: readonly string[];
  /** Compatibility tags; `py3-none-any` by default. */
  readonly tag?: string;
  readonly requiresPython?: string;
}

export interface Wheel {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly bytes: Buffer;
  readonly sha256: string;
  readonly requiresPython: string | undefined;
  /** What the index can serve beside the file (PEP 658). */
  readonly metadata?: string;
}

export function makeWheel(options: WheelOptions): Wheel {
  const { name, requires = [], requiresPython, tag = 'py3-none-any', version = '1.0' } = options;
  const module = name.replaceAll('-', '_');
  const files = options.files ?? {
    [`${module}/__init__.py`]: `name, version = ${JSON.stringify(name)}, '${version}'\n`,
  };
  const info = `${module}-${version}.dist-info`;
  const metadata = [
    'Metadata-Version: 2.1',
    `Name: ${name}`,
    `Version: ${version}`,
    ...requires.map((one) => `Requires-Dist: ${one}`),
    ...(requiresPython === undefined ? [] : [`Requires-Python: ${requiresPython}`]),
  ];
  const all: Record<string, string> = {
    ...files,
    [`${info}/METADATA`]: `${metadata.join('\n')}\n`,
    [`${info}/WHEEL`]: `Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: ${tag}\n`,
  };
  const record = Object.entries(all).map(([path, content]) => {
    const digest = createHash('sha256').update(content).digest('base64url');
    return `${path},sha256=${digest},${Buffer.byteLength(content)}`;
  });
  all[`${info}/RECORD`] = `${[...record, `${info}/RECORD,,`].join('\n')}\n`;
  const bytes = makeZip(Object.entries(all).map(([path, content]) => ({ path, content: Buffer.from(content) })));
  const wheel = wheelOf(`${module}-${version}-${tag}.whl`, bytes, { name, version, requiresPython });
  return { ...wheel, metadata: all[`${info}/METADATA`] ?? '' };
}

/** A wheel with these bytes. */
export function wheelOf(
  filename: string,
  bytes: Buffer,
  facts: Pick<Wheel, 'name' | 'version' | 'requiresPython'>,
): Wheel {
  return { ...facts, filename, bytes, sha256: sha256Of(bytes) };
}

export function sha256Of(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

export interface ZipEntry {
  readonly path: string;
  readonly content: Buffer;
  /** Unix mode with the file type; a regular file by default. */
  readonly mode?: number;
  readonly isDeflated?: boolean;
}

const REGULAR_FILE = 0o100644;

/** A zip archive. Nothing is checked, so hostile archives can be made too. */
export function makeZip(entries: readonly ZipEntry[]): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { content, isDeflated = false, mode = REGULAR_FILE, path } of entries) {
    const packed = isDeflated ? deflateRawSync(content) : content;
    const name = Buffer.from(path);
    // Version, flags (UTF-8 names), method, time, date, checksum, sizes, lengths of the name and of extra fields.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800, 2);
    common.writeUInt16LE(isDeflated ? 8 : 0, 4);
    common.writeUInt16LE(0x21, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(mode * 0x10000, 6);
    rest.writeUInt32LE(offset, 10);
    // 3: made on Unix.
    central.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 3]), common, rest, name]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) {
    value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  }
  return value >>> 0;
});

/** `zlib.crc32` exists only in Node 22 and newer. */
function crc32(data: Buffer): number {
  let value = 0xffffffff;
  for (const byte of data) {
    value = (value >>> 8) ^ (CRC_TABLE[(value ^ byte) & 0xff] ?? 0);
  }
  return (value ^ 0xffffffff) >>> 0;
}
