import { expect, test } from 'vitest';
import { commandOf } from '../../src/package.ts';

test.each([
  ['file:///usr/lib/node_modules/mcp-server-code-execution-mode/', 'mcp-server-code-execution-mode'],
  [
    'file:///home/you/.npm/_npx/0f1e2d3c/node_modules/mcp-server-code-execution-mode/',
    'npx -y mcp-server-code-execution-mode',
  ],
  [
    'file:///C:/Users/you/AppData/Local/npm-cache/_npx/0f1e2d3c/node_modules/mcp-server-code-execution-mode/',
    'npx -y mcp-server-code-execution-mode',
  ],
])('what runs the package in %s', (root, command) => {
  expect(commandOf(new URL(root))).toBe(command);
});
