// @ts-check
/**
 * `recorder.mjs FILE` runs the MCP server described in FILE, passes all messages on unchanged, and writes down those from which
 * the evaluation counts: lists of tools, calls, and their answers.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const { args, command, cwd, env, log } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const server = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'ignore'] });
/** Methods of requests that wait for their answers, by id. @type {Map<unknown, string>} */
const waiting = new Map();

/** @param {'answer' | 'request'} kind @param {string} method @param {unknown} message */
function record(kind, method, message) {
  appendFileSync(log, `${JSON.stringify({ atMs: Date.now(), kind, method, message })}\n`);
}

server.on('exit', (code) => process.exit(code ?? 1));
server.stdin.on('error', () => undefined);
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const message = JSON.parse(line);
    if (message.method !== undefined && message.id !== undefined) {
      waiting.set(message.id, message.method);
      record('request', message.method, message);
    }
    server.stdin.write(`${line}\n`);
  })
  .on('close', () => server.stdin.end());
createInterface({ input: server.stdout }).on('line', (line) => {
  process.stdout.write(`${line}\n`);
  // Some servers print text between their messages.
  const message = line.startsWith('{') ? JSON.parse(line) : {};
  const method = message.method === undefined ? waiting.get(message.id) : undefined;
  if (method !== undefined) {
    waiting.delete(message.id);
    record('answer', method, message);
  }
});
