/**
 * Names the tests that failed at first and passed when they were run again, so that nobody takes them for sound. Creates the file
 * MCP_BRIDGE_TEST_UNHANDLED if an error occurred outside of tests.
 */
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

// vitest requires a default export for a reporter.
// oxlint-disable-next-line import/no-default-export
export default class RetryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const file = process.env['MCP_BRIDGE_TEST_UNHANDLED'];
    if (unhandledErrors.length > 0 && file !== undefined) {
      writeFileSync(file, '');
    }
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        if (test.diagnostic()?.flaky === true) {
          const name = relative(process.cwd(), module.moduleId);
          process.stdout.write(`Passed when run again: ${module.project.name}: ${name}: ${test.fullName}\n`);
        }
      }
    }
  }
}
