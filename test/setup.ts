/**
 * Runs before every test file. A warning of Node (a leaked listener, a deprecated call, an unsettled promise) fails the
 * run: it becomes an uncaught exception, which vitest reports with the file that caused it.
 */
process.on('warning', (warning) => {
  throw warning;
});
