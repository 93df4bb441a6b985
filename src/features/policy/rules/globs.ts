/**
 * Patterns in which `*` matches any text and `?` one character; nothing else is special. Not regular expressions, because
 * one written in good faith can take minutes on a text that hostile code chooses.
 */

/**
 * Whether the pattern matches the whole text. Case matters: fold both first to ignore it. Backtracks to the last `*` only,
 * so it takes at most pattern × text steps.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let afterStar = 0;
  while (at < text.length) {
    if (next < pattern.length && pattern[next] === '*') {
      star = next;
      afterStar = at;
      next += 1;
    } else if (next < pattern.length && (pattern[next] === '?' || pattern[next] === text[at])) {
      at += 1;
      next += 1;
    } else if (star >= 0) {
      afterStar += 1;
      at = afterStar;
      next = star + 1;
    } else {
      return false;
    }
  }
  while (pattern[next] === '*') {
    next += 1;
  }
  return next === pattern.length;
}
