/**
 * Runs before every test file. A Node warning (a leaked listener, a deprecated call) fails the run: it becomes an uncaught
 * exception, which vitest reports with the file that caused it.
 */
function throwWarning(warning: Error): void {
  throw warning;
}

// Unit tests share a process, and this file runs for each of theirs.
if (!process.listeners('warning').some((listener) => listener.name === throwWarning.name)) {
  process.on('warning', throwWarning);
}
