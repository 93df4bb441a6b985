// @ts-check
/**
 * `relay.mjs COMMAND ARGS…` sits between the bridge and a server. It passes all lines on except tool calls: it answers those
 * itself with their name and arguments, so nothing needs a network or an account.
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
    // `resultType` belongs to the newer protocol era; the older one ignores it.
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', content } })}\n`);
  })
  .on('close', () => server.stdin.end());
