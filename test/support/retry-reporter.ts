/** Names the tests that failed at first and passed when they were run again, so that nobody takes them for sound. */
import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

// vitest requires a default export for a reporter.
// oxlint-disable-next-line import/no-default-export
export default class RetryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        if (test.diagnostic()?.flaky === true) {
          const file = relative(process.cwd(), module.moduleId);
          process.stdout.write(`Passed when run again: ${module.project.name}: ${file}: ${test.fullName}\n`);
        }
      }
    }
  }
}
