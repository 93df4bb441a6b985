/**
 * Runs before every test file. A Node warning (a leaked listener, a deprecated call) fails the run: it becomes an uncaught
 * exception, which vitest reports with the file that caused it.
 */
process.on('warning', (warning) => {
  throw warning;
});
