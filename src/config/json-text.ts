/** JSON that people write: where it is at fault, without repeating what stands there, which may be a secret. */

/** The value of a text, which may begin with a byte order mark; else `is not JSON (line 3, column 5)`. */
export function parseJson(text: string): { readonly value: unknown } | { readonly fault: string } {
  try {
    return { value: JSON.parse(text.replace(/^\uFEFF/, '')) };
  } catch (error) {
    // V8 quotes the text around the fault; its position is enough.
    const position = /position (\d+)/.exec(String(error))?.[1];
    return { fault: `is not JSON${position === undefined ? '' : ` (${describePosition(text, Number(position))})`}` };
  }
}

function describePosition(text: string, position: number): string {
  const before = text.slice(0, position).split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}
