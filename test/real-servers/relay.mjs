// @ts-check
/**
 * `relay.mjs COMMAND ARGS…` stands between the bridge and a server. All lines pass, but a call of a tool goes no further:
 * it is answered here with its own name and arguments, so that nothing happens that would need a network or an account.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [command = '', ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
server.on('exit', (code) => process.exit(code ?? 1));
server.stdin.on('error', () => undefined);
server.stdout.pipe(process.stdout);

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method !== 'tools/call') {
      server.stdin.write(`${line}\n`);
      return;
    }
    const content = [{ type: 'text', text: JSON.stringify({ name: params.name, arguments: params.arguments }) }];
    // `resultType` belongs to the newer era; the older one ignores it.
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', content } })}\n`);
  })
  .on('close', () => server.stdin.end());
