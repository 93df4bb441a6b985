/** Generated parts in handwritten documents. */

/**
 * `document` with the text between `<!-- generated: NAME -->` and `<!-- end of generated -->` replaced for every name.
 * The parts in `others` stay as they are. Throws if a marker is missing, unknown, or has no end.
 */
export function replaceGenerated(
  document: string,
  parts: Readonly<Record<string, () => string>>,
  others: readonly string[] = [],
): string {
  const wanted = new Set(Object.keys(parts));
  const replaced = document.replace(
    /<!-- generated: (.+?) -->\n([^]*?)<!-- end of generated -->/g,
    (whole: string, name: string, between: string) => {
      if (others.includes(name)) {
        return whole;
      }
      const render = parts[name];
      if (render === undefined || !wanted.delete(name) || between.includes('<!-- generated:')) {
        throw new Error(`The marker "generated: ${name}" is unknown, used twice, or has no end.`);
      }
      return `<!-- generated: ${name} -->\n\n${render()}\n\n<!-- end of generated -->`;
    },
  );
  if (wanted.size > 0) {
    throw new Error(
      `No marker for: ${[...wanted].join(', ')}. Add "<!-- generated: NAME -->" and "<!-- end of generated -->".`,
    );
  }
  return replaced;
}
