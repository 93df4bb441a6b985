/** Finds text that is not UTF-8. Decoding would replace it silently, and a key or a path would be another one. */
import { isUtf8 } from 'node:buffer';

const LINE_FEED = 0x0a;

/** The clause for an error message; undefined if the bytes are UTF-8. A line feed is never part of another character. */
export function whyNotUtf8(bytes: Uint8Array): string | undefined {
  if (isUtf8(bytes)) {
    return undefined;
  }
  let line = 1;
  for (let start = 0, end = 0; end >= 0; start = end + 1, line += 1) {
    end = bytes.indexOf(LINE_FEED, start);
    if (!isUtf8(bytes.subarray(start, end < 0 ? bytes.length : end))) {
      break;
    }
  }
  return `is not text in UTF-8 (line ${line})`;
}
