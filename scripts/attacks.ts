/** `npm run attacks`: every attack in full, on each engine of this machine. `npm test` runs a short form. */
import { execa } from 'execa';

const { exitCode } = await execa('vitest', ['run', '--project', 'attacks', ...process.argv.slice(2)], {
  env: { MCP_BRIDGE_TEST_ATTACKS: 'long' },
  preferLocal: true,
  stdio: 'inherit',
  reject: false,
});
process.exitCode = exitCode ?? 1;
