/** Takes the data out of a WebAssembly module, for which a memory snapshot takes its place. Sections: WebAssembly Core 2.0, 5.5. */

/** The magic number and the version. */
const HEADER_BYTES = 8;
const DATA_SECTION = 11;
/** Present only if code refers to data by its number. */
const DATA_COUNT_SECTION = 12;

/** The module without the data that it writes to memory when it is instantiated. Throws if its code refers to data. */
export function withoutData(module: Uint8Array): Buffer<ArrayBuffer> {
  const kept = [module.subarray(0, HEADER_BYTES)];
  for (let at = HEADER_BYTES; at < module.length; ) {
    const size = readNumber(module, at + 1);
    const end = size.end + size.value;
    if (module[at] === DATA_COUNT_SECTION) {
      throw new Error('the code of the module refers to its data, so it cannot be taken out');
    }
    if (module[at] !== DATA_SECTION) {
      kept.push(module.subarray(at, end));
    }
    at = end;
  }
  return Buffer.concat(kept);
}

/** An unsigned number in LEB128, and where it ends. */
function readNumber(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let at = start, scale = 1; ; at += 1, scale *= 128) {
    const byte = bytes[at] ?? 0;
    value += (byte % 128) * scale;
    if (byte < 128) {
      return { value, end: at + 1 };
    }
  }
}
