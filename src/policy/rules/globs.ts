/**
 * Patterns in which `*` stands for any text and `?` for one character; nothing else is special. No regular expressions:
 * one that a person writes in good faith can take minutes on a text that hostile code chooses.
 */

/**
 * Whether the pattern describes the whole text. Both are compared as they are: fold them first to ignore case. Goes back
 * to the last `*` only, so it takes at most one step for each pair of characters.
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
