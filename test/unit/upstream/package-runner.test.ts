import { expect, it } from 'vitest';
import { packageRunner } from '../../../src/edges/upstream/package-runner.ts';

const runnerOf = (line: string): string | undefined => {
  const [command = '', ...args] = line.split(' ');
  return packageRunner({ command, args });
};

it.each([
  ['npx -y server', 'npx'],
  ['/usr/bin/npx server', 'npx'],
  ['C:\\node\\npx.cmd server', 'npx'],
  ['cmd /c npx -y server', 'npx'],
  ['uvx --with mcp<2 server', 'uvx'],
  ['uv --directory /srv run server.py', 'uv run'],
  ['uv tool run server', 'uv tool'],
  ['pipx run server', 'pipx run'],
  ['npm exec server', 'npm exec'],
  ['docker run -i --rm image', 'docker run'],
  ['docker mcp gateway run', 'docker run'],
])('%s may download first', (line, runner) => {
  expect(runnerOf(line)).toBe(runner);
});

it.each(['node server.js', 'npm start', '/opt/npx/server', 'docker exec -i c server', 'toString x', 'cmd /c server'])(
  '%s does not',
  (line) => {
    expect(runnerOf(line)).toBeUndefined();
  },
);
